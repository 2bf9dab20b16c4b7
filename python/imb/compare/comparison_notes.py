"""Notes on a comparison: wrong data, failed launches, rows that were not judged, outliers, and the power of
so few launches. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from imb.compare import condition_diff
from imb.compare.dominant_state import launches_outside_dominant_state, sentences_of
from imb.compare.log_speeds import NO_MESSAGE, levels_of_launches
from imb.compare.pairing import share_launches
from imb.model.facts import fact
from imb.model.observations import Key, Launch, Side, are_interleaved
from imb.model.outcomes import WRONG_DATA, incomplete_reason, longer_budget, only_rows_missing
from imb.model.text import natural_key
from imb.model.units import abridge, count_of, duration, percent_text, us
from imb.stats.arrays import Values
from imb.stats.medians import median, robust_deviation
from imb.stats.shift import FEWEST

if TYPE_CHECKING:
    from imb.compare.comparison import Comparison
    from imb.compare.log_speeds import Logs

LONG_ENOUGH = 0.02  # seconds that an interleaved row should last
USELESS = 1.0  # a slowdown; a larger one is visible without statistics
MOST = 200  # launches per side; if more are needed, the machine is too noisy
ENOUGH = 5  # launches per side; with fewer, a note on their power is always printed
SEEN = 4  # rows and conditions that a note names
_AS_ROWS = "are judged as rows, not in a band"
_TIMES = {"time_avg": "t_avg", "time_overlapped": "t_ovrl", "time_by_rate": "size / bandwidth"}


def caveats(
    a: Side,
    b: Side,
    comparison: Comparison,
    both: Logs,
    conditions: tuple[condition_diff.ConditionValues, condition_diff.ConditionValues],
    earlier: Sequence[Launch] = (),
) -> Iterator[str]:
    """Yield notes, the most important first. `comparison`, `both` and the `conditions` of both sides come
    from `imb.compare.comparison`."""
    if not share_launches(a, b) and (shared := _count_shared_launches(a, b)):
        yield (
            f"the same runs on both sides: {count_of(shared, 'launch')} in both {a.letter} and {b.letter}: this hides"
            " differences; remove them from one"
        )
    if same_path := condition_diff.common_path(*conditions, comparison.conditions):
        yield same_path
    yield from _crowding(a, b)
    for side in (a, b):
        yield from _side_notes(side.letter, side)
    yield from _repeats(a, b)
    yield from _states(a, b, earlier)
    yield from _one_sided_failures(a, b)
    for side, keys in ((a, comparison.only_a), (b, comparison.only_b)):
        if keys:
            yield f"only {side.letter} has {_row_names(keys)}; not judged"
    if both.unmeasured:
        yield (
            f"{_row_names(both.unmeasured)} without a {comparison.settings.metric.replace('_', ' ')} above 0 on both sides;"
            " not judged"
        )
    for metric, others in both.by_other.items():
        yield (
            f"{_row_names(others)} judged by {_TIMES[metric]}: {a.letter} or {b.letter} lacks the completion time (t_max)"
        )
    if fast := sorted((key for key in both.alone if key.bytes), key=_sort_key):
        yield f"rows below {us(NO_MESSAGE)} {_AS_ROWS}: no operation was timed: {_row_names(fast)}"
    placed = sum(band.rows for band in comparison.bands) + len(both.alone)
    plain = sum(row.quantile is None for row in comparison.rows)
    if placed < plain:
        yield f"{count_of(plain - placed, 'row')} outside all size bands; see --bands"
    for lacking, side in zip(condition_diff.unknown_conditions(*conditions), (a, b), strict=True):
        if lacking and any(launch.rows for launch in side.launches):
            if len(lacking) > SEEN and all(map(_is_log, side.launches)):
                yield f"{side.letter} is a log, which lacks most conditions"
            else:
                yield f"unknown for {side.letter} only: {', '.join(lacking)}"
    for side, logs in ((a, both.a), (b, both.b)):
        yield from _outliers(side.letter, side, logs)
    yield from _power(comparison, _remedy(a, b))
    yield from _interleaving(a, b, comparison)


def _crowding(a: Side, b: Side) -> Iterator[str]:
    """Yield a note if ranks share cores: their times then show mostly how the MPI waits."""
    worst = {
        side.letter: max(filter(None, (launch.crowding() for launch in side.launches)), default=None)
        for side in (a, b)
    }
    letters = [letter for letter, crowding in worst.items() if crowding]
    if letters:
        ranks, cores = max(filter(None, worst.values()))
        yield (
            f"{' and '.join(letters)}: {ranks} ranks on {count_of(cores, 'core')}: ranks share cores, and times mostly show"
            f" how ranks wait for each other; give at most {count_of(cores, 'rank')} per host"
        )


def _count_shared_launches(a: Side, b: Side) -> int:
    """Number of launches of B that are also in A, by content."""
    contents = {launch.content for launch in a.launches} - {""}
    return sum(launch.content in contents for launch in b.launches)


def _side_notes(name: str, side: Side) -> Iterator[str]:
    if side.copies:
        have = "has" if side.copies == 1 else "have"
        yield f"{name}: {count_of(side.copies, 'launch')} {have} the same content as others of {name}: each is counted once"
    wrong = [key for launch in side.launches for key, row in launch.rows.items() if row.defects]
    if wrong:
        yield f"{name}: {WRONG_DATA} in {_row_names(dict.fromkeys(wrong))}; do not use this side"
    ends = Counter(filter(None, map(_end_phrase, side.launches)))
    for how, count in ends.items():
        ended = how if count == 1 else re.sub("^was ", "were ", how)
        yield f"{name}: {count_of(count, 'launch')} {ended}; rows measured until then are included"
    if lacking := _missing_rows(side):
        yield f"{name}: missing in some launches: {_row_names(lacking)}"


def _states(a: Side, b: Side, earlier: Sequence[Launch]) -> Iterator[str]:
    """Yield notes on launches outside the dominant state of their machine. Launches of both sides define that
    state together."""
    outside = launches_outside_dominant_state([*a.launches, *b.launches], earlier)
    for side in (a, b):
        names = {launch.name for launch in side.launches}
        for sentence in sentences_of([each for each in outside if each.launch in names]):
            yield f"{side.letter}: {sentence}; included: repeat these launches or exclude them"


def remarks(both: Logs) -> Iterator[str]:
    """Yield facts that explain the bands; they ask the reader for no action."""
    if empty := sorted((key for key in both.alone if key.bytes == 0), key=_sort_key):
        yield f"0-byte rows {_AS_ROWS}: {_row_names(empty)}"


def _repeats(a: Side, b: Side) -> Iterator[str]:
    """Yield a note on launches that were repeated and whose repeats are judged."""
    counts = [f"{len(side.replaced)} of {side.letter}" for side in (a, b) if side.replaced]
    if counts:
        every = len(a.replaced) + len(b.replaced)
        beside = ", or one that ran beside them," if are_interleaved(a, b) else ""
        yield (
            f"{count_of(every, 'launch')} outside the dominant state{beside} {'was' if every == 1 else 'were'} repeated, by the state probe"
            f" alone ({', '.join(counts)}); the repeats are judged, both are kept"
        )


def _missing_rows(side: Side) -> list[Key]:
    """Rows that are missing in a launch which has other rows of the same curve. A launch without any row of
    the curve may have run other benchmarks."""
    curves: dict[Key, dict[Key, int]] = {}
    launches: Counter[Key] = Counter()
    for launch in side.launches:
        for key in launch.rows:
            rows = curves.setdefault(key.curve(), {})
            rows[key] = rows.get(key, 0) + 1
        launches.update({key.curve() for key in launch.rows})
    return [key for curve, rows in curves.items() for key, count in rows.items() if count < launches[curve]]


def _is_log(launch: Launch) -> bool:
    """Whether the launch was read from text, not from records."""
    return launch.run.ranks is None and not launch.run.has_all_options


def _end_phrase(launch: Launch) -> str | None:
    outcome = launch.facts.get("outcome")
    if launch.is_cut_off:
        return "was cut off"
    if launch.end is not None and launch.end.state != "complete":
        return f"was {launch.end.state}"
    causes = {failure.cause for failure in launch.failures.values()}
    status, problem = fact(int, launch.facts, "exit_status"), fact(str, launch.facts, "problem")
    if outcome == "failed" and causes == {"over_budget"} and only_rows_missing(status):
        return f"did not reach all rows within the budget of a launch: {longer_budget(None)}"
    if not isinstance(outcome, str) or outcome == "measured":
        return None
    return f"incomplete: {incomplete_reason(outcome, status, problem)}"


def _one_sided_failures(a: Side, b: Side) -> Iterator[str]:
    failed = [
        {key: failure for launch in side.launches for key, failure in launch.failures.items()}
        for side in (a, b)
    ]
    for name, ours, others in ((a.letter, failed[0], failed[1]), (b.letter, failed[1], failed[0])):
        if alone := [key for key in ours if key not in others]:
            causes = dict.fromkeys(ours[key].cause_text for key in alone)
            yield f"only {name} has failures: {_row_names(alone)}: {', '.join(causes)}"


def _outliers(name: str, side: Side, logs: Values) -> Iterator[str]:
    """Yield notes on launches that are slow in most rows: by more than a quarter, and by more than five times
    the spread of launches."""
    if len(side.launches) < 4:
        return
    level = np.nan_to_num(levels_of_launches(logs))
    spread = robust_deviation(level - np.median(level))
    slower_by = np.median(level) - level
    for number in np.flatnonzero(slower_by > max(np.log(1.25), 5 * spread)):
        yield (
            f"{name}: launch {side.launches[int(number)].name} was {np.exp(slower_by[number]):.1f} times as slow as the others;"
            " check for other load"
        )


def _remedy(a: Side, b: Side) -> str:
    """What to do if launches differ too much."""
    if share_launches(a, b):
        return "take more passes (a larger --launch-budget) or launches"
    return "take more segments or launches" if are_interleaved(a, b) else "interleave with --segments"


def _power(comparison: Comparison, remedy: str) -> Iterator[str]:
    effects = [each.effect for each in comparison.bands or comparison.rows]
    of_a, of_b = (
        sorted(counts)[len(effects) // 2]
        for counts in zip(*((effect.launches_a, effect.launches_b) for effect in effects), strict=True)
    )
    few = min(of_a, of_b)
    hidden = comparison.detectable is None or comparison.detectable > USELESS
    change = (
        f"above {percent_text(USELESS, 0)}" if hidden else f"{percent_text(comparison.detectable or 0, 0)}"
    )
    if comparison.inconclusive or comparison.unit == "session":
        if few < FEWEST and comparison.unit == "launch":
            yield f"{of_a} against {count_of(of_b, 'launch')}: also too few within a session; take {ENOUGH} per side or more"
        if not comparison.inconclusive and comparison.verdict == "inconclusive":
            sides = f"{comparison.sessions_a} against {count_of(comparison.sessions_b or 0, 'session')}"
            yield f"{sides}: minimum detectable change {change} (power 95 %, uniform change, median band)"
        return  # more launches would not show how far sessions differ
    if few >= ENOUGH and comparison.verdict != "inconclusive":
        return
    sides = f"{of_a} against {count_of(of_b, 'launch')}"
    if comparison.needed is None:
        yield f"{sides}: too few to estimate the spread of launches; take {ENOUGH} per side or more"
        return
    if hidden and comparison.needed > MOST:
        found = (
            "too noisy to judge"
            if comparison.verdict == "inconclusive"
            else "only large differences can be found"
        )
        yield f"{sides}: {found}; rerun on an idle machine, or {remedy}"
        return
    needed = (
        f"{comparison.needed:,} launches per side"
        if comparison.needed and comparison.needed > few
        else "these"
    )
    yield (
        f"{sides}: minimum detectable change {change} (power 95 %, uniform change, median band);"
        f" for {percent_text(comparison.settings.relevant)} take {needed}"
    )
    if few < FEWEST:
        yield (
            f"fewer than {FEWEST} launches on a side: verdicts are same or inconclusive only; the smaller side is assumed to"
            " spread like the other"
        )


def _interleaving(a: Side, b: Side, comparison: Comparison) -> Iterator[str]:
    """Yield a note if rows were too short to interleave, or if interleaved launches would detect smaller
    changes."""
    most = max(comparison.launches_a, comparison.launches_b)
    if are_interleaved(a, b):
        rows = [row for side in (a, b) for launch in side.launches for row in launch.rows.values()]
        single = [row for row in rows if row.passes is None]
        seconds = [(row.repetitions or 0) * (row.time_avg_seconds or 0) for row in single]
        if single and median(np.array(seconds), 0.0) < LONG_ENOUGH:
            yield (
                f"half of the rows are shorter than {duration(LONG_ENOUGH)}, too short to interleave: each segment starts"
                " with cold caches; use -- -time 0.2 -iter 1000000,100000"
            )
    elif comparison.pairs and not share_launches(a, b) and comparison.needed and comparison.needed > most:
        yield (
            "launches differ much: interleaved launches detect smaller changes:"
            " imb ab --segments 100, or segments = 100 in the campaign file"
        )


def _sort_key(key: Key) -> tuple[tuple[int, int, str], ...]:
    return natural_key(str(key))


def _row_names(keys: Iterable[Key]) -> str:
    names = list(map(str, keys))
    return f"{count_of(len(names), 'row')} ({abridge(names, SEEN, '; ')})"
