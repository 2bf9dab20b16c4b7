"""Rules about spread over ranks, over launches and over repetitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from imb.diagnose.case import Case, Curve, Finding
from imb.model import collective_models
from imb.model.observations import Launch
from imb.model.units import count_of, first_and_others, percent_text, size, sizes, us
from imb.stats.medians import nanmedian, percentiles


def rank_spread(case: Case) -> Iterator[Finding]:
    """Yield rows whose times differ widely over ranks."""
    limit = case.thresholds.rank_spread
    for curve in case.curves:
        least = curve.numbers(lambda row: None if row.is_by_clock else row.time_min_seconds)
        most = curve.numbers(lambda row: None if row.is_by_clock else row.time_max_seconds)
        ratios = nanmedian(most / np.where(least > 0, least, np.nan))
        # A collective of 0 bytes moves no message, so its time says nothing about communication.
        moved = np.array([key.bytes != 0 or curve.is_transfer for key in curve.keys])
        over = np.flatnonzero((ratios > limit) & moved)
        if not len(over):
            continue
        at = int(over[np.argmax(ratios[over])])
        rooted = _is_rooted(curve)
        slowest = _most_frequent_rank(
            row.slowest_rank for rows in curve.rows if (row := rows[at]) is not None
        )
        lengths = [curve.keys[i].bytes for i in over]
        yield Finding(
            level="information" if rooted else "warning",
            rule="rank-spread",
            where=str(curve.key),
            found=f"t_max is {ratios[at]:.1f} times t_min over ranks at {size(curve.keys[at].bytes)}"
            f" ({us(nanmedian(least)[at])} and {us(nanmedian(most)[at])})"
            + (f"; more than {limit:g} times at {sizes(lengths)}" if len(over) > 1 else "")
            + (f"; rank {slowest} is the slowest" if slowest is not None else ""),
            advice="ranks of a rooted collective may return once their message is sent, so this can be normal; repeat with "
            "-- -sync on to separate repetitions"
            if rooted
            else "check the CPU of that rank for load (imb doctor, other jobs, interrupts), and for a node with another "
            f"frequency or NIC; {case.bind_advice}; repeat with -- -show_tail yes",
            evidence={"ratio": float(ratios[at]), "bytes": lengths, "slowest_rank": slowest},
            weight=float(ratios[at] / limit),
        )


def slowest_rank(case: Case) -> Iterator[Finding]:
    """Yield a rank, of three or more, that is the slowest far more often than by chance (binomial test)."""
    from scipy.special import bdtrc

    excess, share = case.thresholds.slowest_excess, case.thresholds.slowest_share
    by_layout: dict[int, Counter[int]] = {}
    slower: dict[int, list[float]] = {}
    for curve in case.curves:
        processes = curve.key.processes or 0
        if processes < 3 or _is_rooted(curve):
            continue
        for row in (row for rows in curve.rows for row in rows if row is not None):
            if (
                row.slowest_rank is None
                or row.is_by_clock
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
        # Rows of one launch are not independent: many rows of few launches prove less than the p-value suggests.
        chance = float(bdtrc(times - 1, rows, 1 / processes))
        if rows < 5 or times / rows < share or chance > 1e-3:
            continue
        yield Finding(
            level="warning",
            rule="slowest-rank",
            where=f"{processes} ranks",
            found=f"rank {rank}{place(case.side.launches[0], rank)} is the slowest in {times} of {count_of(rows, 'row')} in "
            f"which ranks differ by more than {percent_text(excess - 1, 0)}, by {percent_text(float(np.median(slower[processes])) - 1, 0)} in the median",
            advice="check its CPU: frequency, other load, interrupts, a rank on the same core; give it another CPU or "
            "node (--hosts, --bind) and check whether the rank or the location is slow",
            evidence={"rank": rank, "rows": rows, "slowest_in": times, "p": chance},
            weight=times / rows / share,
        )


def launch_spread(case: Case) -> Iterator[Finding]:
    """Yield one finding for all curves: a cause that makes launches differ rarely affects a single benchmark."""
    if len(case.side.launches) < 3:
        case.note(f"spread between launches: needs three launches, found {len(case.side.launches)}")
        return
    limit = case.thresholds.launch_spread
    medians: dict[str, float] = {}
    all_medians: list[float] = []
    worst = (0.0, "")
    for curve in case.curves:
        enough = (~np.isnan(curve.times)).sum(axis=0) >= 3
        if not enough.any():
            continue
        low, high = percentiles(curve.times[:, enough].T, (10, 90))
        spread = high / low
        keys = [key for key, good in zip(curve.keys, enough, strict=True) if good]
        all_medians.append(float(np.median(spread)))
        if (spread > limit).mean() < 0.25:  # a few of many rows always differ much
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
        where=first_and_others(first, others),
        found=f"launches differ by more than a factor of {limit:g} (90th over 10th percentile of {len(case.side.launches)}) "
        f"in {len(medians)} of {count_of(len(case.curves), 'curve')}: by {typical:.2f} in the median, {worst[0]:.2f} at worst "
        f"({worst[1]})",
        advice=f"repeat on a quiet machine with more launches; {case.bind_advice}; compare only medians over "
        "launches, and look whether times fall into two groups (imb report): placement or frequency differ then"
        + (
            ""
            if case.variance.in_passes
            else "; launches in passes (imb run --launch-budget 30) separate launches and states"
        ),
        evidence={"launches": len(case.side.launches), "median_spread": medians, "largest": worst[0]},
        weight=typical / limit,
    )


def tails(case: Case) -> Iterator[Finding]:
    """Yield rows in which one repetition in a hundred takes many times the median."""
    limit = case.thresholds.tail
    for curve in case.curves:
        middle = curve.numbers(lambda row: (row.quantiles or {}).get("p50"))
        tail = curve.numbers(lambda row: (row.quantiles or {}).get("p99"))
        ratios = nanmedian(tail / np.where(middle > 0, middle, np.nan))
        over = np.flatnonzero(ratios > limit)
        if not len(over):
            continue
        at = int(over[np.argmax(ratios[over])])
        yield Finding(
            level="warning",
            rule="tail",
            where=str(curve.key),
            found=f"one repetition of 100 takes {ratios[at]:.1f} times the median at {size(curve.keys[at].bytes)} "
            f"(p50 {us(nanmedian(middle)[at])}, p99 {us(nanmedian(tail)[at])}), more than {limit:g} times at "
            f"{len(over)} of {count_of(len(curve.keys), 'message size')}",
            advice="sporadic load on CPU or network: daemons, interrupts, a hypervisor, other jobs; "
            "leave a core free for the system, and compare with an idle node",
            evidence={"ratio": float(ratios[at]), "bytes": [curve.keys[i].bytes for i in over]},
            weight=float(ratios[at] / limit),
        )


def _is_rooted(curve: Curve) -> bool:
    """Whether the curve is a collective with one root: its ranks differ by design."""
    return collective_models.family(curve.key.benchmark) in ("bcast", "scatter", "gather", "reduce")


def _most_frequent_rank(ranks: Iterator[int | None]) -> int | None:
    times = Counter(rank for rank in ranks if rank is not None)
    return times.most_common(1)[0][0] if times else None


def place(launch: Launch, rank: int) -> str:
    """` (host n1, CPUs 0-3)` of a rank, or an empty text if it is unknown."""
    for info in launch.run.ranks or []:
        if info.rank == rank:
            return f" (host {info.host}{f', CPUs {info.cpus}' if info.cpus else ''})"
    return ""
