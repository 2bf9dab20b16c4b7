"""Rules about causes: events associated with slow samples or slow launches, and ranks that share a CPU.

An association is reported if it is significant (imb.diagnose.association) and costs a relevant share of the
time. The time that a rank waits for its CPU is part of the measured time, so it needs no test of association.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from imb.compare.log_speeds import levels_of_launches
from imb.diagnose import association
from imb.diagnose.case import Case, Finding
from imb.diagnose.series import SampleSeries, amount_of
from imb.diagnose.spread import place
from imb.model.facts import fact
from imb.model.observations import Key, Launch, time_of
from imb.model.path import seconds_of
from imb.model.records import Evidence
from imb.model.text import numbers_in
from imb.model.units import count_of, duration, first_and_others, noun_for, percent_text

# Probability that a side without a cause gets one, by the tests of samples and of launches: 1.5 % in total.
OF_SAMPLES, OF_LAUNCHES = 0.005, 0.01


class Cause(NamedTuple):
    """`counters`: evidence of the cause; the first counter that a launch has is used. `advice`: None means to
    bind ranks."""

    name: str
    counters: tuple[str, ...]
    advice: str | None


CAUSES = (
    Cause(
        "preemption",
        ("run_delay_seconds", "involuntary_switches"),
        "find what runs on that CPU (top, `ps -eo psr,pcpu,comm`, other jobs) and move it or the rank (--cpus, --hosts); "
        "leave a core free for the system",
    ),
    Cause(
        "steal",
        ("steal_seconds",),
        "the hypervisor gives the CPUs to other guests: use dedicated hosts or CPUs, or more and longer launches",
    ),
    Cause("migration", ("moved_ranks",), None),
    Cause(
        "page faults",
        ("major_faults", "minor_faults"),
        "memory is released and mapped again, or swapped: check free memory, MALLOC_TRIM_THRESHOLD_, huge pages, and whether "
        "the messages fit into memory (-- -mem GB)",
    ),
)


class SampleAssociation(NamedTuple):
    """An association over the samples of a launch. Samples with more of the disturbance are `slower` times as
    slow. `lost`: the additional time of these samples, as a share of the time; `waited`: share of the time
    that a rank waited for its CPU."""

    counter: str
    p: float
    slower: float
    lost: float
    waited: float
    worst: Key
    series: SampleSeries


class LaunchAssociation(NamedTuple):
    """An association over launches. The third of the launches with most of the disturbance is `slower` times
    as slow as the third with least. `launches`: number of launches."""

    counter: str
    p: float
    slower: float
    launches: int


def disturbances(case: Case) -> Iterator[Finding]:
    """Causes that are associated with slow samples of a launch, or with slow launches."""
    series = [of_launch for of_launch in case.series if of_launch is not None]
    kinds = {launch.experiment() for launch in case.side.launches}
    observed = any(row.evidence for launch in case.side.launches for row in launch.rows.values())
    evidence = [
        counters
        for launch in case.side.launches
        for row in launch.rows.values()
        if (counters := row.evidence)
    ]
    possible = sum(_first(cause, evidence) is not None for cause in CAUSES) or 1
    for cause in CAUSES:
        tests = possible * max(len(series), 1)
        inside = [
            candidate
            for of_launch in series
            if (candidate := _summarize_samples(cause, of_launch)) is not None
            and (
                candidate.waited >= case.thresholds.cause
                or (candidate.p <= OF_SAMPLES / tests and candidate.lost >= case.thresholds.cause)
            )
        ]
        over = [
            _summarize_launches(
                cause, [launch for launch in case.side.launches if launch.experiment() == kind]
            )
            for kind in kinds
        ]
        outside = [
            between
            for between in over
            if between is not None
            and between.p <= OF_LAUNCHES / (possible * len(kinds))
            and between.slower >= 1 + case.thresholds.cause
        ]
        if inside or outside:
            yield _finding(case, cause, inside, outside, len(series))
    in_passes = any(row.passes for of_launch in series for row in of_launch.launch.rows.values())
    if observed and not in_passes and len(case.side.launches) < association.FEWEST_LAUNCHES:
        case.note(f"causes: need launches in passes, or {association.FEWEST_LAUNCHES} launches")


def placement(case: Case) -> Iterator[Finding]:
    """Ranks that share a CPU, and ranks that are not on the requested CPUs."""
    shared: dict[str, list[Launch]] = {}
    astray: dict[str, list[Launch]] = {}
    for launch in case.side.launches:
        for sentence in shared_cpus(launch):
            shared.setdefault(sentence, []).append(launch)
        for sentence in misplaced_ranks(launch):
            astray.setdefault(sentence, []).append(launch)
    for problem, by_sentence in (("share", shared), ("astray", astray)):
        for sentence, launches in by_sentence.items():
            launch_count = len(case.side.launches)
            yield Finding(
                level="warning",
                rule="placement",
                where=f"launch {launches[0].name}"
                if len(launches) == 1
                else count_of(len(launches), "launch"),
                found=sentence
                + (f" in {len(launches)} of {count_of(launch_count, 'launch')}" if launch_count > 1 else ""),
                advice=f"{case.bind_advice}; times include the scheduler's time slices"
                if problem == "share"
                else "see the launcher's binding (mpiexec --report-bindings, HYDRA_TOPO_DEBUG=1), cpusets and cgroups",
                evidence={"launches": [launch.name for launch in launches]},
                weight=len(launches) / launch_count,
            )


def shared_cpus(launch: Launch) -> list[str]:
    """`ranks 0 and 1 share CPU 0 of n0`: ranks that have the same CPUs and outnumber them. Simulated ranks
    (SMPI) never compete for CPU time."""
    if "SMPI" in ((launch.run.mpi.known_as if launch.run.mpi else None) or ""):
        return []
    by_place: dict[tuple[str, str], list[int]] = {}
    for rank in launch.run.ranks or []:
        if rank.cpus:
            by_place.setdefault((rank.host, rank.cpus), []).append(rank.rank)
    return [
        f"{_names(ranks)} share {noun_for(len(numbers_in(cpus)), 'CPU')} {cpus} of {host}"
        for (host, cpus), ranks in by_place.items()
        if 0 < len(numbers_in(cpus)) < len(ranks)
    ]


def misplaced_ranks(launch: Launch) -> list[str]:
    """`rank 1 is on CPUs 0 instead of 1`, compared with the CPUs requested from `imb` (--cpus)."""
    requested = fact(list[int], launch.facts, "intent", "cpus") or []
    return [
        f"rank {rank.rank} is on CPUs {rank.cpus} instead of {requested[rank.rank % len(requested)]}"
        for rank in launch.run.ranks or []
        if requested and rank.cpus and numbers_in(rank.cpus) != {requested[rank.rank % len(requested)]}
    ]


def _summarize_samples(cause: Cause, series: SampleSeries) -> SampleAssociation | None:
    counter = next((name for name in cause.counters if name in series.amounts), None)
    if counter is None:
        return None
    amounts = series.amounts[counter]
    times = association.divide_by_neighbors(series.times, series.groups)
    slowness = association.rank_in_rows(times, series.groups)
    p = association.test_within_launch(amounts, series.seconds, slowness, series.groups)
    waited = 0.0
    if counter == "run_delay_seconds":
        waited = association.trimmed_share(series.most[counter], series.seconds)
    if p is None and not waited:
        return None
    lost, logs, sizes = 0.0, [], []
    worst = (0.0, series.keys[series.groups[int(np.argmax(amounts / series.seconds))]])
    for group, key in enumerate(series.keys):
        at = np.flatnonzero(series.groups == group)
        rates = amounts[at] / series.seconds[at]
        high = rates > np.median(rates)
        if not high.any() or high.all():
            continue
        undisturbed = float(np.median(times[at[~high]]))
        ratio = float(np.median(times[at[high]])) / undisturbed
        lost += float((series.seconds[at[high]] * (1 - undisturbed / times[at[high]])).sum())
        logs.append(np.log(ratio))
        sizes.append(len(at))
        worst = max(worst, (ratio, key), key=lambda pair: pair[0])
    slower = float(np.exp(np.average(logs, weights=sizes))) if logs else 1.0
    return SampleAssociation(
        counter=counter,
        p=1.0 if p is None else p,
        slower=slower,
        lost=lost / float(series.seconds.sum()),
        waited=min(waited, 1.0),
        worst=worst[1],
        series=series,
    )


def _summarize_launches(cause: Cause, launches: Sequence[Launch]) -> LaunchAssociation | None:
    common = [key for key in launches[0].rows if all(key in launch.rows for launch in launches)]
    evidence = [counters for launch in launches for key in common if (counters := launch.rows[key].evidence)]
    counter = _first(cause, evidence)
    if counter is None:
        return None
    times = np.array([[time_of(launch.rows[key]) or np.nan for key in common] for launch in launches])
    seconds = np.array([sum(seconds_of(launch.rows[key]) for key in common) for launch in launches])
    amounts = np.array(
        [
            sum(amount_of(counters, counter) for key in common if (counters := launch.rows[key].evidence))
            for launch in launches
        ]
    )
    positive = (times > 0).all(axis=0)
    if not positive.any() or not (seconds > 0).all():
        return None
    logs = np.log(times[:, positive])
    slowness = levels_of_launches(logs)
    rates = amounts / seconds
    p = association.test_between_launches(rates, slowness)
    if p is None:
        return None
    order, third = np.argsort(rates, kind="stable"), max(len(launches) // 3, 1)
    slower = float(np.exp(np.median(slowness[order[-third:]]) - np.median(slowness[order[:third]])))
    return LaunchAssociation(counter, p, slower, len(launches))


def _first(cause: Cause, evidence: Sequence[Evidence]) -> str | None:
    return next(
        (name for name in cause.counters if any(amount_of(each, name) > 0 for each in evidence)), None
    )


def _finding(
    case: Case,
    cause: Cause,
    inside: Sequence[SampleAssociation],
    outside: Sequence[LaunchAssociation],
    series_count: int,
) -> Finding:
    sentences: list[str] = []
    evidence: dict[str, Any] = {"cause": cause.name}
    where, weight = "all rows", 1.0
    if inside:
        most = max(inside, key=lambda within: max(within.lost, within.waited))
        rows = Tally(str(within.worst) for within in inside).most_common()
        where = first_and_others(rows[0][0], [name for name, _ in rows[1:]])
        weight = max(most.lost, most.waited) / max(case.thresholds.cause, 1e-9)
        sentences.append(
            _sentence(cause, most)
            + (f", in {len(inside)} of {count_of(series_count, 'launch')}" if series_count > 1 else "")
        )
        if most.slower > 1 and most.lost > 0:
            sentences.append(
                f"samples with more of it are {most.slower:.2f} times as slow in the median and cost {percent_text(most.lost, 0)} of the time"
            )
        evidence |= {
            "counter": most.counter,
            "ranks": _ranks(most),
            "lost": most.lost,
            "waited": most.waited,
            "slower": most.slower,
            "p": most.p,
            "launches": [within.series.launch.name for within in inside],
        }
    if outside:
        best = min(outside, key=lambda between: between.p)
        sentences.append(
            f"{'launches' if inside else cause.name + ': launches'} with the most {_label(best.counter)} are "
            f"{best.slower:.2f} times as slow as launches with the least (correlation over {count_of(best.launches, 'launch')}, p {best.p:.2g})"
        )
        evidence |= {"slower_launches": best.slower, "p_launches": best.p}
    return Finding(
        level="warning",
        rule="cause",
        where=where,
        found="; ".join(sentences),
        advice=cause.advice or case.bind_advice,
        evidence=evidence,
        weight=weight,
    )


def _sentence(cause: Cause, within: SampleAssociation) -> str:
    """`preemption of rank 1 (host n0, CPUs 1): waited for a CPU 43 % of 2 s (…), 120 involuntary switches a second`"""
    series, total = within.series, float(within.series.seconds.sum())
    ranks = [f"{rank}{place(series.launch, rank)}" for rank in _ranks(within)]
    of_ranks = (
        f" of rank{'s' * (len(ranks) > 1)} {' and '.join(ranks)}" if ranks and cause.name != "steal" else ""
    )
    amount = series.amounts[within.counter].sum()
    if within.counter == "run_delay_seconds":
        most = series.most[within.counter].sum()
        switches = series.amounts.get("involuntary_switches", np.zeros(1)).sum()
        figures = (
            f"waited for a CPU {percent_text(min(most / total, 1.0), 0)} of {duration(total)} (the worst rank of each sample), "
            f"{switches / total:.0f} involuntary switches a second"
        )
    elif within.counter == "steal_seconds":
        figures = f"{duration(amount)} of CPU time withheld in {duration(total)}"
    else:
        figures = f"{amount:.0f} {_label(within.counter)} in {duration(total)}"
    return f"{cause.name}{of_ranks}: {figures}"


def _ranks(within: SampleAssociation) -> list[int]:
    """The ranks with most of the disturbance, and ranks with at least half as much; at most three. Only the
    worst rank of each sample is known."""
    ranks, most = within.series.ranks[within.counter], within.series.most[within.counter]
    totals = {int(rank): float(most[ranks == rank].sum()) for rank in np.unique(ranks) if rank >= 0}
    limit = max(totals.values(), default=0.0) / 2
    return sorted((rank for rank in totals if totals[rank] >= limit), key=lambda rank: -totals[rank])[:3]


def _label(counter: str) -> str:
    return {"moved_ranks": "moves"}.get(counter, counter.removesuffix("_seconds").replace("_", " "))


def _names(ranks: Sequence[int]) -> str:
    shown = [str(rank) for rank in ranks[:8]] + (["…"] if len(ranks) > 8 else [])
    return f"ranks {', '.join(shown[:-1])} and {shown[-1]}"
