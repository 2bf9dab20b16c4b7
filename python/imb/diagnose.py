"""What looks wrong in results, with the numbers that say so and what to try next. Pure.

A rule looks at the curves of a side and yields findings; RULES lists them. Every rule judges medians over launches. What
a rule cannot judge, and why, is a note. Docs: docs/companion.md, "Diagnosis".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_type_hints

import msgspec
import numpy as np
import numpy.typing as npt

from imb import costs, curves
from imb.errors import ImbError
from imb.records import Result
from imb.samples import Key, Launch, Side

Level: TypeAlias = Literal["problem", "warning", "information"]
LEVELS: tuple[Level, ...] = get_args(Level)
Values = npt.NDArray[np.float64]
_Said = msgspec.Meta


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """Where a rule begins to speak. `--threshold NAME=VALUE` changes one."""

    rank_spread: Annotated[float, _Said(description="t_max / t_min over ranks, of one row")] = 3.0
    slowest_share: Annotated[
        float, _Said(description="share of rows in which the same rank is the slowest")
    ] = 0.5
    slowest_excess: Annotated[
        float, _Said(description="t_max / t_avg from which a row says who is slowest")
    ] = 1.1
    launch_spread: Annotated[
        float, _Said(description="90th over 10th percentile of launches, of one row")
    ] = 1.2
    tail: Annotated[float, _Said(description="p99 / p50 of the repetitions of one row")] = 3.0
    cliff: Annotated[
        float, _Said(description="share of its bandwidth that a curve loses from one length to the next")
    ] = 0.3
    plateau: Annotated[
        float, _Said(description="bandwidth of long messages over what shorter ones promise")
    ] = 0.67
    switch: Annotated[
        float, _Said(description="share by which time jumps where one straight line follows another")
    ] = 0.15
    collective: Annotated[
        float, _Said(description="time of a collective over what point-to-point times imply")
    ] = 3.0
    link_share: Annotated[float, _Said(description="best bandwidth over that of the link (--link)")] = 0.9
    memory_share: Annotated[
        float, _Said(description="bandwidth of the longest message over half of --memory")
    ] = 0.5
    latency_intra: Annotated[float, _Said(description="seconds of a short message within a node")] = 5e-6
    latency_inter: Annotated[float, _Said(description="seconds of a short message between nodes")] = 20e-6
    overlap: Annotated[float, _Said(description="per cent of overlap, of 64 KiB and longer")] = 20.0
    load_drift: Annotated[
        float, _Said(description="relative change of the speed of the computation during a row")
    ] = 0.1

    def with_values(self, words: Sequence[str]) -> Thresholds:
        """These, changed by `NAME=VALUE`s. Raises ImbError."""
        changes: dict[str, float] = {}
        for word in words:
            name, _, value = word.partition("=")
            name = name.strip().replace("-", "_")
            if name not in self.__struct_fields__:
                near = get_close_matches(name, self.__struct_fields__, 1)
                names = (
                    f"did you mean {near[0]}?" if near else f"there are {', '.join(self.__struct_fields__)}"
                )
                raise ImbError(f"there is no threshold {name!r}; {names}")
            try:
                changes[name] = float(value)
            except ValueError:
                raise ImbError(f"--threshold {word}: give a number, as in {name}=2.5") from None
            if not 0 <= changes[name] < float("inf"):
                raise ImbError(f"--threshold {word}: give a number that is not negative")
        return msgspec.structs.replace(self, **changes)


def described() -> dict[str, str]:
    """What each threshold is of, by name."""
    hints = get_type_hints(Thresholds, include_extras=True)
    return {name: get_args(hints[name])[1].description for name in Thresholds.__struct_fields__}


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What the hardware can do, where it is known: bytes per second. `link` in one direction; `memory` reading and
    writing together, as STREAM's copy counts."""

    link: float | None = None
    memory: float | None = None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """`found` is a sentence with the decisive numbers, `evidence` has all of them (times in seconds, lengths in bytes),
    `weight` says how far over the threshold, 1 is just over it."""

    level: Level
    rule: str
    where: str
    found: str
    advice: str
    evidence: dict[str, Any] = {}
    weight: float = 1.0


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """The latency-bandwidth model of one curve, and the straight lines it falls into."""

    curve: Key
    fit: curves.Fit
    segments: list[curves.Segment]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Findings, the worst first; notes say what could not be judged."""

    side: str
    launches: int
    findings: list[Finding]
    models: list[Model]
    notes: list[str]

    @property
    def healthy(self) -> bool:
        """Whether nothing but information was found."""
        return all(finding.level == "information" for finding in self.findings)


class Curve:
    """One benchmark on one layout over lengths: rows by launch and length, missing ones None; times are NaN there."""

    def __init__(self, key: Key, keys: list[Key], side: Side) -> None:
        self.key = key
        self.keys = sorted(keys, key=lambda one: -1 if one.bytes is None else one.bytes)
        self.rows: list[list[Result | None]] = [
            [launch.rows.get(one) for one in self.keys] for launch in side.launches
        ]
        first = next(row for rows in self.rows for row in rows if row is not None)
        self.kind = first.kind
        metric = "pure" if first.time_pure_seconds is not None else "time"
        self.times: Values = np.array([side.values(one, metric) for one in self.keys]).T
        self.times[~(self.times > 0)] = np.nan

    @cached_property
    def medians(self) -> Values:
        """Seconds, shape (lengths,); NaN where no launch has the row."""
        return _median(self.times)

    @cached_property
    def shape(self) -> tuple[Values, Values, Values]:
        """Lengths (n,), median times (n,) and times by launch (launches, n) of the rows that have both.

        A collective of no bytes only returns: its row belongs to no curve.
        """
        least = 1 if self.kind == "collective" else 0
        good = [
            i
            for i, one in enumerate(self.keys)
            if one.bytes is not None and one.bytes >= least and self.medians[i] > 0
        ]
        lengths = np.array([self.keys[i].bytes for i in good], dtype=np.float64)
        return lengths, self.medians[good], self.times[:, good]

    @cached_property
    def fit(self) -> curves.Fit | None:
        """The latency-bandwidth model of the medians."""
        return curves.fit(*self.shape[:2])

    @cached_property
    def segments(self) -> list[curves.Segment]:
        """The straight lines of the medians."""
        return curves.segments(*self.shape[:2])

    def numbers(self, take: Callable[[Result], float | None]) -> Values:
        """Of every row, shape (launches, lengths); NaN where a row lacks it."""
        said = [[None if row is None else take(row) for row in rows] for rows in self.rows]
        return np.array([[np.nan if v is None else v for v in row] for row in said], dtype=np.float64)

    @property
    def transfer(self) -> bool:
        """Whether it moves messages between two processes and counts each once per repetition."""
        return self.kind == "single_transfer" and self.key.processes in (2, None)

    @property
    def communicates(self) -> bool:
        return self.key.benchmark != "Reduce_local" and self.key.component != "IO"


class Case:
    """What the rules look at."""

    def __init__(self, side: Side, thresholds: Thresholds, limits: Limits) -> None:
        self.side, self.thresholds, self.limits = side, thresholds, limits
        self.notes: list[str] = []
        by_curve: dict[Key, list[Key]] = {}
        for key in side.keys():  # noqa: SIM118  (a Side is no mapping)
            by_curve.setdefault(key.curve(), []).append(key)
        self.curves = [Curve(key, keys, side) for key, keys in by_curve.items()]

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def placement(self, processes: int | None) -> str | None:
        """`intra-node` or `inter-node` of the first ranks, None where it is not known or not the same in all launches."""
        found = set()
        for launch in self.side.launches:
            ranks = (launch.run.ranks or [])[:processes]
            hosts = {rank.host for rank in ranks}
            found.add(None if not hosts else "intra-node" if len(hosts) == 1 else "inter-node")
        return found.pop() if len(found) == 1 else None


def diagnose(side: Side, thresholds: Thresholds | None = None, limits: Limits | None = None) -> Diagnosis:
    """Applies every rule."""
    case = Case(side, thresholds or Thresholds(), limits or Limits())
    findings = [finding for rule in RULES for finding in rule(case)]
    findings.sort(key=lambda one: (LEVELS.index(one.level), -one.weight))
    models = [
        Model(curve=curve.key, fit=curve.fit, segments=curve.segments)
        for curve in case.curves
        if curve.fit is not None and curve.communicates
    ]
    return Diagnosis(
        side=side.name,
        launches=len(side.launches),
        findings=findings,
        models=models,
        notes=case.notes,
    )


def rate(text: str) -> float:
    """Bytes per second of `100Gb/s`, `12.5 GB/s`, `20GiB/s`; b are bits, B bytes. Raises ImbError."""
    match = re.fullmatch(r"\s*([\d.]+)\s*([kKMGT]?)(i?)([bB])(?:it)?(?:/s|ps)\s*", text)
    try:
        number = float(match[1]) if match else 0.0
    except ValueError:
        number = 0.0
    if not match or not number > 0:
        raise ImbError(f"{text!r} is no rate; give one as in 100Gb/s (bits) or 20GB/s (bytes)")
    prefix: float = (1024.0 if match[3] else 1000.0) ** " KMGT".index(match[2].upper() or " ")
    return number * prefix / (8 if match[4] == "b" else 1)


# ---------------------------------------------------------------- rules


def _defects(case: Case) -> Iterator[Finding]:
    for curve in case.curves:
        wrong = curve.numbers(lambda row: row.defects)
        if np.nansum(wrong) > 0:
            at = int(np.argmax(np.nan_to_num(wrong).sum(axis=0)))
            rows = int((np.nan_to_num(wrong) > 0).sum())
            yield Finding(
                level="problem",
                rule="defects",
                where=str(curve.key),
                found=f"-check found {int(np.nansum(wrong)):,} defects in {_n(rows, 'row')}, most at "
                f"{size(curve.keys[at].bytes)}: ranks did not receive what was sent",
                advice="believe no figure of this MPI or transport; repeat with another transport (UCX_TLS, "
                "OMPI_MCA_pml, FI_PROVIDER) to find the one that is broken, and test memory and adapter",
                evidence={"defects": int(np.nansum(wrong)), "rows": rows},
                weight=float(rows),
            )


_FAILED = {
    "out_of_memory": "give more (-mem), or measure shorter messages (-msglog)",
    "int_overflow": "the count does not fit an int: use an MPI with large counts, or shorter messages",
    "time_out": "give more time (-time), or look why it is so slow: see the lengths before it",
    "no_space": "choose another folder (-file)",
    "io_error": "look at the file system, and at the text of the error",
    "invalid_processes": "give it the number of processes that it needs",
    "unavailable": "this MPI lacks the call; use one that has it",
}


def _failures(case: Case) -> Iterator[Finding]:
    found: dict[tuple[Key, str], list[tuple[Key, str]]] = {}
    for launch in case.side.launches:
        for key, failure in launch.failures.items():
            said = (key, failure.detail or "")
            found.setdefault((key.curve(), failure.cause or "failure"), []).append(said)
    for (key, cause), rows in found.items():
        natural = cause in ("invalid_processes", "unavailable")
        lengths = sorted({one.bytes for one, _ in rows if one.bytes is not None})
        at = f" at {_sizes(lengths)}" if lengths else ""
        detail = next((text for _, text in rows if text), "")
        yield Finding(
            level="information" if natural else "problem" if cause == "io_error" else "warning",
            rule="failures",
            where=str(key),
            found=f"{cause.replace('_', ' ')}{at}, {_n(len(rows), 'row')} not measured"
            + (f" ({detail[:120]})" if detail else ""),
            advice=_FAILED.get(cause, "look at the output of the launch"),
            evidence={"cause": cause, "rows": len(rows), "bytes": lengths},
            weight=float(len(rows)),
        )


def _ends(case: Case) -> Iterator[Finding]:
    """Launches that did not come to their end; failure rows and defects are told by their own rules."""
    for launch in case.side.launches:
        status, problem = launch.facts.get("exit_status"), launch.facts.get("problem")
        if problem:
            what = str(problem)
        elif launch.end is None and launch.run.program == "OpenIMB":
            what = "its records have no end: it was cut off"
        elif launch.end is not None and launch.end.state != "complete":
            what = f"it was {launch.end.state}" + (f" ({launch.end.reason})" if launch.end.reason else "")
        elif launch.facts.get("outcome") in (None, "measured") or status in (3, 4):
            continue
        else:
            what = f"it {launch.facts['outcome']}, exit status {status}"
        yield Finding(
            level="warning",
            rule="end",
            where=f"launch {launch.name}",
            found=f"{what}; {_n(len(launch.rows), 'row')} are there",
            advice=f"see what it printed (imb show {launch.name} --output), and repeat it",
            evidence={"exit_status": status, "rows": len(launch.rows)},
        )


def _rank_spread(case: Case) -> Iterator[Finding]:
    limit = case.thresholds.rank_spread
    for curve in case.curves:
        least = curve.numbers(lambda row: row.time_min_seconds)
        most = curve.numbers(lambda row: row.time_max_seconds)
        ratios = _median(most / np.where(least > 0, least, np.nan))
        # Without a byte to move a collective only returns; how quickly is no matter of communication.
        moved = np.array([one.bytes != 0 or curve.transfer for one in curve.keys])
        over = np.flatnonzero((ratios > limit) & moved)
        if not len(over):
            continue
        at = int(over[np.argmax(ratios[over])])
        rooted = (costs.family(curve.key.benchmark) or "") in ("bcast", "scatter", "gather", "reduce")
        slowest = _most_often(row.slowest_rank for rows in curve.rows if (row := rows[at]) is not None)
        lengths = [curve.keys[i].bytes for i in over]
        yield Finding(
            level="information" if rooted else "warning",
            rule="rank-spread",
            where=str(curve.key),
            found=f"t_max is {ratios[at]:.1f} times t_min over ranks at {size(curve.keys[at].bytes)}"
            f" ({us(_median(least)[at])} and {us(_median(most)[at])})"
            + (f"; more than {limit:g} times at {_sizes(lengths)}" if len(over) > 1 else "")
            + (f"; rank {slowest} is the slowest" if slowest is not None else ""),
            advice="some ranks of a rooted collective are done as soon as their message is on its way, so this may be "
            "natural; repeat with -sync on to see it without the next repetitions"
            if rooted
            else "look for what keeps that rank's CPU busy (imb doctor, other jobs, interrupts), for ranks that share a "
            "core (--bind core), and for a node with another frequency or adapter; repeat with -show_tail yes",
            evidence={"ratio": float(ratios[at]), "bytes": lengths, "slowest_rank": slowest},
            weight=float(ratios[at] / limit),
        )


def _slowest_rank(case: Case) -> Iterator[Finding]:
    """One rank that is the slowest far more often than chance has it (binomial test), where three or more take part."""
    from scipy.special import bdtrc

    excess, share = case.thresholds.slowest_excess, case.thresholds.slowest_share
    by_layout: dict[int, Counter[int]] = {}
    slower: dict[int, list[float]] = {}
    for curve in case.curves:
        processes = curve.key.processes or 0
        if processes < 3 or (costs.family(curve.key.benchmark) or "") in (
            "bcast",
            "scatter",
            "gather",
            "reduce",
        ):
            continue
        for row in (row for rows in curve.rows for row in rows if row is not None):
            if (
                row.slowest_rank is None
                or not row.bytes
                or not row.time_avg_seconds
                or not row.time_max_seconds
            ):
                continue
            if row.time_max_seconds > excess * row.time_avg_seconds:
                by_layout.setdefault(processes, Counter())[row.slowest_rank] += 1
                slower.setdefault(processes, []).append(row.time_max_seconds / row.time_avg_seconds)
    for processes, counts in by_layout.items():
        rank, times = counts.most_common(1)[0]
        rows = counts.total()
        # Rows of one launch are not independent: many rows of few launches prove less than the test says.
        chance = float(bdtrc(times - 1, rows, 1 / processes))
        if rows < 5 or times / rows < share or chance > 1e-3:
            continue
        yield Finding(
            level="warning",
            rule="slowest-rank",
            where=f"{processes} ranks",
            found=f"rank {rank}{_place(case.side.launches[0], rank)} is the slowest in {times} of {_n(rows, 'row')} in "
            f"which ranks differ by more than {excess - 1:.0%}, by {np.median(slower[processes]) - 1:.0%} in the median",
            advice="look at its CPU: frequency, other load, interrupts, a neighbour on the same core; give it another CPU or "
            "node (--hosts, --bind) and see whether the slowness stays with the rank or with the place",
            evidence={"rank": rank, "rows": rows, "slowest_in": times, "p": chance},
            weight=times / rows / share,
        )


def _launch_spread(case: Case) -> Iterator[Finding]:
    """One finding for all curves: what makes launches differ is rarely a matter of one benchmark."""
    if len(case.side.launches) < 3:
        case.note(f"spread between launches: takes three launches, there are {len(case.side.launches)}")
        return
    limit = case.thresholds.launch_spread
    medians: dict[str, float] = {}
    all_medians: list[float] = []
    worst = (0.0, "")
    for curve in case.curves:
        enough = (~np.isnan(curve.times)).sum(axis=0) >= 3
        if not enough.any():
            continue
        low, high = np.nanpercentile(curve.times[:, enough], [10, 90], axis=0)
        spread = high / low
        keys = [one for one, good in zip(curve.keys, enough, strict=True) if good]
        all_medians.append(float(np.median(spread)))
        if (spread > limit).mean() < 0.25:  # of many rows a few are always far off
            continue
        medians[str(curve.key)] = float(np.median(spread))
        at = int(np.argmax(spread))
        worst = max(worst, (float(spread[at]), str(keys[at])))
    if not medians:
        return
    typical = float(np.median(all_medians))
    first, *others = sorted(medians, key=lambda name: -medians[name])
    yield Finding(
        level="warning" if typical > limit else "information",
        rule="launch-spread",
        where=_and_others(first, others),
        found=f"launches differ by more than a factor of {limit:g} (90th over 10th percentile of {len(case.side.launches)}) "
        f"in {len(medians)} of {_n(len(case.curves), 'curve')}: by {typical:.2f} in the median, {worst[0]:.2f} at worst "
        f"({worst[1]})",
        advice="repeat on a quiet machine with ranks bound (--bind core) and more launches; compare only medians over "
        "launches, and look whether times fall into two groups (imb report): placement or frequency differ then",
        evidence={"launches": len(case.side.launches), "median_spread": medians, "largest": worst[0]},
        weight=typical / limit,
    )


def _tails(case: Case) -> Iterator[Finding]:
    limit = case.thresholds.tail
    for curve in case.curves:
        middle = curve.numbers(lambda row: (row.quantiles or {}).get("p50"))
        tail = curve.numbers(lambda row: (row.quantiles or {}).get("p99"))
        ratios = _median(tail / np.where(middle > 0, middle, np.nan))
        over = np.flatnonzero(ratios > limit)
        if not len(over):
            continue
        at = int(over[np.argmax(ratios[over])])
        yield Finding(
            level="warning",
            rule="tail",
            where=str(curve.key),
            found=f"one repetition of 100 takes {ratios[at]:.1f} times the median at {size(curve.keys[at].bytes)} "
            f"(p50 {us(_median(middle)[at])}, p99 {us(_median(tail)[at])}), more than {limit:g} times at "
            f"{len(over)} of {_n(len(curve.keys), 'length')}",
            advice="something takes the CPU or the network now and then: daemons, interrupts, a hypervisor, other jobs; "
            "leave a core free for the system, and compare with an idle node",
            evidence={"ratio": float(ratios[at]), "bytes": [curve.keys[i].bytes for i in over]},
            weight=float(ratios[at] / limit),
        )


def _cliffs(case: Case) -> Iterator[Finding]:
    """One finding for all curves that fall between the same two lengths."""
    limit = case.thresholds.cliff
    places: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for curve in case.curves:
        lengths, medians, times = curve.shape
        if len(lengths) < 2 or not curve.communicates:
            continue
        positive = lengths > 0
        lengths, medians, times = lengths[positive], medians[positive], times[:, positive]
        rates = lengths / medians
        kept = rates[1:] / rates[:-1]
        with np.errstate(invalid="ignore"):
            drops = lengths[1:] / times[:, 1:] < lengths[:-1] / times[:, :-1]
        told = (~np.isnan(times[:, 1:]) & ~np.isnan(times[:, :-1])).sum(axis=0)
        often = drops.sum(axis=0) / np.maximum(told, 1)
        for i in np.flatnonzero((kept < 1 - limit) & (often >= 0.8)):
            back = np.flatnonzero(rates[i + 1 :] >= rates[i])
            places.setdefault((int(lengths[i]), int(lengths[i + 1])), []).append(
                {
                    "curve": str(curve.key),
                    "lost": float(1 - kept[i]),
                    "from": float(rates[i]),
                    "to": float(rates[i + 1]),
                    "regained_at_bytes": int(lengths[i + 1 + back[0]]) if len(back) else None,
                    "launches_with_it": float(often[i]),
                }
            )
    for (before, after), curves_there in places.items():
        first, *others = sorted(curves_there, key=lambda one: -float(one["lost"]))
        again = first["regained_at_bytes"]
        yield Finding(
            level="warning",
            rule="cliff",
            where=_and_others(first["curve"], [one["curve"] for one in others]),
            found=f"bandwidth falls by {first['lost']:.0%} from {size(before)} to {size(after)} "
            f"({megabytes(first['from'])} to {megabytes(first['to'])}) and is "
            + (f"regained at {size(again)}" if again else "not regained"),
            advice="a protocol or algorithm that begins at this length is slower than the one before: move its "
            "threshold (UCX_RNDV_THRESH, I_MPI_EAGER_THRESHOLD, MPIR_CVAR_*, btl_*_eager_limit) or choose another"
            if again
            else "long messages do not fit what short ones fitted: a cache (imb doctor tells sizes), a registration "
            "cache, an MTU or a flow limit; compare with -off_cache -1 and with another transport",
            evidence={"from_bytes": before, "to_bytes": after, "curves": curves_there, **_caches(case.side)},
            weight=float(first["lost"] / max(limit, 1e-9)),
        )


def _plateaus(case: Case) -> Iterator[Finding]:
    """Bandwidth that stops growing where the model of the shorter lengths has it grow on."""
    limit = case.thresholds.plateau
    for curve in case.curves:
        lengths, medians, _ = curve.shape
        positive = lengths > 0
        lengths, medians = lengths[positive], medians[positive]
        if len(lengths) < 8 or not curve.communicates:
            continue
        rates = lengths / medians
        flat = np.abs(rates / np.median(rates[-3:]) - 1) < 0.1
        start = len(rates) - int(np.argmin(flat[::-1])) if not flat.all() else 0
        # Up to where it is flat, and with something of the bandwidth in it: else shorter lengths promise nothing.
        if len(rates) - start < 3 or start < 5 or medians[start - 1] < 2 * medians[0]:
            continue
        before = curves.fit(lengths[:start], medians[:start])
        if before is None or not before.per_byte_high > 0:
            continue
        promised = lengths[start:] / (before.latency + before.per_byte_high * lengths[start:])
        share = float(np.median(rates[start:] / promised))
        if not share < limit:
            continue
        yield Finding(
            level="warning",
            rule="plateau",
            where=str(curve.key),
            found=f"bandwidth stays at {megabytes(float(np.median(rates[start:])))} from {size(lengths[start])} on; up to "
            f"there times promise at least {megabytes(float(promised[-1]))} at {size(lengths[-1])}",
            advice="something else than the path of the shorter messages limits long ones: memory bandwidth or a cache "
            "(see -off_cache), a second copy (is single copy by CMA, XPMEM or KNEM on?), one lane or rail in use",
            evidence={
                "from_bytes": int(lengths[start]),
                "bandwidth": float(np.median(rates[start:])),
                "promised": float(promised[-1]),
                "share": share,
                **_caches(case.side),
            },
            weight=limit / share,
        )


def _switches(case: Case) -> Iterator[Finding]:
    """One finding for all curves in which another straight line begins between the same two lengths."""
    limit = case.thresholds.switch
    places: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for curve in case.curves:
        lengths = curve.shape[0]
        if not curve.communicates:
            continue
        for left, right in zip(curve.segments, curve.segments[1:], strict=False):
            at, end = lengths[right.first], lengths[right.last]
            old, old_end = (left.latency + left.per_byte * n for n in (at, end))
            jump = (right.latency + right.per_byte * at) / old - 1 if old > 0 else 0.0
            # What the old line says far away counts only where its slope is known: where bytes made half of its time.
            last = left.per_byte * lengths[left.last]
            known = old_end > 0 and last > 0.5 * (left.latency + last)
            far = (right.latency + right.per_byte * end) / old_end - 1 if known else 0.0
            if max(abs(jump), abs(far)) <= limit:
                continue
            places.setdefault((int(lengths[left.last]), int(at)), []).append(
                {
                    "curve": str(curve.key),
                    "jump": float(jump),
                    "far": float(far),
                    "before": _line(left),
                    "after": _line(right),
                }
            )
    for (before, after), there in places.items():
        # The plainest benchmark says most; of the others the one that jumps most.
        plain = [one for one in there if one["curve"].startswith("PingPong")]
        first = (plain or sorted(there, key=lambda one: -abs(float(one["jump"]))))[0]
        jump = first["jump"]
        yield Finding(
            level="information",
            rule="switch",
            where=_and_others(first["curve"], [one["curve"] for one in there if one is not first]),
            found=f"another straight line begins between {size(before)} and {size(after)}: {first['before']}, then "
            f"{first['after']}; time at {size(after)} {'jumps' if jump >= 0 else 'falls'} by {abs(jump):.0%}",
            advice="most often a change of protocol (eager to rendezvous) or of a collective's algorithm, or a cache that "
            "is full; compare with the thresholds of the MPI, and measure lengths in between (-msglen)",
            evidence={"last_bytes": before, "first_bytes": after, "curves": there},
            weight=len(there) * max(abs(jump), abs(float(first["far"]))) / max(limit, 1e-9),
        )


def _collectives(case: Case) -> Iterator[Finding]:
    limit = case.thresholds.collective
    pairs = [c for c in case.curves if c.key.benchmark.lower() in ("pingpong", "osu_latency") and c.transfer]
    if not pairs or len(pairs[0].shape[0]) < 2:
        if any(costs.family(c.key.benchmark) for c in case.curves):
            case.note("collectives against point-to-point: takes PingPong in the same launches")
        return
    local = next((c for c in case.curves if c.key.benchmark == "Reduce_local" and len(c.shape[0]) > 1), None)
    message = _interpolation(pairs[0])
    combine = _interpolation(local) if local else message  # no slower than to send it: a lenient guess
    for curve in case.curves:
        processes = curve.key.processes
        if not processes or costs.family(curve.key.benchmark) is None or processes < 2:
            continue
        if (curve.key.group_count or 1) > 1:
            continue  # groups share what PingPong had alone
        if case.placement(2) != case.placement(processes):
            case.note(
                f"collectives of {processes} ranks against point-to-point: PingPong is {case.placement(2)}, they are "
                f"{case.placement(processes)}; measure PingPong between two nodes (-map) as well"
            )
            continue
        rows = []
        for i, one in enumerate(curve.keys):
            implied = costs.expected(curve.key.benchmark, processes, one.bytes or 0, message, combine)
            if implied and curve.medians[i] > 0 and one.bytes != 0:
                rows.append((float(curve.medians[i] / implied[0]), i, *implied))
        over = [row for row in rows if row[0] > limit]
        if len(over) < min(2, len(rows)) or not over:
            continue
        ratio, at, seconds, algorithm = max(over)
        yield Finding(
            level="warning",
            rule="collective",
            where=str(curve.key),
            found=f"takes {ratio:.1f} times what PingPong implies at {size(curve.keys[at].bytes)}: {us(curve.medians[at])} "
            f"instead of {us(seconds)} ({algorithm}); more than {limit:g} times at {len(over)} of {_n(len(rows), 'length')}",
            advice="try the MPI's other algorithms for this collective (coll_tuned_*_algorithm, I_MPI_ADJUST_*, "
            "MPIR_CVAR_*_ALGORITHM) and its node-aware ones; look at contention: fewer ranks per node, -multi 0 PingPong",
            evidence={
                "ratio": ratio,
                "bytes": [curve.keys[i].bytes for _, i, *_ in over],
                "expected_seconds": seconds,
                "algorithm": algorithm,
                "combine": "Reduce_local" if local else "assumed as quick as a message",
            },
            weight=ratio / limit,
        )


# Bytes in one direction of a link per repetition, in lengths.
_ONE_WAY = {"sendrecv": 1.0, "exchange": 2.0}


def _bandwidth(case: Case) -> Iterator[Finding]:
    best: tuple[float, Curve, float] | None = None
    longest: tuple[float, Curve, float] | None = None
    for curve in case.curves:
        factor = _ONE_WAY.get(curve.key.benchmark.lower(), 1.0 if curve.transfer else 0.0)
        lengths, medians, _ = curve.shape
        if (
            not factor
            or curve.key.processes not in (2, None)
            or curve.key.component == "IO"
            or not len(lengths)
        ):
            continue
        if (curve.key.group_count or 1) > 1 or lengths[-1] < 65536:
            continue
        rates = factor * lengths / medians
        at = int(np.argmax(rates))
        best = max(filter(None, [best, (float(rates[at]), curve, lengths[at])]), key=lambda one: one[0])
        last = (float(rates[-1]), curve, lengths[-1])
        longest = max(filter(None, [longest, last]), key=lambda one: one[0])
    link, memory, placement = case.limits.link, case.limits.memory, case.placement(2)
    if link and placement == "intra-node":
        case.note("--link: ranks 0 and 1 are on one host, their messages do not pass a link")
        link = None
    if memory and placement == "inter-node":
        case.note("--memory: ranks 0 and 1 are on two hosts; their messages are judged by --link only")
        memory = None
    if (link or memory) and (best is None or longest is None):
        case.note("--link, --memory: take a transfer between two processes of 64 KiB or more, as of PingPong")
        return
    share = case.thresholds.link_share
    if link and best and best[0] < share * link:
        yield Finding(
            level="warning",
            rule="link",
            where=str(best[1].key),
            found=f"best bandwidth is {megabytes(best[0])} at {size(best[2])}, {best[0] / link:.0%} of the link's "
            f"{megabytes(link)}; well-tuned systems reach 90 to 95 %",
            advice="look at the link's rate and width (ibstat, ethtool), its MTU, the adapter's PCIe lanes and NUMA node, and "
            "which transport is used (UCX_LOG_LEVEL=info, FI_LOG_LEVEL=info)",
            evidence={"bandwidth": best[0], "link": link, "bytes": int(best[2])},
            weight=share * link / best[0],
        )
    if link and best and best[0] > 1.05 * link:
        yield Finding(
            level="warning",
            rule="link",
            where=str(best[1].key),
            found=f"{megabytes(best[0])} at {size(best[2])} is more than the link's {megabytes(link)}",
            advice="messages do not go over that link only: are the ranks on one node, or is there a second rail? is --link "
            "in bits (Gb/s) or bytes (GB/s)?",
            evidence={"bandwidth": best[0], "link": link, "bytes": int(best[2])},
            weight=best[0] / link,
        )
    part = case.thresholds.memory_share
    if memory and longest and longest[0] < part * memory / 2:
        yield Finding(
            level="warning",
            rule="memory",
            where=str(longest[1].key),
            found=f"{megabytes(longest[0])} at {size(longest[2])} is {longest[0] / (memory / 2):.0%} of half the memory's "
            f"{megabytes(memory)}, which one copy (each byte read and written once) could use",
            advice="messages are copied more than once: switch single copy on (CMA, XPMEM, KNEM), and bring both ranks to one "
            "NUMA node (--bind, --cpus)",
            evidence={"bandwidth": longest[0], "memory": memory, "bytes": int(longest[2])},
            weight=part * memory / 2 / longest[0],
        )


def _latency(case: Case) -> Iterator[Finding]:
    for curve in case.curves:
        if curve.key.benchmark.lower() not in ("pingpong", "osu_latency") or not curve.transfer:
            continue
        lengths, medians, _ = curve.shape
        short = medians[lengths <= 8]
        where = case.placement(2)
        limit = case.thresholds.latency_inter if where != "intra-node" else case.thresholds.latency_intra
        if not len(short) or short.min() <= limit:
            continue
        yield Finding(
            level="warning",
            rule="latency",
            where=str(curve.key),
            found=f"a short message takes {us(short.min())}, more than {us(limit)}"
            + (" within a node" if where == "intra-node" else "")
            + "; usual are 0.5 to 2 µs with shared memory or RDMA, 5 to 20 µs over Ethernet",
            advice="see which transport is used (is shared memory switched off? is the fast network's adapter found?), and "
            "whether there are more ranks than cores",
            evidence={"seconds": float(short.min()), "placement": where},
            weight=float(short.min() / limit),
        )


def _overlap(case: Case) -> Iterator[Finding]:
    limit = case.thresholds.overlap
    for curve in case.curves:
        overlap = _median(curve.numbers(lambda row: row.overlap_percent))
        long = [
            i for i, one in enumerate(curve.keys) if (one.bytes or 0) >= 65536 and not np.isnan(overlap[i])
        ]
        drift = _median(np.abs(curve.numbers(lambda row: row.load_drift)))
        if len(over := np.flatnonzero(drift > case.thresholds.load_drift)):
            at = int(over[np.argmax(drift[over])])
            yield Finding(
                level="warning",
                rule="load-drift",
                where=str(curve.key),
                found=f"the computation ran {drift[at]:.0%} off the speed it was calibrated for at "
                f"{size(curve.keys[at].bytes)}, in {_n(len(over), 'row')} by more than "
                f"{case.thresholds.load_drift:.0%}",
                advice="another program or a changing clock frequency disturbs: fix the frequency, look at imb doctor; the "
                "overlap of these rows is not to be trusted",
                evidence={"drift": float(drift[at]), "bytes": [curve.keys[i].bytes for i in over]},
                weight=float(drift[at] / max(case.thresholds.load_drift, 1e-9)),
            )
        if long and np.median(overlap[long]) < limit:
            yield Finding(
                level="information",
                rule="overlap",
                where=str(curve.key),
                found=f"computation hides {np.median(overlap[long]):.0f} % of the communication of 64 KiB and more (median of "
                f"{_n(len(long), 'length')})",
                advice="this MPI works inside its calls only: call MPI_Test during the computation (-progress 10 shows what "
                "that gives), or try its progress thread (MPIR_CVAR_ASYNC_PROGRESS, I_MPI_ASYNC_PROGRESS)",
                evidence={"overlap_percent": [float(overlap[i]) for i in long]},
                weight=limit / max(float(np.median(overlap[long])), 1.0),
            )


RULES: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    _defects,
    _failures,
    _ends,
    _latency,
    _bandwidth,
    _rank_spread,
    _slowest_rank,
    _launch_spread,
    _tails,
    _cliffs,
    _plateaus,
    _collectives,
    _overlap,
    _switches,
)


# ---------------------------------------------------------------- words and numbers


def _median(values: Values) -> Values:
    """Over launches, NaN where there is none; without NumPy's warning about it."""
    found = np.full(values.shape[1], np.nan)
    some = ~np.isnan(values).all(axis=0)
    if some.any():
        found[some] = np.nanmedian(values[:, some], axis=0)
    return found


def _interpolation(curve: Curve) -> Callable[[float], float]:
    """Seconds of any length: linear between those measured, by the last two beyond them."""
    lengths, medians, _ = curve.shape

    def seconds(n: float) -> float:
        if n > lengths[-1]:
            slope = max((medians[-1] - medians[-2]) / (lengths[-1] - lengths[-2]), 0.0)
            return float(medians[-1] + slope * (n - lengths[-1]))
        return float(np.interp(n, lengths, medians))

    return seconds


def _most_often(said: Iterator[int | None]) -> int | None:
    counted = Counter(one for one in said if one is not None)
    return counted.most_common(1)[0][0] if counted else None


def _place(launch: Launch, rank: int) -> str:
    """` (host n1, CPUs 0-3)` of a rank, where it is known."""
    for one in launch.run.ranks or []:
        if one.rank == rank:
            return f" (host {one.host}{f', CPUs {one.cpus}' if one.cpus else ''})"
    return ""


def _caches(side: Side) -> dict[str, Any]:
    """Sizes of the caches as the conditions have them."""
    try:
        said = side.launches[0].facts["conditions"]["machine"]["caches"]
        return {"caches": {str(one["name"]): str(one["size"]) for one in said}}
    except (KeyError, TypeError, IndexError):
        return {}


def size(count: float | None) -> str:
    """`0 bytes`, `64 bytes`, `4 KiB`; exact lengths that are no multiple stay bytes."""
    if count is None:
        return "no length"
    n = int(count)
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if n >= 1 << power and n % (1 << power) == 0:
            return f"{n >> power} {unit}"
    return f"{n} byte{'' if n == 1 else 's'}"


def _sizes(lengths: Sequence[int | None]) -> str:
    if len(lengths) > 3:
        return f"{len(lengths)} lengths from {size(lengths[0])} to {size(lengths[-1])}"
    return ", ".join(map(size, lengths))


def _n(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def us(seconds: float) -> str:
    """Microseconds with three digits or so."""
    micro = seconds * 1e6
    return f"{micro:.2f} µs" if micro < 100 else f"{micro:,.0f} µs"


def megabytes(per_second: float) -> str:
    """Bytes per second as MB/s or GB/s of 10^6 and 10^9 bytes."""
    return f"{per_second / 1e9:.2f} GB/s" if per_second >= 1e9 else f"{per_second / 1e6:.1f} MB/s"


def _line(segment: curves.Segment) -> str:
    if segment.per_byte <= 0:
        return us(segment.latency)
    slope = megabytes(1 / segment.per_byte)
    return (
        f"{us(segment.latency)} + length at {slope}" if segment.latency > 0 else f"{slope} per further byte"
    )


def _and_others(first: str, others: Sequence[str]) -> str:
    """`PingPong, 2 ranks; also Bcast, 2 ranks and 3 more`."""
    if not others:
        return first
    named = others if len(others) <= 2 else others[:1]
    rest = len(others) - len(named)
    return f"{first}; also {'; '.join(named)}{f' and {rest} more' if rest else ''}"
