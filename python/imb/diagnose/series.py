"""The samples of a launch as arrays, for rules about associations. In a classic launch, each row is a sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from imb.diagnose.association import Groups
from imb.model.observations import Key, Launch, time_of
from imb.model.path import mean_repetitions, messages_per_time
from imb.model.records import Counter, Evidence, Result, Sample
from imb.stats.arrays import Values

COUNTERS = (*Evidence.COUNTERS, "moved_ranks")


class SampleSeries(NamedTuple):
    """Observed samples, in the order of time; arrays have shape (samples,). `groups`: index of the sample's
    row in `keys`; `times`: seconds per repetition; `seconds`: duration of the sample. By counter that ever
    rose: `amounts` over all ranks, `most` on one rank, and `ranks`, that rank or -1. The counter
    `moved_ranks` counts ranks that moved. `repetitions`: mean repetitions by number of the row."""

    launch: Launch
    keys: list[Key]
    groups: Groups
    times: Values
    seconds: Values
    amounts: dict[str, Values]
    most: dict[str, Values]
    ranks: dict[str, npt.NDArray[np.intp]]
    repetitions: dict[int, int]


def series_of(launch: Launch) -> SampleSeries | None:
    """The observed samples of a launch, or None if there are none."""
    sampled: Sequence[tuple[Key, Sample | Result]]
    repetitions: dict[int, int] = {}
    if any(row.passes for row in launch.rows.values()):
        of_passes = launch.sampled()
        repetitions = mean_repetitions(sample for _, sample in of_passes)
        sampled = of_passes
    else:
        sampled = list(launch.rows.items())
    places: dict[Key, int] = {}
    groups, times, seconds, evidence = [], [], [], []
    for key, sample in sampled:
        time = time_of(sample)
        if not sample.evidence or time is None or not 0 < time < float("inf"):
            continue
        groups.append(places.setdefault(key, len(places)))
        times.append(time)
        seconds.append(
            (sample.repetitions or 1) * messages_per_time(key.benchmark) * time + _pure_seconds(sample)
        )
        evidence.append(sample.evidence)
    if not times:
        return None
    counts = {name: [_amounts(each, name) for each in evidence] for name in COUNTERS}
    counts = {
        name: triples for name, triples in counts.items() if any(amount > 0 for amount, _, _ in triples)
    }
    return SampleSeries(
        launch=launch,
        keys=list(places),
        groups=np.array(groups, dtype=np.intp),
        times=np.array(times),
        seconds=np.array(seconds),
        amounts={name: np.array([amount for amount, _, _ in triples]) for name, triples in counts.items()},
        most={name: np.array([most for _, most, _ in triples]) for name, triples in counts.items()},
        ranks={
            name: np.array([rank for _, _, rank in triples], dtype=np.intp)
            for name, triples in counts.items()
        },
        repetitions=repetitions,
    )


def amount_of(evidence: Evidence, counter: str) -> float:
    """The amount of a counter over all ranks; for `moved_ranks`, the number of ranks that moved."""
    return _amounts(evidence, counter)[0]


def _amounts(evidence: Evidence, counter: str) -> tuple[float, float, int]:
    """The amount over all ranks, the amount on the worst rank, and that rank (-1 if no rank has any)."""
    value: Counter | list[int] | None = getattr(evidence, counter)
    if not value:
        return 0.0, 0.0, -1
    if isinstance(value, Counter):
        return value.sum, value.most, value.rank
    return float(len(value)), 1.0, value[0]


def _pure_seconds(sample: Sample | Result) -> float:
    """Seconds of the transfer without computation, which an overlap sample measures first; 0 for other
    samples."""
    loaded = sample.time_overlapped_seconds is not None
    return (sample.repetitions or 1) * (sample.time_pure_seconds or 0.0) if loaded else 0.0
