"""A diagnosis as Markdown, as JSON, and its models as rows of a table."""

from __future__ import annotations

import msgspec

from imb.diagnose import Diagnosis, Model
from imb.model.units import megabytes, size, us
from imb.render.markup import escaped, pipes
from imb.render.variance import block

MODEL_HEADINGS = ("curve", "latency", "interval", "bandwidth", "interval", "deviation", "worst", "lines")


def json(found: Diagnosis) -> str:
    """One object; seconds, bytes and bytes per second. Curves are named by their fields."""
    return msgspec.json.format(msgspec.json.encode(found), indent=2).decode()


def findings_markdown(found: Diagnosis) -> str:
    """Findings as a list, models as a table."""
    lines = [f"## Diagnosis of {escaped(found.side)}", ""]
    for one in found.findings:
        lines.append(f"- **{one.level}, {one.rule}** ({escaped(one.where)}): {escaped(one.found)}.")
        lines.append(f"  Next: {escaped(one.advice)}.")
    if not found.findings:
        lines.append("No findings.")
    if found.models:
        lines += ["", "t(n) = latency + n / bandwidth, 95 % intervals", "", pipes(MODEL_HEADINGS)]
        lines.append("|---" + "|---:" * (len(MODEL_HEADINGS) - 1) + "|")
        lines += [pipes([escaped(cell) for cell in row]) for row in model_rows(found)]
    if found.variance:
        lines += [
            "",
            *(
                f"- {escaped(line)}"
                for line in block(found.variance, told={one.rule for one in found.findings})
            ),
        ]
    lines += ["", *(f"Not checked: {escaped(note)}." for note in found.notes)] if found.notes else []
    return "\n".join(lines)


def model_rows(found: Diagnosis) -> list[tuple[str, ...]]:
    """A row of MODEL_HEADINGS per curve."""
    return [_model(model) for model in found.models]


def _model(model: Model) -> tuple[str, ...]:
    fit = model.fit
    low, high = (1 / v if v > 0 else None for v in (fit.per_byte_high, fit.per_byte_low))
    if model.misfit:
        return (str(model.curve), "no fit", model.misfit, "", "", *_residuals(model))
    # Where the interval of the time per byte holds zero, messages were too short, or too scattered, to show a bandwidth.
    is_known = bool(fit.bandwidth and high and not model.extrapolated)
    known = (
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
        "messages too short" if model.extrapolated else known,
        *_residuals(model),
    )


def _residuals(model: Model) -> tuple[str, str, str]:
    fit = model.fit
    return f"{fit.deviation:.0%}", f"{fit.worst:+.0%} at {size(fit.worst_bytes)}", str(len(model.segments))
