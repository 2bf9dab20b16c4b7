"""Pairs and endpoints that did not answer. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from imb.fabric.judging.sweep import Sweep
from imb.model.units import size
from imb.stats.arrays import Indices, Numbers

FEWEST_ANSWERING = 4  # endpoints; if fewer answer, the others are rarely the cause


def unanswered_pairs(sweep: Sweep) -> list[tuple[int, int]]:
    """Pairs without any time, and pairs that did not answer when they last met, the lower endpoint first.
    Empty if it is unknown which endpoints do not answer (`unknown_silence_reason`)."""
    good = np.isfinite(sweep.seconds) & (sweep.seconds > 0)
    if good.all():
        return []
    count = len(sweep.endpoints)
    codes = sweep.pair_codes()
    failed = np.setdiff1d(codes[~good], codes[good])
    if np.isnan(sweep.seconds).any():
        last = _last_of(codes)
        failed = np.union1d(failed, codes[last[np.isnan(sweep.seconds[last])]])
        failed = failed[:0] if unknown_silence_reason(sweep) else failed
    return [divmod(code, count) for code in failed.tolist()]


def _last_of(key: Indices) -> Indices:
    """The last position of each key."""
    _, from_end = np.unique(key[::-1], return_index=True)
    last: Indices = len(key) - 1 - from_end
    return last


def silent_endpoints(sweep: Sweep) -> tuple[int, ...]:
    """Endpoints with more than half of their pairs unanswered at the last meeting. The endpoint with most
    failures is taken first, and its pairs then count for no other endpoint. Empty if it is unknown which
    endpoints do not answer (`unknown_silence_reason`)."""
    if not np.isnan(sweep.seconds).any() or unknown_silence_reason(sweep):
        return ()
    count = len(sweep.endpoints)
    answered, failed = _last_meetings(sweep)
    good = np.bincount(answered.ravel(), minlength=count)
    silent: list[int] = []
    while len(failed):
        bad = np.bincount(failed.ravel(), minlength=count)
        worst = int(np.argmax(np.where(bad > good, bad, 0)))
        if bad[worst] < 2 or bad[worst] <= good[worst]:
            break
        silent.append(worst)
        failed = failed[(failed != worst).all(axis=1)]
    return tuple(sorted(silent))


def _last_meetings(sweep: Sweep) -> tuple[Numbers, Numbers]:
    """Pairs that answered when they last met, and pairs that failed; each of shape (pairs, 2)."""
    low, high = np.minimum(sweep.a, sweep.b), np.maximum(sweep.a, sweep.b)
    last = _last_of(sweep.pair_codes())
    answers = ~np.isnan(sweep.seconds[last])
    ends = np.stack([low[last], high[last]], axis=1)
    return ends[answers], ends[~answers]


def unknown_silence_reason(sweep: Sweep) -> str:
    """Why it is unknown which endpoints do not answer, and what to check; "" if it is known. It is unknown if
    several pairs failed when they last met, and no endpoint, or fewer than FEWEST_ANSWERING and at most half
    of them, answered any other. The cause may then be the network or the launch."""
    if not np.isnan(sweep.seconds).any():
        return ""
    answered, failed = _last_meetings(sweep)
    met = len(np.unique(np.concatenate([answered, failed])))
    ends = len(np.unique(answered))
    if len(failed) < 2 or ends >= FEWEST_ANSWERING or 2 * ends > met:
        return ""
    name = f"{sweep.benchmark} {size(sweep.bytes)}: "
    causes = {sweep.causes.get((a, b), "") for a, b in failed.tolist()}
    if not ends and len(causes) == 1 and (cause := causes.pop()):
        return f"{name}all pairs failed: {cause}"
    reason = f"only {ends} of {met} endpoints answer" if ends else "no pair answered"
    if not ends and np.isfinite(sweep.seconds).any():
        reason = "no pair answers any more"
    return f"{name}{reason}; check the network and the launcher, or give more time (-- -pair_timeout SECONDS)"


def cause_of(sweeps: Sequence[Sweep], endpoint: int) -> str:
    """Why most pairs of an endpoint failed ("out of memory"), or "" if they did not answer, in any of these
    sweeps."""
    cause = ""
    for sweep in sweeps:
        failed = np.isnan(sweep.seconds) & ((sweep.a == endpoint) | (sweep.b == endpoint))
        ends = np.unique(sweep.a[failed] + sweep.b[failed] - endpoint).tolist()
        if not ends:
            continue
        causes = [sweep.causes.get((min(endpoint, end), max(endpoint, end)), "") for end in ends]
        if not (cause := max(causes, key=causes.count)):
            break
    return cause


def mutually_silent_pairs(sweep: Sweep, silent: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of silent endpoints whose first failure is an exchange with each other: one of the two may only
    have waited."""
    failed = np.flatnonzero(np.isnan(sweep.seconds))
    first: dict[int, int] = {}
    for end in silent:
        failures = failed[(sweep.a[failed] == end) | (sweep.b[failed] == end)]
        if len(failures):
            first[end] = int(failures[0])
    return [
        (endpoint, partner)
        for endpoint, at in first.items()
        for partner in (int(sweep.a[at] + sweep.b[at]) - endpoint,)
        if endpoint < partner and first.get(partner) == at
    ]
