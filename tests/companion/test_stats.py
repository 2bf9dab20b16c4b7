"""Statistics: against SciPy, published values, and their own claims."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imb.model.units import duration, rounded_size
from imb.stats.medians import percentiles
from imb.stats.multiplicity import Family, Permutations, holm, permits, unequal_spreads
from imb.stats.shift import (
    Shift,
    detectable_difference,
    launches_needed,
    level_of,
    middle_variance,
    noncentrality,
    shift,
    shift_of_pairs,
)
from numpy.typing import NDArray
from scipy import stats


def drawn(shape: tuple[int, int], spread: float = 0.1, seed: int = 1) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(0.0, spread, shape)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (8, 5), (10, 10), (40, 3)])
def test_shift_is_welchs_test(n: int, m: int) -> None:
    a, b = drawn((n, 1)), drawn((m, 1), 0.3, seed=2) + 0.2
    ours, scipys = shift(a, b, 0.9), stats.ttest_ind(b, a, equal_var=False)
    interval = scipys.confidence_interval(0.9)
    np.testing.assert_allclose(ours.p, scipys.pvalue)
    np.testing.assert_allclose([ours.low, ours.high], [interval.low, interval.high])
    np.testing.assert_allclose(ours.difference, b.mean(0) - a.mean(0))


def test_a_few_that_agree_are_no_certainty_beside_many_that_do_not() -> None:
    a, b = drawn((10, 1), 0.3), drawn((3, 1), 0.001, seed=2) + 0.5
    ours, student = shift(a, b), stats.ttest_ind(b, a)
    assert ours.p[0] >= student.pvalue[0] > 10 * stats.ttest_ind(b, a, equal_var=False).pvalue[0]


@given(st.integers(0, 2**32 - 1), st.integers(2, 8))
@settings(max_examples=50)
def test_what_other_points_tell_only_ever_widens_an_interval(seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.normal(0, 0.1, (2, n, 20))
    a[:, 0] = b[:, 0] = np.linspace(0, 1e-6, n)  # launches that agree by chance
    b[:, 0] += 0.05
    ours = shift(a, b)
    alone = [shift(a[:, [i]], b[:, [i]]) for i in range(20)]
    assert all(ours.p[i] >= one.p[0] * (1 - 1e-9) for i, one in enumerate(alone))
    assert ours.p[0] > 1e-4 > alone[0].p[0]
    assert shift_of_pairs(a, b).p[0] > 1e-4


def test_one_fresh_launch_is_held_against_the_spread_of_the_others() -> None:
    a, b = drawn((9, 5)), drawn((1, 5), seed=2)
    ours = shift(a, b)
    half = (
        stats.t.ppf(0.975, 8) * a.std(axis=0, ddof=1) * np.sqrt(1 + 1 / 9)
    )  # the textbook's prediction interval
    np.testing.assert_allclose((ours.high - ours.low) / 2, half)
    np.testing.assert_allclose(ours.spread, a.std(axis=0, ddof=1))
    b = drawn((2, 1), seed=3)
    np.testing.assert_allclose(shift(a[:, :1], b).p, stats.ttest_ind(a[:, :1], b).pvalue)


def test_pairs_are_students_test_of_differences() -> None:
    a, b = drawn((6, 4)), drawn((6, 4), seed=2)
    ours, scipys = shift_of_pairs(a, b), stats.ttest_rel(b, a)
    np.testing.assert_allclose(ours.p, scipys.pvalue)
    np.testing.assert_allclose(ours.low, scipys.confidence_interval(0.95).low)


def test_what_launches_lack_is_left_out_and_too_few_say_nothing() -> None:
    a, b = drawn((5, 3)), drawn((4, 3), seed=2)
    a[0, 0] = np.nan
    a[1:, 1] = b[1:, 1] = np.nan
    a[:, 2] = np.nan
    ours = shift(a, b)
    np.testing.assert_allclose(ours.p[0], stats.ttest_ind(b[:, 0], a[1:, 0], equal_var=False).pvalue)
    assert (ours.count_a.tolist(), ours.count_b.tolist()) == ([4, 1, 0], [4, 1, 4])
    assert ours.difference[1] == b[0, 1] - a[0, 1]
    assert np.isnan([*ours.p[1:], *ours.low[1:], ours.spread[1], ours.difference[2]]).all()


def test_equal_and_rounded_figures_are_no_certainty() -> None:
    a, b = np.log(np.full((3, 1), 0.25)), np.log(np.full((3, 1), 0.26))  # microseconds as a log has them
    assert shift(a, a).p[0] == 1.0 and shift(a, b).p[0] < 1e-6
    assert shift(a, b, rounding=np.array([0.01 / 0.25 / np.sqrt(12)])).p[0] > 0.01


def test_holm_is_as_published() -> None:
    """Wright, Biometrics 48 (1992) 1005, table 1: the p-values as in R's p.adjust."""
    p = np.array([0.01, 0.04, 0.03, 0.005, np.nan])
    np.testing.assert_allclose(holm(p), [0.03, 0.06, 0.06, 0.02, np.nan])
    np.testing.assert_allclose(holm(np.array([0.6, 0.9])), [1.0, 1.0])


def family_by_permutation(
    found: Shift, a: NDArray[np.float64], b: NDArray[np.float64], level: float, *, pairs: bool = False
) -> Family:
    return Permutations(found, a, b, 0.0, middle_variance(a, b, pairs=pairs), pairs).family(level)


@pytest.mark.parametrize("pairs", [False, True])
def test_one_column_is_scipys_permutation_test(pairs: bool) -> None:
    a, b = drawn((6, 1)), drawn((6, 1), seed=2) + 0.15

    def statistic(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
        tested = stats.ttest_rel(x, y) if pairs else stats.ttest_ind(x, y, equal_var=False)
        return float(abs(tested.statistic))

    scipys = stats.permutation_test(
        (a[:, 0], b[:, 0]), statistic, permutation_type="samples" if pairs else "independent",
        alternative="greater", vectorized=False,
    )  # fmt: skip
    found = (shift_of_pairs if pairs else shift)(a, b)
    family = family_by_permutation(found, a, b, 0.05, pairs=pairs)
    assert family.q[0] == pytest.approx(scipys.pvalue)


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("common", [0.0, 0.95])
@pytest.mark.slow
def test_permutations_hold_their_level_for_all_columns_together(pairs: bool, common: float) -> None:
    """Rows that depend on each other, or do not; 10 % is the level so that few comparisons show it."""
    random = np.random.default_rng(5)
    false = []
    for _ in range(300):
        a, b = (
            np.sqrt(common) * random.normal(size=(7, 1)) + np.sqrt(1 - common) * random.normal(size=(7, 30))
            for _ in range(2)
        )
        found = (shift_of_pairs if pairs else shift)(a, b)
        family = family_by_permutation(found, a, b, 0.1, pairs=pairs)
        outside = np.abs(found.difference) > family.critical * found.error
        assert not (outside & (family.q > 0.1)).any() and outside.any() == (family.q <= 0.1).any()
        false.append(outside.any())
    assert 0.05 < np.mean(false) < 0.15


def test_permutations_do_not_depend_on_the_order_of_launches_or_sides() -> None:
    a, b = drawn((12, 5)), drawn((9, 5), seed=2) + 0.05  # so many that they are drawn at random
    a[3, 2] = np.nan
    random = np.random.default_rng(6)
    one = family_by_permutation(shift(a, b), a, b, 0.01)
    c, d = random.permutation(a), random.permutation(b)
    other = family_by_permutation(shift(d, c), d, c, 0.01)
    np.testing.assert_allclose(one.q, other.q)
    np.testing.assert_allclose(one.critical, other.critical)


def test_few_launches_permit_no_permutations() -> None:
    assert not permits(5, 5, 0.01, pairs=False) and permits(6, 6, 0.01, pairs=False)
    assert not permits(8, 8, 0.01, pairs=True) and permits(9, 9, 0.01, pairs=True)
    assert permits(30, 30, 0.01, pairs=False) and not permits(30, 30, 0.001, pairs=False)


def test_weights_of_holms_method_are_shares_of_the_level() -> None:
    p, weights = np.array([0.004, 0.004, 0.2, 0.5]), np.array([1.0, 1.0, 0.5, 1.5])
    np.testing.assert_allclose(holm(p, weights), [0.016, 0.016, 2 / 3, 2 / 3])


@pytest.mark.parametrize(("sizes", "noise"), [((10, 10), 5.0), ((5, 20), 5.0), ((10, 10), 1.0)])
def test_unequal_spreads_are_not_permuted(sizes: tuple[int, int], noise: float) -> None:
    random = np.random.default_rng(7)
    a, b = (random.normal(0, 0.01 * scale, (n, 20)) for n, scale in zip(sizes, (noise, 1.0), strict=True))
    assert unequal_spreads(a, b, np.zeros(20))[0].mean() == (1.0 if noise > 1 else 0.0)


@pytest.mark.parametrize(("spread", "change"), [(0.02, 0.05), (0.05, 0.05), (0.1, 0.5)])
def test_the_launches_that_are_said_to_be_needed_do(spread: float, change: float) -> None:
    level = 0.005
    n = int(launches_needed(spread, change, level))
    error, degrees = spread * np.sqrt(2 / n), 2 * n - 2
    critical = stats.t.ppf(1 - level / 2, degrees)
    power = stats.nct.sf(critical, degrees, change / error)
    assert power + 1e-5 >= 0.95 and (n <= 4 or power < 0.98)
    assert detectable_difference(spread, n, n, level) <= change * 1.01
    assert (
        np.isnan(launches_needed(float("nan"), change, level))
        and detectable_difference(spread, 1, 1, level) == np.inf
    )


@pytest.mark.parametrize("pairs", [False, True])
def test_what_is_detectable_is_found_as_often_as_promised(pairs: bool) -> None:
    for n in (3, 5, 10, 1000):
        degrees = n - 1 if pairs else 2 * n - 2
        away = detectable_difference(0.02, n, n, 0.005 / 16, 0.9, pairs=pairs) / (0.02 * np.sqrt(2 / n))
        assert stats.nct.sf(stats.t.isf(0.0025 / 16, degrees), degrees, away) == pytest.approx(0.9, abs=1e-4)


def test_level() -> None:
    mean, low, high = level_of([1.0, 2.0, 4.0])
    assert mean == pytest.approx(2.0)
    assert np.log([low, high]) == pytest.approx(stats.t.interval(0.95, 2, np.log(2), np.log(2) / np.sqrt(3)))
    assert np.isnan(level_of([3.0])[1])
    with pytest.raises(ValueError, match="no value"):
        level_of([0.0])


def test_percentiles_are_of_launches_that_have_a_figure() -> None:
    rows = np.array([[4.0, 1.0, 3.0, 2.0, 5.0], [np.nan, 7.0, np.nan, 9.0, np.nan], [np.nan] * 5])
    low, middle, high = percentiles(rows)
    assert low[:2] == pytest.approx([1.4, 7.2]) and middle[:2] == pytest.approx([3, 8])
    assert high[:2] == pytest.approx([4.6, 8.8]) and np.isnan([low[2], middle[2], high[2]]).all()
    assert percentiles(rows[0], (0, 25, 100)).tolist() == [1, 2, 5]


def test_sizes_and_durations_have_three_digits() -> None:
    sizes = [640, 1024, 66_993_520, 1023 * 2**20, 2**30, 2000 * 2**30]
    assert [rounded_size(one) for one in sizes] == [
        "640 bytes", "1 KiB", "63.9 MiB", "1,023 MiB", "1 GiB", "2,000 GiB"
    ]  # fmt: skip
    assert [duration(one) for one in (0.0005, 0.02, 1, 12.44, 1240)] == [
        "0.5 ms", "20 ms", "1 s", "12.4 s", "1,240 s"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("degrees", "level"), [(1, 1e-4), (1, 1e-6), (1, 1e-9), (2, 1e-8), (3, 1e-12), (9, 1e-12)]
)
def test_power_at_small_levels_is_that_of_simulation(degrees: int, level: float) -> None:
    """SciPy's own inverse does not return for the smallest ones."""
    found = noncentrality(degrees, level, 0.95)
    random = np.random.default_rng(1)
    spread = np.sqrt(random.chisquare(degrees, 100_000) / degrees)
    critical = stats.t.isf(level / 2, degrees)
    assert np.mean(random.normal(found, 1, 100_000) > critical * spread) == pytest.approx(0.95, abs=0.003)
