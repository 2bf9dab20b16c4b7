"""Medians and tables of many values are those of NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from imb.stats.medians import group_by_index, median, number_keys, table_by_index

SHAPES = {
    "long tails": lambda random, n: random.standard_t(2, n),
    "two modes": lambda random, n: random.choice([0.0, 0.1], n) + 1e-3 * random.standard_normal(n),
    "equal": lambda random, n: np.zeros(n),
    "mostly equal": lambda random, n: np.where(random.random(n) < 0.6, 0.0, random.standard_normal(n)),
    "ascending": lambda random, n: np.arange(n, dtype=np.float64),
    # The sample may have those of 5 only.
    "misleads the sample": lambda random, n: np.where(np.arange(n) % 4 == 0, 5.0, random.random(n)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 2, 3, 20_000, 20_001, 81_920, 524_288])
def test_medians_and_quantiles_are_exact(shape: str, count: int) -> None:
    values = SHAPES[shape](np.random.default_rng(count), count)
    assert median(values) == np.median(values)


@given(st.lists(st.integers(0, 30), min_size=1), st.integers(31, 20_000))
def test_keys_are_numbered_in_their_order(keys: list[int], size: int) -> None:
    each, at = number_keys(np.array(keys), size)
    assert each.tolist() == sorted(set(keys)) and each[at].tolist() == keys


@given(st.lists(st.integers(0, 5)))
def test_values_by_index_keep_their_order(indices: list[int]) -> None:
    at, values = np.array(indices, dtype=np.int64), np.arange(len(indices), dtype=np.float64)
    expected = [[x for x, one in enumerate(indices) if one == index] for index in range(6)]
    ordered, first = group_by_index(at, 6, values)
    assert [ordered[x:y].tolist() for x, y in pairwise(first)] == expected
    table, many = table_by_index(at, 6, values)
    assert many.tolist() == list(map(len, expected)) and table.shape == (max(many), 6)
    assert [column[:count].tolist() for column, count in zip(table.T, many, strict=True)] == expected
    assert all(np.isnan(column[count:]).all() for column, count in zip(table.T, many, strict=True))
