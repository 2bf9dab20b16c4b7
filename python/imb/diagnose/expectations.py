"""Rules that compare a curve with what other curves or the hardware let expect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from imb.diagnose.case import Case, Curve, Finding
from imb.model import collective_models
from imb.model.gpus import UNKNOWN
from imb.model.mpis import ALGORITHM_CHOICES, PROGRESS_THREADS
from imb.model.units import count_of, duration, megabytes, percent_text, size, us
from imb.stats.arrays import Values
from imb.stats.medians import nanmedian

_LONG = 65536  # bytes: messages of this size or more show the bandwidth
# Bytes in one direction of a link per repetition, as a multiple of the message size.
_ONE_WAY = {"sendrecv": 1.0, "exchange": 2.0}


def latency(case: Case) -> Iterator[Finding]:
    """Yield a finding if a short message takes longer than usual."""
    if case.memory:
        case.note(
            "latency against common values of host memory: the log does not show whether messages are in device memory"
            if UNKNOWN in case.memory
            else f"latency against common values of host memory: messages are in {case.memory} memory"
        )
        return
    for curve in case.curves:
        if not _is_pingpong(curve):
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
            + "; common are 0.5 to 2 µs with shared memory or RDMA, 5 to 20 µs over Ethernet",
            advice="check the transport (is shared memory disabled? is the NIC or HCA found?), and "
            "whether there are more ranks than cores",
            evidence={"seconds": float(short.min()), "placement": where},
            weight=float(short.min() / limit),
        )


def pair_rates(case: Case) -> Iterator[tuple[Curve, Values, Values]]:
    """Yield curves of two ranks that reach 64 KiB or more, with sizes and bytes per second in one direction,
    both of shape (n,)."""
    for curve in case.curves:
        factor = _ONE_WAY.get(curve.key.benchmark.lower(), 1.0 if curve.is_transfer else 0.0)
        lengths, medians, _ = curve.shape
        if (
            not factor
            or curve.key.processes not in (2, None)
            or curve.key.component == "IO"
            or not len(lengths)
        ):
            continue
        if (curve.key.group_count or 1) > 1 or lengths[-1] < _LONG:
            continue
        yield curve, lengths, factor * lengths / medians


class BestRate(NamedTuple):
    """A bandwidth in bytes per second in one direction, the message size that reached it, and its curve."""

    rate: float
    bytes: float
    curve: Curve


def best_rate(case: Case, *, longest: bool = False) -> BestRate | None:
    """The best bandwidth between two ranks, or None without such a curve. `longest`: consider only the
    longest message of each curve."""
    candidates = []
    for curve, lengths, rates in pair_rates(case):
        at = -1 if longest else int(np.argmax(rates))
        candidates.append(BestRate(float(rates[at]), float(lengths[at]), curve))
    return max(candidates, key=lambda best: best.rate, default=None)


def peak_bandwidth(case: Case) -> Iterator[Finding]:
    """Yield findings if the best bandwidth is far below the bandwidth of link or memory, or above it."""
    best, longest = best_rate(case), best_rate(case, longest=True)
    link, memory, placement = case.limits.link, case.limits.memory, case.placement(2)
    if link and placement == "intra-node":
        case.note("--link: ranks 0 and 1 are on one host, their messages do not pass a link")
        link = None
    if memory and placement == "inter-node":
        case.note(
            "--memory-bandwidth: ranks 0 and 1 are on two hosts; their messages are judged by --link only"
        )
        memory = None
    if memory and case.memory:
        case.note(
            f"--memory-bandwidth is the bandwidth of host memory, and messages are in {case.memory} memory; see --gpu-link"
        )
        memory = None
    if (link or memory) and (best is None or longest is None):
        case.note(
            "--link, --memory-bandwidth: need a transfer of 64 KiB or more between two processes, such as PingPong"
        )
        return
    share = case.thresholds.link_share
    if link and best and best.rate < share * link:
        yield Finding(
            level="warning",
            rule="link",
            where=str(best.curve.key),
            found=f"best bandwidth is {megabytes(best.rate)} at {size(best.bytes)}, {percent_text(best.rate / link, 0)} of the link's "
            f"{megabytes(link)}; well-tuned systems reach 90 to 95 %",
            advice="check the link's rate and width (ibstat, ethtool), its MTU, the NIC's PCIe lanes and NUMA node, and "
            "which transport is used (UCX_LOG_LEVEL=info, FI_LOG_LEVEL=info)",
            evidence={"bandwidth": best.rate, "link": link, "bytes": int(best.bytes)},
            weight=share * link / best.rate,
        )
    if link and best and best.rate > 1.05 * link:
        yield Finding(
            level="warning",
            rule="link",
            where=str(best.curve.key),
            found=f"{megabytes(best.rate)} at {size(best.bytes)} is more than the link's {megabytes(link)}",
            advice="messages do not use that link only: are the ranks on one node, or is there a second rail? is --link "
            "in bits (Gb/s) or bytes (GB/s)?",
            evidence={"bandwidth": best.rate, "link": link, "bytes": int(best.bytes)},
            weight=best.rate / link,
        )
    part = case.thresholds.memory_share
    if memory and longest and longest.rate < part * memory / 2:
        yield Finding(
            level="warning",
            rule="memory",
            where=str(longest.curve.key),
            found=f"{megabytes(longest.rate)} at {size(longest.bytes)} is {percent_text(2 * longest.rate / memory, 0)} of half the memory's "
            f"{megabytes(memory)}, which one copy (each byte read and written once) could use",
            advice="messages are copied more than once: enable single copy (CMA, XPMEM, KNEM), and bind both ranks to one "
            "NUMA node (--bind, --cpus)",
            evidence={"bandwidth": longest.rate, "memory": memory, "bytes": int(longest.bytes)},
            weight=part * memory / 2 / longest.rate,
        )


def collectives(case: Case) -> Iterator[Finding]:
    """Yield findings if a collective takes many times what PingPong implies."""
    limit = case.thresholds.collective
    pingpong = next(filter(_is_pingpong, case.curves), None)
    if pingpong is None or len(pingpong.shape[0]) < 2:
        if any(collective_models.family(c.key.benchmark) for c in case.curves):
            case.note("collectives against point-to-point: needs PingPong in the same launches")
        return
    local = next((c for c in case.curves if c.key.benchmark == "Reduce_local" and len(c.shape[0]) > 1), None)
    message = _interpolation(pingpong)
    combine = (
        _interpolation(local) if local else message
    )  # lenient assumption: as slow as sending the message
    for curve in case.curves:
        processes = curve.key.processes
        if not processes or collective_models.family(curve.key.benchmark) is None or processes < 2:
            continue
        if (curve.key.group_count or 1) > 1:
            continue  # groups share a network that PingPong had alone
        if case.placement(2) != case.placement(processes):
            case.note(
                f"collectives of {processes} ranks against point-to-point: PingPong is {case.placement(2)}, they are "
                f"{case.placement(processes)}; measure PingPong between two nodes (--map PxQ) as well"
            )
            continue
        rows = []
        for i, key in enumerate(curve.keys):
            implied = collective_models.expected_time(
                curve.key.benchmark, processes, key.bytes or 0, message, combine
            )
            if implied and curve.medians[i] > 0 and key.bytes != 0:
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
            f"instead of {us(seconds)} ({algorithm}); more than {limit:g} times at {len(over)} of {count_of(len(rows), 'message size')}",
            advice="try the MPI's other algorithms for this collective "
            f"({ALGORITHM_CHOICES}) and its node-aware ones; look at contention: fewer ranks per node, PingPong -- -multi 0",
            evidence={
                "ratio": ratio,
                "bytes": [curve.keys[i].bytes for _, i, *_ in over],
                "expected_seconds": seconds,
                "algorithm": algorithm,
                "combine": "Reduce_local" if local else "assumed as quick as a message",
            },
            weight=ratio / limit,
        )


def overlap(case: Case) -> Iterator[Finding]:
    """Yield findings if computation hides little communication, or did not keep its speed."""
    limit = case.thresholds.overlap
    for curve in case.curves:
        hidden = nanmedian(curve.numbers(lambda row: row.overlap_percent))
        long = [
            i for i, key in enumerate(curve.keys) if (key.bytes or 0) >= _LONG and not np.isnan(hidden[i])
        ]
        drift = nanmedian(np.abs(curve.numbers(lambda row: row.load_drift)))
        if len(over := np.flatnonzero(drift > case.thresholds.load_drift)):
            at = int(over[np.argmax(drift[over])])
            yield Finding(
                level="warning",
                rule="load-drift",
                where=str(curve.key),
                found=f"computation speed was {percent_text(float(drift[at]), 0)} off its calibration at "
                f"{size(curve.keys[at].bytes)}, in {count_of(len(over), 'row')} by more than "
                f"{percent_text(case.thresholds.load_drift, 0)}",
                advice="other load or a changing clock frequency: fix the frequency, run imb doctor; the "
                "overlap of these rows is unreliable",
                evidence={"drift": float(drift[at]), "bytes": [curve.keys[i].bytes for i in over]},
                weight=float(drift[at] / max(case.thresholds.load_drift, 1e-9)),
            )
        if long and np.median(hidden[long]) < limit:
            yield Finding(
                level="information",
                rule="overlap",
                where=str(curve.key),
                found=f"computation hides {np.median(hidden[long]):.0f} % of the communication of 64 KiB and more (median of "
                f"{count_of(len(long), 'message size')})",
                advice="this MPI makes progress inside its calls only: call MPI_Test during the computation (-- -progress 10 shows "
                f"the effect), or try its progress thread ({PROGRESS_THREADS})",
                evidence={"overlap_percent": [float(hidden[i]) for i in long]},
                weight=limit / max(float(np.median(hidden[long])), 1.0),
            )


def slow_overlap(case: Case) -> Iterator[Finding]:
    """Yield a finding if an operation with computation takes much longer than the operation and the
    computation in sequence."""
    limit = case.thresholds.overlap_excess
    for curve in case.curves:
        columns = [
            nanmedian(curve.numbers(take))
            for take in (
                lambda row: row.time_overlapped_seconds,
                lambda row: row.time_pure_seconds,
                lambda row: row.time_cpu_seconds,
            )
        ]
        both, pure, computation = columns
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = both / (pure + computation)
        over = np.flatnonzero(np.isfinite(excess) & (excess > limit))
        if not len(over):
            continue
        at = int(over[np.argmax(excess[over])])
        yield Finding(
            level="warning",
            rule="overlap-excess",
            where=str(curve.key),
            found=f"with computation the operation takes {duration(both[at])} at {size(curve.keys[at].bytes)}, {excess[at]:.3g} "
            f"times the sum of pure transfer ({duration(pure[at])}) and computation ({duration(computation[at])}); more than "
            f"{limit:g} times at {len(over)} of {count_of(int(np.isfinite(excess).sum()), 'message size')}",
            advice="computation delays this operation: see whether progress threads of the MPI or file system have a core "
            "(--bind, --cpus), and whether the operation is a nonblocking one of a slow component (OMPI_MCA_io, file system)",
            evidence={
                "ratio": float(excess[at]),
                "bytes": [curve.keys[i].bytes for i in over],
                "seconds": [float(column[at]) for column in columns],
            },
            weight=float(excess[at] / limit),
        )


def _is_pingpong(curve: Curve) -> bool:
    return curve.is_transfer and curve.key.benchmark.lower() in ("pingpong", "osu_latency")


def _interpolation(curve: Curve) -> Callable[[float], float]:
    """A function that returns seconds for any message size: linear between measured sizes, extrapolated
    beyond them by the last two."""
    lengths, medians, _ = curve.shape

    def seconds(n: float) -> float:
        if n > lengths[-1]:
            slope = max((medians[-1] - medians[-2]) / (lengths[-1] - lengths[-2]), 0.0)
            return float(medians[-1] + slope * (n - lengths[-1]))
        return float(np.interp(n, lengths, medians))

    return seconds
