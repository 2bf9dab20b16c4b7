"""A diagnosis as Markdown and JSON, and its models as table rows."""

from __future__ import annotations

import msgspec

from imb.diagnose import Diagnosis, Model
from imb.model.units import megabytes, percent_text, size, us
from imb.report.markup import escape_html, escape_pipes
from imb.report.variance_tables import block

MODEL = "t(n) = latency + n / bandwidth, 95 % intervals"
MODEL_HEADINGS = ("curve", "latency", "interval", "bandwidth", "interval", "deviation", "worst")


def json(diagnosis: Diagnosis) -> str:
    """The diagnosis as one JSON object, in seconds, bytes and bytes per second. Curves are named by their
    fields."""
    return msgspec.json.format(msgspec.json.encode(diagnosis), indent=2).decode()


def findings_markdown(diagnosis: Diagnosis) -> str:
    """Findings as a list, models as a table."""
    lines = [f"## Diagnosis of {escape_html(diagnosis.side)}", ""]
    for finding in diagnosis.findings:
        lines.append(
            f"- **{finding.level}, {finding.rule}** ({escape_html(finding.where)}): {escape_html(finding.found)}."
        )
        lines.append(f"  Next: {escape_html(finding.advice)}.")
    if not diagnosis.findings:
        lines.append("No findings.")
    if diagnosis.models:
        lines += ["", MODEL, "", escape_pipes(MODEL_HEADINGS)]
        lines.append("|---" + "|---:" * (len(MODEL_HEADINGS) - 1) + "|")
        lines += [escape_pipes([escape_html(cell) for cell in row]) for row in model_rows(diagnosis)]
    if diagnosis.variance:
        lines += [
            "",
            *(
                f"- {escape_html(line)}"
                for line in block(
                    diagnosis.variance, printed={finding.rule for finding in diagnosis.findings}
                )
            ),
        ]
    lines += (
        ["", *(f"Not checked: {escape_html(note)}." for note in diagnosis.notes)] if diagnosis.notes else []
    )
    return "\n".join(lines)


def model_rows(diagnosis: Diagnosis) -> list[tuple[str, ...]]:
    """One row per curve, under MODEL_HEADINGS."""
    return [_model(model) for model in diagnosis.models]


def _model(model: Model) -> tuple[str, ...]:
    fit = model.fit
    low, high = (1 / per_byte if per_byte > 0 else None for per_byte in (fit.per_byte_high, fit.per_byte_low))
    if model.misfit:
        return (str(model.curve), "no fit", model.misfit, "", "", *_residuals(model))
    # If the interval of the time per byte contains zero, messages were too short, or times too scattered, to show a bandwidth.
    is_known = bool(fit.bandwidth and high and not model.extrapolated)
    interval = (
        f"{megabytes(low)} to {megabytes(high)}"
        if low and high
        else f"at least {megabytes(low)}"
        if low
        else ""
    )
    return (
        str(model.curve),
        us(fit.latency),
        f"{us(max(fit.latency_low, 0.0))} to {us(fit.latency_high)}",
        megabytes(fit.bandwidth or 0.0) if is_known else "not determined",
        "messages too short" if model.extrapolated else interval,
        *_residuals(model),
    )


def _residuals(model: Model) -> tuple[str, str]:
    fit = model.fit
    return percent_text(
        fit.deviation, 0
    ), f"{percent_text(fit.worst, 0, signed=True)} at {size(fit.worst_bytes)}"
