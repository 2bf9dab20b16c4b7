"""Medians, percentiles, means of groups, and values by index. NumPy's, where it has them; NaN is a value that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from imb.stats.arrays import Indices, Values

TO_DEVIATION = 1.4826  # median absolute deviation to standard deviation, of normal figures
EFFICIENCY = 0.37  # of the median absolute deviation: it is as certain as the standard deviation of so large a share of the figures
_SPARSE = 32  # where there are more possible keys for each key, keys are sorted


def median(values: Values, nothing: float = float("nan")) -> float:
    """The median of finite values; `nothing` where there are none."""
    return float(np.median(values)) if len(values) else nothing


def known_median(values: Iterable[float | None]) -> float | None:
    """The median of those that are not None; None where there are none."""
    present = [value for value in values if value is not None]
    return float(np.median(present)) if present else None


def robust_deviation(away: Values) -> float:
    """Standard deviation of figures around 0, by the median of their absolute values, which outliers do not change."""
    return TO_DEVIATION * median(np.abs(away))


def nanmedian(values: Values, axis: int = 0) -> Values:
    """The median of what is known; NaN where nothing is. np.nanmedian takes ten times as long, and warns where nothing is known."""
    if not values.shape[axis]:
        return np.full(np.delete(values.shape, axis), np.nan)
    unknown = np.isnan(values)
    if not unknown.any():
        return np.asarray(np.median(values, axis=axis))
    count = values.shape[axis] - unknown.sum(axis=axis, keepdims=True)
    ordered = np.sort(values, axis=axis)  # NaN comes last
    low, high = (
        np.take_along_axis(ordered, np.clip(place, 0, values.shape[axis] - 1), axis)
        for place in ((count - 1) // 2, count // 2)
    )
    middle: Values = np.squeeze((low + high) / 2, axis)
    return middle


def percentiles(values: Values, at: Sequence[float] = (10, 50, 90)) -> Values:
    """Percentiles over the last axis, as a rule that of launches: from shape (rows, launches) to shape (len(at), rows). NaN is
    a launch without a value; a row without any has NaN."""
    quantiles = np.full((len(at), *values.shape[:-1]), np.nan)
    has_values = ~np.isnan(values).all(axis=-1)
    if has_values.any():
        quantiles[:, has_values] = np.nanpercentile(values[has_values], at, axis=-1)
    return quantiles


def membership(groups: Sequence[Sequence[int]], columns: int) -> Values:
    """Shape (columns, groups): 1 where the column is in the group."""
    belongs = np.zeros((columns, len(groups)))
    for number, group in enumerate(groups):
        belongs[group, number] = 1.0
    return belongs


def group_means(values: Values, belongs: Values) -> Values:
    """For each row of `values` the mean over the known columns of each group, shape (rows, groups); NaN where none is known."""
    finite = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        means: Values = (np.where(finite, values, 0.0) @ belongs) / (finite @ belongs)
    return means


def number_keys(keys: npt.NDArray[Any], size: int) -> tuple[Indices, Indices]:
    """The distinct keys, ascending, and for each key its index among them; all keys are in [0, size)."""
    if size > _SPARSE * len(keys):
        each, at = np.unique(keys, return_inverse=True)
        return each, np.reshape(at, -1)
    occurs = np.zeros(size, dtype=bool)
    occurs[keys] = True
    each = np.flatnonzero(occurs)
    place = np.zeros(size, dtype=np.int32)
    place[each] = np.arange(len(each), dtype=np.int32)
    return each, place[keys].astype(np.int64)


def group_by_index(at: npt.NDArray[Any], count: int, values: Values) -> tuple[Values, Indices]:
    """Values of index 0 in their order, then those of 1, up to `count` - 1; and where each begins, with the end of the last."""
    from scipy.sparse import coo_array

    # SciPy sorts by counting here, and keeps the order within a row.
    rows = coo_array((values, (at, np.arange(len(at)))), shape=(count, max(len(at), 1))).tocsr()
    return rows.data, rows.indptr.astype(np.int64)


def table_by_index(at: npt.NDArray[Any], count: int, values: Values) -> tuple[Values, Indices]:
    """A column for each index in [0, count), with its values in their order, NaN where it has fewer than others; and how many it has."""
    ordered, first = group_by_index(at, count, values)
    counts = np.diff(first)
    most = int(counts.max(initial=0))
    if bool((counts == most).all()):
        return np.ascontiguousarray(ordered.reshape(count, most).T), counts
    table = np.full((most, count), np.nan)
    table[np.arange(len(at)) - np.repeat(first[:-1], counts), np.repeat(np.arange(count), counts)] = ordered
    return table, counts


def middles(at: npt.NDArray[Any], count: int, values: Values) -> Values:
    """Median of the values of each index, NaN where there is none."""
    table, counts = table_by_index(at, count, values)
    middle = np.full(count, np.nan)
    filled = np.flatnonzero(counts)
    ordered = np.sort(table, axis=0)
    low, high = ordered[(counts[filled] - 1) // 2, filled], ordered[counts[filled] // 2, filled]
    middle[filled] = (low + high) / 2
    return middle
