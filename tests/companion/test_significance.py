"""Locations (imb.fabric.location), their errors and adjusted p-values (imb.fabric.significance), against their definitions by SciPy and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from imb.fabric.location import bound, deviation, location
from imb.fabric.significance import Wider, holm
from scipy.optimize import brentq
from scipy.stats import norm


def test_the_family_wise_error_is_the_level() -> None:
    """Independent tests of nothing: Holm's first step is at level / tests."""
    p = np.random.default_rng(1).uniform(size=(20000, 12))
    named = np.mean([holm(one, 12).min() <= 0.05 for one in p])
    assert named == pytest.approx(1 - (1 - 0.05 / 12) ** 12, abs=0.005)


def test_p_values_are_adjusted_in_steps() -> None:
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005]), 4), [0.03, 0.06, 0.06, 0.02])


def test_tests_that_were_not_made_for_want_of_an_effect_count() -> None:
    np.testing.assert_allclose(holm(np.array([0.001, 0.002]), 10), [0.01, 0.018])


@pytest.mark.parametrize("outliers", [0, 3, 20])
def test_the_location_is_hubers(outliers: int) -> None:
    values = np.random.default_rng(outliers).normal(3.0, 1.0, 100)
    values[:outliers] += 50.0
    expected = brentq(lambda at: float(np.clip(values - at, -1.5, 1.5).sum()), 0.0, 60.0)
    assert location(values, 1.5) == pytest.approx(expected, abs=1e-3)


def test_the_error_of_the_location_is_that_of_repeated_samples() -> None:
    random = np.random.default_rng(5)
    samples = random.standard_t(3, (4000, 60))
    bounds = np.array([bound(one, 0.0) for one in samples])
    locations = np.array([location(one, size) for one, size in zip(samples, bounds, strict=True)])
    errors = np.array([deviation(one, size) for one, size in zip(samples, bounds, strict=True)]) / np.sqrt(60)
    assert float(np.median(errors)) == pytest.approx(float(locations.std()), rel=0.05)


def test_without_outliers_the_error_is_the_standard_deviation() -> None:
    values = norm.ppf((np.arange(1000) + 0.5) / 1000)
    assert deviation(values, 10.0) == pytest.approx(float(values.std()))


def test_a_wider_spread_of_few_components_has_their_degrees_of_freedom() -> None:
    assert Wider(1.0, 64).degrees(500.0) == pytest.approx(500.0)
    assert Wider(10.0, 64).degrees(500.0) == pytest.approx(0.37 * 63, rel=0.03)


def test_no_values_have_no_location_and_no_deviation() -> None:
    """Of pairs that cross no slow component, where every pair crosses one."""
    none = np.zeros(0)
    assert (location(none, 1.0), deviation(none, 1.0)) == (0.0, 0.0)
