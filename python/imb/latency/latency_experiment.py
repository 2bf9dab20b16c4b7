"""`imb latency`: half of a round trip, median over launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from imb.experiments.launch_lines import problem_of
from imb.model.errors import ImbError
from imb.model.statuses import Status
from imb.model.units import NOT_KNOWN, count_of, decimal, known_width, percent_text
from imb.report.terminal import say
from imb.runner.experiment import ArchivedExperiment, NoSettings, SessionEnd, Shows
from imb.store.store import SHORT, Archive

if TYPE_CHECKING:
    from imb.model.intent import Intent
    from imb.model.observations import Launch
    from imb.model.records import Result

WIDE = 0.2  # relative half width of the interval above which a warning is printed


class Latencies(NamedTuple):
    """Results of the launches. `rows`: rows of the requested `length` in bytes; `failed`: why launches have
    no result."""

    length: int
    rows: list[Result]
    launches: list[Launch]
    failed: list[str]


class LatencyExperiment(ArchivedExperiment[NoSettings, Latencies]):
    """Sessions of `imb latency`."""

    shows = Shows(measured=False)

    def judge(self, executed: SessionEnd) -> Latencies:
        from imb.store.names import launches_in

        plan, ends = executed.plan, executed.over
        launches = [launch for ended in ends for launch in launches_in(self.archive, ended.run)]
        arguments = plan.items[0].arguments
        length = int(arguments[arguments.index("-msgsize") + 1])
        rows = [row for launch in launches for row in launch.rows.values()]
        measured = [row for row in rows if row.bytes == length and row.time_max_seconds]
        failed = [
            f"{ended.run[:SHORT]}: {problem}"
            for ended in ends
            if (problem := problem_of(self.archive, plan, ended))
        ]
        if not measured:
            raise ImbError(
                f"no launch has results; {failed[0] if failed else 'no row was measured'};"
                f" see `imb show {ends[0].run[:SHORT]}`",
                status=Status.FAILED,
            )
        return Latencies(length, measured, launches, failed)

    def render(self, result: Latencies, executed: SessionEnd) -> int:
        plan, variant = executed.plan, executed.plan.variants[0]
        say(
            f"{_summary(result.rows)}; {count_of(result.length, 'byte')}, {_endpoints(variant.intent)},"
            f" {variant.mpi.version}"
        )
        _warn(self.archive, result.rows, result.launches)
        if len(result.rows) < len(plan.items):
            reason = result.failed[0] if result.failed else "`imb ls` shows them"
            say(
                f"imb: {len(plan.items) - len(result.rows)} of {count_of(len(plan.items), 'launch')} failed; {reason}",
                err=True,
            )
            return Status.FAILED
        return Status.GOOD


def _warn(archive: Archive, rows: Sequence[Result], launches: Sequence[Launch]) -> None:
    """Print a warning on standard error if the latency was disturbed."""
    from imb.compare.dominant_state import launches_outside_dominant_state, sentences_of
    from imb.experiments.peers import comparable_launches

    disturbances = sentences_of(
        launches_outside_dominant_state(launches, comparable_launches(archive, launches))
    )
    if (half_width := _half_width(rows)) is not None and half_width > WIDE:
        disturbances.append(f"the interval is wider than ±{percent_text(WIDE, 0)}")
    if disturbances:
        say(f"imb: warning: {'; '.join(disturbances)}; repeat on an idle machine", err=True)


def _endpoints(intent: Intent) -> str:
    cpus, hosts = ",".join(map(str, intent.cpus)), ",".join(intent.hosts)
    return f"CPUs {cpus}" if cpus else f"hosts {hosts}" if hosts else "this host"


def _summary(rows: Sequence[Result]) -> str:
    """The median and quantiles of the latency in microseconds."""
    import numpy as np

    from imb.stats.medians import percentiles

    times = np.array([(row.time_max_seconds or 0) * 1e6 for row in rows])
    half_width = _half_width(rows)
    width = (
        f"±{percent_text(half_width, 0 if half_width >= 0.1 else 1)}"
        if known_width(half_width)
        else f"± {NOT_KNOWN}"
    )
    one_way = "one way" if half_width is None else f"one way {width}"
    if len(times) == 1:
        return f"{decimal(times[0])} µs {one_way} (1 launch)"
    least, low, middle, high, most = map(decimal, percentiles(times, (0, 25, 50, 75, 100)))
    return f"{middle} µs {one_way} (min {least}, p25 {low}, p75 {high}, max {most} of {len(times)} launches)"


def _half_width(rows: Sequence[Result]) -> float | None:
    """Half of the 95 % interval, relative: over launches, or over the samples of a single launch. None if
    launches are classic or it is unknown."""
    from imb.stats.shift import level_of

    if any(row.passes is None for row in rows):
        return None
    if len(rows) == 1:
        return rows[0].half_width
    mean, _, high = level_of([row.time_max_seconds or 0 for row in rows])
    return high / mean - 1
