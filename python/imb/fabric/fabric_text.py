"""The verdict of `imb fabric`: on the terminal, verdict first, and as a value for JSON."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from math import expm1, inf, isfinite, log1p
from typing import Any, NamedTuple

import msgspec

from imb.fabric.judging.earlier_sweeps import RATIO_OF_ONE
from imb.fabric.judging.inference import FEWEST_ENDPOINTS
from imb.fabric.judging.pairs import cause_of, unknown_silence_reason
from imb.fabric.judging.sensitivity import DIFFERENT, HUGE, LACKING, MISSED, lacks_hosts, passes_advice
from imb.fabric.judging.sweep import Endpoint, Sweep
from imb.fabric.judging.verdict import SizeResult, Suspect, SweepVerdict
from imb.model.units import count_of, increase_text, list_first, percent_text, size, us
from imb.report.marks import NOT_ESTIMABLE, is_estimable

_SHOWN = 20  # most elements in a table on the terminal
HEADINGS = ["", "kind", "name", "takes longer", "95 % CI", "p", "by", "could also be"]


class SweepReport(NamedTuple):
    """Everything that is shown. `baseline`: name of the past that the sweep was compared with, or None;
    `sources`: runs and files; `notes`: notes of reading, which precede the notes of the verdict; `level`:
    error rate; `least`: smallest relevant slowdown, a share."""

    verdict: SweepVerdict
    sweeps: Sequence[Sweep]
    endpoints: Sequence[Endpoint]
    level: float
    least: float
    sources: Sequence[str]
    notes: Sequence[str] = ()
    baseline: str | None = None
    endpoint_kind: str = "host"


def elements(judged: SweepReport) -> list[list[Suspect]]:
    """Suspects grouped by element, in the order of the verdict. In a group, named suspects come first."""
    by_element: dict[tuple[str, str], list[Suspect]] = {}
    for suspect in judged.verdict.suspects:
        by_element.setdefault((suspect.kind, suspect.name), []).append(suspect)
    return [sorted(same, key=lambda suspect: not suspect.named) for same in by_element.values()]


def sweep_headline(judged: SweepReport) -> str:
    """The verdict and its reason, on one line."""
    verdict = judged.verdict
    named = [same[0] for same in elements(judged) if same[0].named]
    unsure = [same[0] for same in elements(judged) if not same[0].named]
    slow = [suspect for suspect in named if isfinite(suspect.effect)]
    names_of_slow = [
        _count_of_kind(kind, [suspect.name for suspect in slow if suspect.kind == kind])
        for kind in dict.fromkeys(suspect.kind for suspect in slow)
    ]
    parts = [f"slow: {', '.join(names_of_slow)}"] if slow else []
    lost: dict[str, dict[str, list[str]]] = {}
    for label, names in group_silent_by_cause(judged).items():
        lost.setdefault(label, {})[judged.endpoint_kind] = names
    for suspect in named:
        if suspect not in slow:
            lost.setdefault(_label(_cause(judged, suspect)), {}).setdefault("pair", []).append(suspect.name)
    for label, kinds in lost.items():
        parts.append(f"{label}: {', '.join(_count_of_kind(kind, names) for kind, names in kinds.items())}")
    one_way = [
        f"{judged.endpoints[pair.a].name} to {judged.endpoints[pair.b].name}" for pair in verdict.asymmetric
    ]
    if one_way:
        parts.append(f"slow in one direction: {_count_of_kind('pair', list(dict.fromkeys(one_way)))}")
    if verdict.state == "bad":
        parts += dict.fromkeys(filter(None, map(unknown_silence_reason, judged.sweeps)))
        return f"bad: {'; '.join(parts) or 'see the notes'}"
    if verdict.state == "healthy":
        past = f" than in {judged.baseline}" if judged.baseline else ""
        unjudged = f"; not judged: {list_first(verdict.unjudged)}" if verdict.unjudged else ""
        return f"healthy: no part of the fabric is significantly slower by {increase_text(judged.least, signed=False)} or more{past}{unjudged}"
    if several := [
        suspect
        for suspect in unsure
        if suspect.undecided and suspect.p_value <= judged.level and suspect.alternatives
    ]:
        names = list(dict.fromkeys((several[0].name, *several[0].alternatives)))
        return f"inconclusive: one of {list_first(names, 5)} is slow; the pairs measured do not separate them"
    if unsure:
        return f"inconclusive: {count_of(len(unsure), 'suspect')}, none confirmed"
    return f"inconclusive: {_uncertainty_reason(judged)}"


def group_silent_by_cause(judged: SweepReport) -> dict[str, list[str]]:
    """Names of silent endpoints, by `no answer` or `failed (out of memory)`."""
    by_label: dict[str, list[str]] = {}
    for endpoint in judged.verdict.silent:
        by_label.setdefault(_label(cause_of(judged.sweeps, endpoint)), []).append(
            judged.endpoints[endpoint].name
        )
    return by_label


def _label(cause: str) -> str:
    return f"failed ({cause})" if cause else "no answer"


def _cause(judged: SweepReport, pair: Suspect) -> str:
    """Why a pair failed, or "" if it did not answer."""
    ends = min(pair.endpoints), max(pair.endpoints)
    of_size = (
        sweep for sweep in judged.sweeps if (sweep.benchmark, sweep.bytes) == (pair.benchmark, pair.bytes)
    )
    return next((cause for sweep in of_size if (cause := sweep.causes.get(ends))), "")


def _uncertainty_reason(judged: SweepReport) -> str:
    """Why a verdict without suspects is inconclusive: too few endpoints, a spread that hides slow ones, or
    the first note."""
    verdict = judged.verdict
    if len(judged.endpoints) < FEWEST_ENDPOINTS:
        kind = judged.endpoint_kind
        return f"{count_of(len(judged.endpoints), kind)}; finding the slow one needs at least {FEWEST_ENDPOINTS} {kind}s"
    if any(lacks_hosts([name for name, _ in result.classes]) for result in verdict.per_size):
        return LACKING
    missed = max(
        (result.detectable for result in verdict.per_size if result.detectable == result.detectable),
        default=0.0,
    )
    if missed == inf:
        return f"too few pairs: {_an_endpoint(judged)} may be missed however slow it is; measure more pairs"
    if missed > expm1(HUGE):
        return (
            f"too noisy: {_an_endpoint(judged)} may be missed however slow it is; measure on an idle fabric"
        )
    if missed > MISSED * judged.least and not verdict.populations:
        worst = max(
            verdict.per_size,
            key=lambda result: result.detectable if result.detectable == result.detectable else 0,
        )
        return f"{_an_endpoint(judged)} that takes less than {longer_phrase(missed)} may be missed; {_remedy(judged, worst)}"
    return next(iter(verdict.notes), "the measurement is too noisy or too small")


def _remedy(judged: SweepReport, worst: SizeResult) -> str:
    if worst.widened > DIFFERENT:
        past = "" if judged.baseline else ": compare with --baseline"
        return f"{judged.endpoint_kind}s differ by more than the noise of their pairs{past}"
    met = sum(effect == effect for effect in worst.endpoint_effects)
    why = passes_advice(
        worst.passes,
        log1p(worst.detectable),
        log1p(MISSED * judged.least),
        whole=2 * worst.pairs >= met * (met - 1),
    )
    return why or f"measure more than {count_of(worst.passes, 'pass')} (--passes), or on an idle fabric"


def _an_endpoint(judged: SweepReport) -> str:
    return f"an {judged.endpoint_kind}" if judged.endpoint_kind[0] in "aeiou" else f"a {judged.endpoint_kind}"


def _count_of_kind(kind: str, names: Sequence[str]) -> str:
    """`host n017`, `4 hosts (n017, n018, n019 and 1 more)`."""
    return f"{kind} {names[0]}" if len(names) == 1 else f"{count_of(len(names), kind)} ({list_first(names)})"


def basis(judged: SweepReport) -> str:
    """What was measured: `64 hosts; 2,016 pairs, 3 passes: Pair_Latency 8 bytes 1.9 µs, ...`."""
    each = [f"{result.benchmark} {size(result.bytes)}" for result in judged.verdict.per_size]
    if not judged.baseline:
        each = [
            f"{name} {us(level) if isfinite(level) else 'without a time'}"
            for name, result in zip(each, judged.verdict.per_size, strict=True)
            for level in [_level(judged, result)]
        ]
    pairs = max((result.pairs for result in judged.verdict.per_size), default=0)
    passes = [result.passes for result in judged.verdict.per_size] or [0]
    if len(set(passes)) > 1:
        each = [
            f"{name} ({count_of(pass_count, 'pass')})" for name, pass_count in zip(each, passes, strict=True)
        ]
    shown = count_of(passes[0], "pass") if len(set(passes)) == 1 else "passes by message size"
    measured = f"{count_of(len(judged.endpoints), judged.endpoint_kind)}; {count_of(pairs, 'pair')}, {shown}"
    return measured + (f": {', '.join(each)}" if each else "")


def _level(judged: SweepReport, result: SizeResult) -> float:
    """Seconds of a usual pair, or the median of all times if there are too few for a level."""
    if result.level_seconds == result.level_seconds:
        return result.level_seconds
    times = [
        sweep.seconds
        for sweep in judged.sweeps
        if (sweep.benchmark, sweep.bytes) == (result.benchmark, result.bytes)
    ]
    finite = [float(seconds) for column in times for seconds in column if seconds == seconds]
    return statistics.median(finite) if finite else float("nan")


def detectable_effect(judged: SweepReport) -> str | None:
    """The last line after a table: the smallest effect that such a sweep names. None if it is unknown or too
    large."""
    effects = [
        result.detectable for result in judged.verdict.per_size if result.detectable == result.detectable
    ]
    if not effects or max(effects) > expm1(HUGE):
        return None
    named = f"{_an_endpoint(judged)} that takes {longer_phrase(max(effects))} is named in 99 of 100 sweeps"
    return f"{named}; false alarms: at most 1 of {1 / judged.level:.0f} healthy sweeps"


def certainty(suspect: Suspect, level: float) -> str:
    """How certain a suspect is, in words."""
    if suspect.named:
        return "named"
    return (
        "significant, but not separated"
        if suspect.p_value <= level and suspect.alternatives
        else "suspect, not confirmed"
    )


def suspect_cells(suspect: Suspect, number: int, cause: str = "") -> list[str]:
    """Cells of a suspect under HEADINGS. `cause`: why a pair failed, or "" if it did not answer."""
    return [
        str(number) if suspect.named else f"({number})",
        suspect.kind,
        suspect.name,
        *(
            (increase_text(suspect.effect), _interval(suspect), probability(suspect.p_value))
            if isfinite(suspect.effect)
            else (_label(cause), "", "")
        ),
        f"{suspect.benchmark} {size(suspect.bytes)}",
        list_first(suspect.alternatives),
    ]


def line_of(suspect: Suspect) -> str:
    """`Pair_Latency 8 bytes takes +12.1 % longer (95 % CI +11.9 % to +12.3 %, p 1e-09)`."""
    if not isfinite(suspect.effect):
        return f"{suspect.benchmark} {size(suspect.bytes)}: {suspect.next.partition(':')[0]}"
    return f"{suspect.benchmark} {size(suspect.bytes)} takes {longer_phrase(suspect.effect)} (95 % CI {_interval(suspect)}, p {probability(suspect.p_value)})"


def _interval(suspect: Suspect) -> str:
    low, high = suspect.interval
    return (
        f"{increase_text(low)} to {increase_text(high)}" if is_estimable(1 + low, 1 + high) else NOT_ESTIMABLE
    )


def probability(value: float) -> str:
    """`3e-09`, `<1e-12`."""
    return f"{value:.1g}" if value >= 1e-12 else "<1e-12"


def longer_phrase(share: float) -> str:
    """`12.3 % longer`, `11 times as long`."""
    return (
        f"{1 + share:.0f} times as long" if share >= 9.995 else f"{increase_text(share, signed=False)} longer"
    )


def notes_below_table(judged: SweepReport) -> list[str]:
    """Lines after the table of suspects."""
    verdict, endpoints = judged.verdict, judged.endpoints
    lines: list[str] = []
    lines += [f"{label}: {list_first(names, 8)}" for label, names in group_silent_by_cause(judged).items()]
    for ends in verdict.silent_together:
        first, second = (endpoints[end].name for end in ends)
        lines.append(
            f"{first} and {second} stopped responding while they exchanged messages; one of them may only have waited"
        )
    for pair in verdict.asymmetric[:_SHOWN]:
        lines.append(
            f"asymmetric: {endpoints[pair.a].name} to {endpoints[pair.b].name} takes {longer_phrase(pair.effect)} than"
            f" back ({pair.benchmark} {size(pair.bytes)}, p {probability(pair.p_value)})"
        )
    for population in verdict.populations:
        names = list_first([endpoints[index].name for index in population.slower], 8)
        lines.append(
            f"two populations of {population.of}: {percent_text(population.share)} take {longer_phrase(population.effect)}"
            f" ({population.benchmark} {size(population.bytes)}){': ' + names if names else ''}"
        )
    for advice in dict.fromkeys(suspect.next for suspect in verdict.suspects if suspect.next):
        lines.append(f"next: {advice}")
    notes = dict.fromkeys((*judged.notes, *verdict.notes))
    headline = sweep_headline(judged)
    lines += [f"note: {note}" for note in notes if headline != f"{verdict.state}: {note}"]
    if (foot := detectable_effect(judged)) is not None:
        lines.append(foot)
    return lines


def table_rows(judged: SweepReport) -> tuple[list[list[str]], int]:
    """Rows of suspects, and the number of elements that were left out."""
    every = elements(judged)
    rows = [
        suspect_cells(suspect, number, _cause(judged, suspect))
        for number, same in enumerate(every[:_SHOWN], 1)
        for suspect in same
    ]
    return rows, max(0, len(every) - _SHOWN)


def fabric_json(judged: SweepReport, status: int, drained: Sequence[Mapping[str, Any]]) -> bytes:
    """The verdict as JSON. NaN and infinity become null. With a baseline, levels are ratios to it, under
    other names."""
    verdict = judged.verdict
    names = [endpoint.name for endpoint in judged.endpoints]

    def to_json(record: Any) -> Any:
        return msgspec.to_builtins(record, enc_hook=lambda array: array.tolist())

    suspects = [
        {**to_json(suspect), "endpoint_names": [names[i] for i in suspect.endpoints]}
        for suspect in verdict.suspects
    ]
    sizes = to_json(verdict.per_size)
    if judged.baseline:
        for entry in sizes:
            entry["level_ratio"] = entry.pop("level_seconds") / RATIO_OF_ONE
            entry["class_ratios"] = [[name, level / RATIO_OF_ONE] for name, level in entry.pop("classes")]
    whole = {
        "format": "openimb-fabric/1",
        "state": verdict.state,
        "summary": sweep_headline(judged),
        "exit_status": status,
        "level": judged.level,
        "least_effect": judged.least,
        "baseline": judged.baseline,
        "sources": list(judged.sources),
        "endpoints": [to_json(endpoint) for endpoint in judged.endpoints],
        "suspects": suspects,
        "silent": [names[endpoint] for endpoint in verdict.silent],
        "silent_together": [[names[end] for end in ends] for ends in verdict.silent_together],
        "asymmetric": to_json(verdict.asymmetric),
        "populations": to_json(verdict.populations),
        "sizes": sizes,
        "unjudged": list(verdict.unjudged),
        "notes": list(dict.fromkeys((*judged.notes, *verdict.notes))),
        "drain": list(drained),
    }
    return msgspec.json.format(msgspec.json.encode(whole)) + b"\n"
