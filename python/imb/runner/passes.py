"""Chooses the suite's options for how rows are measured: in passes to a precision, or classic if requested (docs/methodology.md)."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence
from pathlib import Path

import msgspec

from imb.model.catalog import default_benchmarks, suite_benchmarks
from imb.model.errors import ImbError
from imb.model.records import Component
from imb.model.suite_arguments import NOT_IN_PASSES, NOTHING_MEASURED, PASSES, options_of, values_of
from imb.model.units import parse_percent

PRECISION = 0.02  # default half width of each row's 95 % interval, as a share
LEAST_BUDGET = 2.0  # seconds of a launch. Short, so that the first table comes soon; several launches tell more than a long one
ROW_BUDGET = {"IO": 1.0}  # seconds that a row adds; each sample of IMB-IO creates its files again
USUAL_ROW_BUDGET = 0.1
SHORTEST_BUDGET, LONGEST_BUDGET = 0.1, 1e7  # seconds: limits of the suite's -budget
MOST_SEGMENTS = 1000  # limit of the suite's -turns
SAMPLE = 10.0  # default of -time: most seconds of a classic row
LONG_SAMPLE = 360.0  # seconds that a row with -time 0, which has no limit, is assumed to take
LIMIT_LEAST, LIMIT_TIMES = (
    60.0,
    10.0,
)  # a time limit is this many seconds plus this many times the duration that the arguments request
STALL_LEAST = 600.0  # least seconds without a record after which a launch counts as hanging; hosts may need minutes to start MPI
START = 2.0  # seconds, approximate, for MPI to start and end
SUITE_BUDGET = 60.0  # the suite's default of -budget if -precision is given: src/model/options.h
USUAL_LENGTHS = 24  # number of message sizes of a benchmark: 0, and 2^0 to 2^22


def precision_share(text: str) -> float:
    """0.02 for `2%` or `2`. Raises ImbError if the suite would refuse the precision."""
    share = parse_percent(text)
    if share is None or not 1e-5 <= share <= 1:
        raise ImbError(f"not a percentage from 0.001 to 100: {text}; give one such as 2%")
    return share


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How rows are measured: each in one burst, as in IMB's guide (`classic`), or in passes until each row is within `precision` (a share), for
    at most `budget` seconds per launch. None selects the defaults, `PRECISION` and `usual_budget`."""

    classic: bool = False
    precision: float | None = None
    budget: float | None = None

    def limit_names(self) -> list[str]:
        """Names of the limits that are set."""
        return [name for name in ("precision", "budget") if getattr(self, name) is not None]


def sampling_arguments(
    sampling: Sampling,
    component: Component,
    names: Sequence[str],
    arguments: Sequence[str],
    ranks: int,
    *,
    timeout: float | None = None,
    parts: int = 1,
) -> list[str]:
    """The suite's options in addition to `arguments`, the user's. If `parts` is above 1, launches are interleaved and each takes `parts`
    samples of a row. Raises ImbError if options contradict each other."""
    options = options_of(arguments)
    sampling_options = [f"-{name}" for name in PASSES if name in options]
    if sampling.classic and (sampling.limit_names() or sampling_options):
        contradicted = [*sampling.limit_names(), *sampling_options][0]
        raise ImbError(
            f"classic and {contradicted} cannot be combined; classic measures each row in one burst"
        )
    if sampling.limit_names() and sampling_options:
        raise ImbError(
            f"{sampling.limit_names()[0]} and {sampling_options[0]} (IMB argument) cannot be combined; give one of them"
        )
    if sampling.limit_names() and (reason := classic_reason(arguments)):
        raise ImbError(f"{sampling.limit_names()[0]} and {reason} of the IMB arguments cannot be combined")
    if (
        sampling.classic
        or sampling_options
        or classic_reason(arguments)
        or options.keys() & {*NOTHING_MEASURED}
    ):
        return []
    usual = usual_budget(component, rows_of(component, names, arguments, ranks))
    limit = ["-budget", f"{budget_within(timeout, sampling.budget, usual):.6g}"]
    if parts > 1:
        # If a row ended at different times in the launches, they would not meet the same state of the machine.
        precise = [] if sampling.precision is None else ["-precision", f"{sampling.precision * 100:.6g}"]
        # Samples may be as long as the budget permits: the default, 1000 repetitions of a short message, is shorter than a change of turns.
        longer = [] if options.keys() & {"iter", "iter_policy", "repeat", "set"} else ["-iter", "1000000"]
        return [*longer, "-passes", str(parts), *precise, *limit]
    return ["-precision", f"{(sampling.precision or PRECISION) * 100:.6g}", *limit]


def budget_within(timeout: float | None, budget: float | None, usual: float) -> float:
    """The budget of a launch with this time limit: `budget`, or if that is None, `usual` or most of the time limit. In seconds. Raises ImbError
    if the time limit would end the launch first."""
    if budget is None:
        return usual if timeout is None else min(usual, 0.75 * timeout)
    if timeout is not None and budget >= timeout:
        raise ImbError(f"a budget of {budget:g} s needs a timeout above it, not {timeout:g} s")
    return budget


def classic_reason(arguments: Sequence[str]) -> str | None:
    """The first of IMB's arguments that cannot be combined with passes, or None."""
    options = options_of(arguments)
    return next((f"-{name}" for name in NOT_IN_PASSES if name in options), None)


def usual_budget(component: Component, rows: int) -> float:
    """The default budget in seconds of a launch with this many rows."""
    return max(LEAST_BUDGET, ROW_BUDGET.get(component, USUAL_ROW_BUDGET) * rows)


def most_seconds(arguments: Sequence[str]) -> float | None:
    """The most seconds that a launch with these IMB arguments takes, including its start, or None if they set no limit."""
    if (budget := budget_of(arguments)) is not None:
        return budget + START
    options = options_of(arguments)
    return (
        SUITE_BUDGET + START if "precision" in options and not options.keys() & {"passes", "budget"} else None
    )


def time_limit(component: Component, arguments: Sequence[str], ranks: int, at_once: int) -> float | None:
    """Seconds after which a launch with these IMB arguments counts as hanging, if `at_once` launches are interleaved: many times the duration
    that the arguments request. None if they set no limit, as -time 0 does."""
    seconds = most_seconds(arguments)
    if seconds is None:
        names = list(itertools.takewhile(lambda word: not word.startswith("-"), arguments))
        with contextlib.suppress(ValueError):
            seconds = float(options_of(arguments).get("time", SAMPLE)) * rows_of(
                component, names, arguments, ranks
            )
    return LIMIT_LEAST + LIMIT_TIMES * at_once * seconds if seconds else None


def stall_limit(arguments: Sequence[str], at_once: int) -> float:
    """Seconds without a record after which a launch with these IMB arguments counts as hanging, if `at_once` launches are interleaved. It
    applies to launches without --timeout: a launch that keeps writing rows is never killed."""
    seconds = SAMPLE
    with contextlib.suppress(ValueError):
        seconds = float(options_of(arguments).get("time", SAMPLE))
    return max(STALL_LEAST, LIMIT_TIMES * at_once * (seconds if seconds > 0 else LONG_SAMPLE))


def budget_of(arguments: Sequence[str]) -> float | None:
    """Seconds of passes that these IMB arguments request, or None if they set no limit."""
    with contextlib.suppress(KeyError, ValueError):
        return float(options_of(arguments)["budget"])
    return None


def rows_of(component: Component, names: Sequence[str], arguments: Sequence[str], ranks: int) -> int:
    """The approximate number of rows of a launch, over benchmarks, message sizes, process counts, transfer modes and variants."""
    options = options_of(arguments)
    lengths = _lengths(component, arguments)
    modes = (
        2 if component in ("EXT", "RMA", "IO") and options.get("aggregate_mode", "multi") == "multi" else 1
    )
    rows = 0
    for name in names or default_benchmarks(component):
        facts = suite_benchmarks().get(name.removeprefix("Multi-"), {}).get(component)
        kind = facts.kind if facts else None
        counts = 1 if kind == "single_transfer" else _counts(component, options, ranks)
        rows += counts * modes * (1 if kind == "synchronisation" else lengths)
    return rows * _variants(options)


def _variants(options: dict[str, str]) -> int:
    """The number of variants of each row with -alternate, at least 1."""
    with contextlib.suppress(OSError):
        return max(len(_entries(options["alternate"])), 1) if "alternate" in options else 1
    return 1


def _entries(path: str) -> list[str]:
    """The entries of a file that has one entry per line, without comments."""
    lines = (line.partition("#")[0].strip() for line in Path(path).read_text().splitlines())
    return [line for line in lines if line]


def _lengths(component: Component, arguments: Sequence[str]) -> int:
    """The number of message sizes of each benchmark."""
    usual = {"IO": 26, "MT": 4}.get(component, USUAL_LENGTHS)
    options = options_of(arguments)
    with contextlib.suppress(ValueError, OSError):
        for listed in ("msgsize", "count"):
            if listed in options:
                return options[listed].count(",") + 1
        if single := values_of(arguments, "msgsz"):
            return sum(sizes.count(",") + 1 for sizes in single)
        if "msglen" in options:
            return max(len(_entries(options["msglen"])), 1)
        if "msglog" in options:
            least, colon, most = options["msglog"].rpartition(":")
            return max(lengths_of_powers(int(least) if colon else 0, int(most)), 1)
    return usual


def lengths_of_powers(least: int, most: int) -> int:
    """The number of message sizes with -msglog: 0, and 2^`least` to 2^`most`."""
    return most - least + 2


def _counts(component: Component, options: dict[str, str], ranks: int) -> int:
    """The number of process counts of each benchmark: N, 2N, 4N, … and all ranks."""
    least = {"IO": 1, "P2P": ranks, "MT": ranks}.get(component, 2)
    with contextlib.suppress(ValueError):
        least = max(int(options.get("npmin", least)), 1)
    return process_counts(least, ranks)


def process_counts(least: int, ranks: int) -> int:
    """The number of process counts of a benchmark: `least`, twice as many and so on, and all ranks."""
    counts = 1
    while least < ranks:
        least *= 2
        counts += 1
    return counts
