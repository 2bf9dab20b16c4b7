"""Rules about the shape of a curve over message sizes: cliffs, plateaus, protocol changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from imb.diagnose import curves
from imb.diagnose.case import Case, Finding
from imb.model.conditions import Cache
from imb.model.facts import fact
from imb.model.mpis import EAGER_LIMITS
from imb.model.observations import Side
from imb.model.units import first_and_others, megabytes, percent_text, size, us

_SHORT = 1024  # bytes: latency dominates the time of shorter messages
_ADVICE_SHORT = (
    "the time of so short a message is latency, so a disturbed row looks like this: measure again with more launches; "
    "if it stays, the MPI changes protocol or algorithm at this message size"
)


def cliffs(case: Case) -> Iterator[Finding]:
    """Yield one finding for all curves whose bandwidth falls between the same two sizes."""
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
        measured = (~np.isnan(times[:, 1:]) & ~np.isnan(times[:, :-1])).sum(axis=0)
        often = drops.sum(axis=0) / np.maximum(measured, 1)
        for i in np.flatnonzero((kept < 1 - limit) & (often >= 0.8)):
            regained = np.flatnonzero(rates[i + 1 :] >= rates[i])
            places.setdefault((int(lengths[i]), int(lengths[i + 1])), []).append(
                {
                    "curve": str(curve.key),
                    "lost": float(1 - kept[i]),
                    "from": float(rates[i]),
                    "to": float(rates[i + 1]),
                    "regained_at_bytes": int(lengths[i + 1 + regained[0]]) if len(regained) else None,
                    "launches_with_it": float(often[i]),
                }
            )
    for (before, after), curves_there in places.items():
        first, *others = sorted(curves_there, key=lambda fall: -float(fall["lost"]))
        regained_at = first["regained_at_bytes"]
        yield Finding(
            level="warning",
            rule="cliff",
            where=first_and_others(first["curve"], [other["curve"] for other in others]),
            found=f"bandwidth falls by {percent_text(first['lost'], 0)} from {size(before)} to {size(after)} "
            f"({megabytes(first['from'])} to {megabytes(first['to'])}) and is "
            + (f"regained at {size(regained_at)}" if regained_at else "not regained"),
            advice=_ADVICE_SHORT
            if before < _SHORT
            else "the protocol or algorithm that starts at this message size is slower than the previous one: move its "
            f"threshold ({EAGER_LIMITS}) or choose another"
            if regained_at
            else "long messages exceed a resource: a cache (imb doctor lists sizes), a registration "
            "cache, an MTU or a flow limit; compare with -- -off_cache -1 and with another transport",
            evidence={"from_bytes": before, "to_bytes": after, "curves": curves_there, **_caches(case.side)},
            weight=float(first["lost"] / max(limit, 1e-9)),
        )


def plateaus(case: Case) -> Iterator[Finding]:
    """Yield curves whose bandwidth stops growing although the model of the shorter sizes predicts more."""
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
        # Shorter sizes predict a bandwidth only if there are enough of them, and the last takes much longer than the first.
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
            f"there shorter messages predict at least {megabytes(float(promised[-1]))} at {size(lengths[-1])}",
            advice="long messages have another bottleneck than short ones: memory bandwidth or a cache "
            "(compare with -- -off_cache -1), a second copy (is single copy by CMA, XPMEM or KNEM enabled?), one lane or rail in use",
            evidence={
                "from_bytes": int(lengths[start]),
                "bandwidth": float(np.median(rates[start:])),
                "promised": float(promised[-1]),
                "share": share,
                **_caches(case.side),
            },
            weight=limit / share,
        )


def switches(case: Case) -> Iterator[Finding]:
    """Yield one finding for all curves in which the protocol changes between the same two sizes."""
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
            # Extrapolate the previous segment only if its slope is known: bytes took more than half of its time.
            last = left.per_byte * lengths[left.last]
            slope_is_known = old_end > 0 and last > 0.5 * (left.latency + last)
            far = (right.latency + right.per_byte * end) / old_end - 1 if slope_is_known else 0.0
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
    for (before, after), changes in places.items():
        # Name PingPong first, the simplest benchmark, or else the curve with the largest jump.
        plain = [change for change in changes if change["curve"].startswith("PingPong")]
        first = (plain or sorted(changes, key=lambda change: -abs(float(change["jump"]))))[0]
        jump = first["jump"]
        yield Finding(
            level="information",
            rule="switch",
            where=first_and_others(
                first["curve"], [change["curve"] for change in changes if change is not first]
            ),
            found=f"protocol change between {size(before)} and {size(after)}: {first['before']}, then "
            f"{first['after']}; time at {size(after)} {'jumps' if jump >= 0 else 'falls'} by {percent_text(abs(jump), 0)}",
            advice="most often eager to rendezvous, another algorithm of a collective, or a cache that "
            "is full; compare with the thresholds of the MPI, and measure sizes in between (-- -msglen FILE)",
            evidence={"last_bytes": before, "first_bytes": after, "curves": changes},
            weight=len(changes) * max(abs(jump), abs(float(first["far"]))) / max(limit, 1e-9),
        )


def _caches(side: Side) -> dict[str, Any]:
    """Sizes of the caches, as the conditions list them; empty if unknown."""
    facts = side.launches[0].facts if side.launches else {}
    caches = fact(list[Cache], facts, "conditions", "machine", "caches")
    return {} if caches is None else {"caches": {cache.name: cache.size for cache in caches}}


def _line(segment: curves.Segment) -> str:
    if segment.per_byte <= 0:
        return us(segment.latency)
    slope = megabytes(1 / segment.per_byte)
    return f"{us(segment.latency)} + size at {slope}" if segment.latency > 0 else f"{slope}"
