"""Time over message size: the latency-bandwidth model with its error, and the straight segments of a curve.

The model is Hockney's, t(n) = latency + n * per_byte (R. W. Hockney, Parallel Computing 20, 1994). Residuals
are relative to the time, so that a microsecond at 4 MB does not outweigh all short messages.
"""

from __future__ import annotations

import warnings

import msgspec
import numpy as np
import numpy.typing as npt

from imb.model.units import megabytes, size
from imb.stats.arrays import Indices, Values
from imb.stats.medians import TO_DEVIATION, percentiles

_AT_ENDS = float(np.log(1.25))  # largest misfit of latency and bandwidth, at the ends of a curve
_ANYWHERE = float(np.log(2.0))  # largest misfit at other sizes
_PLACES = 500  # most points at which a segment may begin; a curve with more points uses only some of them
_LEAST = 3  # points that a segment needs to be distinguished from its neighbor


class CurveFit(msgspec.Struct, frozen=True, kw_only=True):
    """Latency in seconds and seconds per byte, each with its confidence interval. `deviation`: root mean
    square of the relative residuals; `worst`: the largest of them (measured / model - 1), at size
    `worst_bytes`."""

    latency: float
    latency_low: float
    latency_high: float
    per_byte: float
    per_byte_low: float
    per_byte_high: float
    deviation: float
    worst: float
    worst_bytes: int
    points: int

    @property
    def bandwidth(self) -> float | None:
        """Bytes per second that long messages approach, or None if time does not grow with size."""
        return 1 / self.per_byte if self.per_byte > 0 else None

    def time(self, lengths: Values | float) -> Values:
        """Seconds that the model predicts for sizes in bytes."""
        return np.asarray(self.latency + np.asarray(lengths) * self.per_byte)


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """A straight line through the points `first` to `last` (indices, both included)."""

    first: int
    last: int
    latency: float
    per_byte: float


def fit(lengths: Values, times: Values, confidence: float = 0.95) -> CurveFit | None:
    """Fit the model by weighted least squares (scipy.optimize.curve_fit). None for fewer than four points, or
    if the points do not determine latency and slope.

    `lengths` (bytes) and `times` (seconds, positive) have shape (n,). Intervals are Student's with n - 2
    degrees of freedom, from the covariance of the residuals. They are too narrow if the model is wrong (see
    `deviation`).
    """
    from scipy.optimize import OptimizeWarning, curve_fit
    from scipy.special import (
        stdtrit,
    )  # importing scipy.stats would take longer than the rest of this function

    if len(lengths) < _LEAST + 1 or not lengths.max() > 0:
        return None
    x, y = lengths / lengths.max(), times / np.median(times)  # near 1, to avoid rounding errors
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizeWarning)
        (latency, slope), covariance = curve_fit(
            lambda n, a, b: a + b * n, x, y, p0=(y.min(), max(y[-1] - y.min(), 1e-3)), sigma=y
        )
    if not np.isfinite(covariance).all():
        return None  # equal times, for example because few digits were printed
    width = stdtrit(len(x) - 2, 0.5 + confidence / 2) * np.sqrt(np.diag(covariance))
    seconds, per_byte = float(np.median(times)), float(np.median(times) / lengths.max())
    residuals = y / (latency + slope * x) - 1
    at = int(np.argmax(np.abs(residuals)))
    return CurveFit(
        latency=float(latency) * seconds,
        latency_low=float(latency - width[0]) * seconds,
        latency_high=float(latency + width[0]) * seconds,
        per_byte=float(slope) * per_byte,
        per_byte_low=float(slope - width[1]) * per_byte,
        per_byte_high=float(slope + width[1]) * per_byte,
        deviation=float(np.sqrt(np.mean(residuals**2))),
        worst=float(residuals[at]),
        worst_bytes=int(lengths[at]),
        points=len(x),
    )


def misfit(lengths: Values, times: Values, model: CurveFit) -> str | None:
    """Why the model contradicts the points that it was fitted to, or None if it does not."""
    if model.latency <= 0:
        return "latency would be negative"
    if model.time(lengths).min() <= 0:
        return "times would be negative"
    residuals = times / model.time(lengths)
    if abs(float(np.log(residuals[0]))) > _AT_ENDS:
        return f"{size(lengths[0])}: {residuals[0]:.2g} times the model"
    best, modeled = float((lengths / times).max()), float((lengths / model.time(lengths)).max())
    if model.per_byte > 0 and abs(float(np.log(modeled / best))) > _AT_ENDS:
        return f"best bandwidth {megabytes(best)}, model {megabytes(modeled)}"
    at = int(np.argmax(np.abs(np.log(residuals))))
    if abs(float(np.log(residuals[at]))) > _ANYWHERE:
        return f"{size(lengths[at])}: {residuals[at]:.2g} times the model"
    return None


def is_beyond(lengths: Values, times: Values, model: CurveFit) -> bool:
    """Whether the bandwidth is extrapolated: higher than the bandwidth of any point, because messages are too
    short to reach it."""
    best = float((lengths / times).max())
    return model.bandwidth is not None and float(np.log(model.bandwidth / best)) > _AT_ENDS


def segments(lengths: Values, times: Values, floor: float = 0.01, penalty: float = 15.0) -> list[Segment]:
    """The straight lines that form the curve, each of three points or more; empty if there are too few points
    for two lines.

    Dynamic programming tries all cuts. A cut must lower the sum of squared relative residuals, in units of
    the curve's own noise, by 3 ln n (Schwarz' criterion: an intercept, a slope and a place) + `penalty`.
    Protocol changes are found at breaks of least squares as in Hoefler, Lichei and Rehm, "Low-overhead LogGP
    parameter assessment", IPDPS 2007. `floor`: the least relative noise to assume.
    """
    n = len(lengths)
    if n < 2 * _LEAST:
        return []
    noise = max(floor, _noise(lengths, times))
    price = 3 * np.log(n) + penalty
    lines = _Lines(lengths, times)
    # A line may begin or end between any two points; with more than _PLACES points, only at that many places. Every
    # point counts in the fit.
    places = np.unique(np.linspace(0, n, min(n, _PLACES) + 1).astype(np.int64))
    cost = np.full(len(places), np.inf)  # least cost of the points before each place
    begins = np.zeros(len(places), np.int64)  # index of the place where their last line begins
    cost[0] = 0.0
    for at, end in enumerate(places):
        before = int(np.searchsorted(places, end - _LEAST, side="right"))
        if before:
            ways = cost[:before] + lines.squares(places[:before], int(end) - 1) / noise**2 + price
            begins[at] = np.argmin(np.where(np.isnan(ways), np.inf, ways))
            cost[at] = ways[begins[at]]
    chosen: list[Segment] = []
    at = len(places) - 1
    while at > 0:
        begin = int(begins[at])
        chosen.append(lines.line(int(places[begin]), int(places[at]) - 1))
        at = begin
    return chosen[::-1]


class _Lines:
    """Weighted least squares (weights 1 / time) through the points i to j, for any i < j, from running sums.

    Sizes grow, so the subtracted sums have smaller terms: little precision is lost, and `longdouble` covers
    it.
    """

    def __init__(self, lengths: Values, times: Values) -> None:
        self.scale, self.unit = float(lengths.max()) or 1.0, float(np.median(times))
        x, y = (lengths / self.scale).astype(np.longdouble), (times / self.unit).astype(np.longdouble)
        w = 1 / y**2
        terms = np.stack([w, w * x, w * x * x, 1 / y, x / y])
        self.sums = np.concatenate([np.zeros((5, 1)), np.cumsum(terms, axis=1)], axis=1)

    def _fits(self, first: Indices, last: int) -> tuple[npt.NDArray[np.longdouble], ...]:
        """Intercept, slope and sum of squared relative residuals of the lines from each point in `first` to
        the point `last`."""
        s_w, s_x, s_xx, s_y, s_xy = self.sums[:, last + 1, None] - self.sums[:, first]
        with np.errstate(divide="ignore", invalid="ignore"):
            determinant = s_w * s_xx - s_x**2
            intercept = (s_xx * s_y - s_x * s_xy) / determinant
            slope = (s_w * s_xy - s_x * s_y) / determinant
            points = last + 1 - first
            return intercept, slope, np.maximum(points - intercept * s_y - slope * s_xy, 0)

    def squares(self, first: Indices, last: int) -> Values:
        """Sums of squared relative residuals of the lines from each point in `first` to the point `last`."""
        return self._fits(first, last)[2].astype(np.float64)

    def line(self, first: int, last: int) -> Segment:
        """The line through these points, in seconds and bytes."""
        intercept, slope, _ = self._fits(np.array([first]), last)
        return Segment(
            first=first,
            last=last,
            latency=float(intercept[0]) * self.unit,
            per_byte=float(slope[0]) * self.unit / self.scale,
        )


def _noise(lengths: Values, times: Values) -> float:
    """Relative standard deviation of one point, from the distances of points to the line between their
    neighbors. The estimate is robust, so that a few kinks do not count as noise."""
    before, middle, after = lengths[:-2], lengths[1:-1], lengths[2:]
    w = (middle - before) / (after - before)
    expected = (1 - w) * times[:-2] + w * times[2:]
    factor = np.sqrt(1 + ((1 - w) * times[:-2] / expected) ** 2 + (w * times[2:] / expected) ** 2)
    (distance,) = percentiles(np.abs(times[1:-1] / expected - 1) / factor, (60,))
    return float(TO_DEVIATION * distance)
