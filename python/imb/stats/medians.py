"""Medians, percentiles, means of groups, and values by index. NaN is an unknown value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from imb.stats.arrays import Indices, Values

TO_DEVIATION = 1.4826  # standard deviation divided by median absolute deviation, for normal values
EFFICIENCY = (
    0.37  # the median absolute deviation is as certain as the standard deviation of this share of the values
)
_SPARSE = 32  # with more possible keys per key than this, keys are sorted


def median(values: Values, nothing: float = float("nan")) -> float:
    """The median of finite values, or `nothing` if there are none."""
    return float(np.median(values)) if len(values) else nothing


def known_median(values: Iterable[float | None]) -> float | None:
    """The median of the values that are not None, or None if there are none."""
    present = [value for value in values if value is not None]
    return float(np.median(present)) if present else None


def robust_deviation(away: Values) -> float:
    """Standard deviation around 0, estimated by the median of absolute values, which few outliers do not
    change."""
    return TO_DEVIATION * median(np.abs(away))


def nanmedian(values: Values, axis: int = 0) -> Values:
    """The median of known values along an axis; NaN if none is known. np.nanmedian takes ten times as long,
    and warns if no value is known."""
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
    """Percentiles over the last axis, usually launches: from shape (rows, launches) to shape (len(at), rows).
    NaN is a launch without a value; a row without any value has NaN."""
    quantiles = np.full((len(at), *values.shape[:-1]), np.nan)
    has_values = ~np.isnan(values).all(axis=-1)
    if has_values.any():
        quantiles[:, has_values] = np.nanpercentile(values[has_values], at, axis=-1)
    return quantiles


def membership(groups: Sequence[Sequence[int]], columns: int) -> Values:
    """Shape (columns, groups): 1 if the column is in the group, else 0."""
    belongs = np.zeros((columns, len(groups)))
    for number, group in enumerate(groups):
        belongs[group, number] = 1.0
    return belongs


def group_means(values: Values, belongs: Values) -> Values:
    """For each row of `values`, the mean over the known columns of each group: shape (rows, groups), NaN if
    no column is known."""
    finite = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        means: Values = (np.where(finite, values, 0.0) @ belongs) / (finite @ belongs)
    return means


def number_keys(keys: npt.NDArray[Any], size: int) -> tuple[Indices, Indices]:
    """The distinct keys in ascending order, and each key's index among them. All keys are in [0, size)."""
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
    """Values sorted by their index `at`, in [0, count); values of one index keep their order. Also returns
    where each index begins, shape (count + 1,); the last item is the end."""
    from scipy.sparse import coo_array

    # SciPy sorts by counting here, and keeps the order within a row.
    rows = coo_array((values, (at, np.arange(len(at)))), shape=(count, max(len(at), 1))).tocsr()
    return rows.data, rows.indptr.astype(np.int64)


def table_by_index(at: npt.NDArray[Any], count: int, values: Values) -> tuple[Values, Indices]:
    """A table of shape (largest number of values, count): column i has the values of index i in their order,
    then NaN. Also returns the number of values of each index, shape (count,)."""
    ordered, first = group_by_index(at, count, values)
    counts = np.diff(first)
    most = int(counts.max(initial=0))
    if bool((counts == most).all()):
        return np.ascontiguousarray(ordered.reshape(count, most).T), counts
    table = np.full((most, count), np.nan)
    table[np.arange(len(at)) - np.repeat(first[:-1], counts), np.repeat(np.arange(count), counts)] = ordered
    return table, counts


def middles(at: npt.NDArray[Any], count: int, values: Values) -> Values:
    """The median of the values of each index, shape (count,); NaN for an index without values."""
    table, counts = table_by_index(at, count, values)
    middle = np.full(count, np.nan)
    filled = np.flatnonzero(counts)
    ordered = np.sort(table, axis=0)
    low, high = ordered[(counts[filled] - 1) // 2, filled], ordered[counts[filled] // 2, filled]
    middle[filled] = (low + high) / 2
    return middle
