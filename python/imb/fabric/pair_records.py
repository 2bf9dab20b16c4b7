"""Pairs of IMB-FABRIC as columns: as objects, millions of records would need gigabytes.

Pieces of a file are decoded at once. A piece with a line that is no pair is read line by line to find the
problems.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt

from imb.model.errors import UNDECODABLE, ImbError
from imb.model.records import (
    PAIR,
    RUN,
    SCHEMA,
    End,
    Failure,
    Pair,
    Problem,
    Run,
    decode,
    pieces,
    schema_problem,
)
from imb.model.units import count_of
from imb.stats.arrays import Indices, Mask, Numbers, Values

_NEXT = b"\n" + PAIR
_OTHER = re.compile(rb"(?m)^(?!" + re.escape(PAIR) + rb").*\n?")
_SHOWN = 5  # most problems of a file that are kept; further ones are only counted
_NO_ANSWER = (None, "no_answer", "time_out")


class _Line(Pair, gc=False, tag="pair"):
    """A pair whose time is possible."""

    time_seconds: Annotated[float, msgspec.Meta(ge=0)] | None = None


_decoder = msgspec.json.Decoder(_Line)
_FIELDS = ("bytes", "pass", "round", "a", "b")


class PairColumns(msgspec.Struct, frozen=True):
    """One element per pair. `benchmark`: index in `names`; `bytes`, pass, round, endpoints `a` and `b`;
    `seconds` per message, NaN if the pair failed."""

    names: list[str]
    benchmark: Numbers
    bytes: Indices
    passes: Numbers
    rounds: Numbers
    a: Numbers
    b: Numbers
    seconds: Values


class PairLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """One launch of IMB-FABRIC. `end`: None if it was cut off; `wrong`: number of lines that are no records.
    `causes`: by benchmark, bytes and endpoints (the lower one first), why the pair failed last, unless it did
    not answer."""

    name: str
    run: Run
    end: End | None
    columns: PairColumns
    problems: list[Problem]
    wrong: int
    causes: Mapping[tuple[str, int, int, int], str] = {}


def read_pairs(blocks: Iterable[bytes], name: str) -> list[PairLaunch]:
    """The launches in `blocks` of whole JSON lines, named NAME#2 if there are several. An incomplete last
    line and other lines become problems. A file without records of IMB-FABRIC has no launches."""
    readers: list[_Reader] = []
    number = 1
    for block in blocks:
        lines = block.count(b"\n")
        if readers and block.startswith(PAIR) and block.count(_NEXT) == lines - 1 and block.endswith(b"\n"):
            # Only pairs: skip the search below, which takes a while.
            number += _read(readers, block, name, number)
            continue
        at = 0
        for other in _OTHER.finditer(block):
            if other.end() == other.start():
                continue
            number += _read(readers, block[at : other.start()], name, number)
            at = other.end()
            _read_record(readers, other[0], name, number)
            number += 1
        number += _read(readers, block[at:], name, number)
    several = len(readers) > 1
    launches: list[PairLaunch] = []
    problems: list[Problem] = []  # of launches of other components, and of launches without a run record
    wrong = 0
    for number, reader in enumerate(readers, 1):
        if reader.run.endpoints is not None:
            launches.append(reader.launch(f"{name}#{number}" if several else name))
        else:
            problems += reader.problems
            wrong += reader.wrong
    if launches and wrong:
        first = launches[0]
        launches[0] = msgspec.structs.replace(
            first, problems=[*problems, *first.problems], wrong=first.wrong + wrong
        )
    return launches


def _read_record(readers: list[_Reader], line: bytes, name: str, number: int) -> None:
    """Read a line, or a piece of one, that is no pair in the form that the suite writes."""
    if not line.strip():
        return
    try:
        record = decode(line)
    except UNDECODABLE:
        parts = pieces(line)
        if len(parts) > 1 or parts[0][0]:
            for _, part in parts:
                _read_record(readers, part, name, number)
            return
        if line.startswith(RUN) or not readers:
            readers.append(_Reader(None, name))
        readers[-1].add_problem(Problem(name, number, f"not a record of {SCHEMA}; the other lines are read"))
        return
    if isinstance(record, Run):
        if other := schema_problem(line):
            raise ImbError(f"{name}:{number}: {other}; this version reads {SCHEMA}")
        readers.append(_Reader(record, name))
        return
    _begin_without_run(readers, name, number)
    if isinstance(record, End):
        readers[-1].end = record
    elif isinstance(record, Pair) or (  # a pair with another order of fields
        isinstance(record, Failure) and record.a is not None and record.b is not None
    ):
        fields = {field: getattr(record, field.replace("pass", "pass_")) or 0 for field in _FIELDS}
        seconds = record.time_seconds if isinstance(record, Pair) else None
        try:
            data = {"benchmark": record.benchmark, **fields, "time_seconds": seconds}
            line_of_pair = msgspec.convert(data, _Line)
        except msgspec.ValidationError:
            readers[-1].add_problem(
                Problem(name, number, f"not a record of {SCHEMA}; the other lines are read")
            )
            return
        _begin_after_end(readers, name, number)
        if isinstance(record, Failure):
            ends = sorted((line_of_pair.a, line_of_pair.b))
            readers[-1].failures[record.benchmark, line_of_pair.bytes, ends[0], ends[1]] = record
        readers[-1].add([line_of_pair])


def _begin_without_run(readers: list[_Reader], name: str, number: int) -> None:
    if not readers:
        readers.append(_Reader(None, name))
        readers[-1].add_problem(
            Problem(name, number, "a record before any run record, so what was launched is not known")
        )


def _begin_after_end(readers: list[_Reader], name: str, number: int) -> None:
    """Begin another launch if pairs follow the end of a launch: the run record of the new launch is missing."""
    if readers[-1].end is not None:
        readers.append(_Reader(None, name))
        readers[-1].add_problem(
            Problem(name, number, "a pair after the end of a launch; its run record is missing")
        )


def _read(readers: list[_Reader], lines: bytes, name: str, first: int) -> int:
    """Read lines of pairs, and return their number."""
    if not lines:
        return 0
    count = lines.count(b"\n") + (not lines.endswith(b"\n"))
    _begin_without_run(readers, name, first)
    _begin_after_end(readers, name, first)
    try:
        readers[-1].add(_decoder.decode_lines(lines))
    except UNDECODABLE:
        good: list[_Line] = []
        for number, line in enumerate(lines.splitlines(), first):
            try:
                pair = _decoder.decode(line)
            except UNDECODABLE:
                readers[-1].add(good)
                good = []
                # A piece of the line may end the launch, or begin another.
                _read_record(readers, line, name, number)
                continue
            _begin_after_end(readers, name, number)
            good.append(pair)
        readers[-1].add(good)
    return count


class _Reader:
    """A launch while it is read. `run` is empty if the run record is damaged or missing (`known` is false)."""

    _TYPES = ("bytes", np.int64), ("pass_", np.int32), ("round", np.int32), ("a", np.int32), ("b", np.int32)

    def __init__(self, run: Run | None, name: str) -> None:
        self.known = run is not None
        self.run = run or Run()
        self.name = name
        self.end: End | None = None
        self.problems: list[Problem] = []
        self.wrong = 0
        self.names: dict[str, int] = {}
        self.parts: list[list[npt.NDArray[np.generic]]] = []
        self.failures: dict[tuple[str, int, int, int], Failure] = {}

    def add_problem(self, problem: Problem) -> None:
        self.wrong += 1
        if len(self.problems) < _SHOWN:
            self.problems.append(problem)

    def add(self, lines: Sequence[_Line]) -> None:
        """Add pairs to the columns. A pair with an unknown endpoint, or with the same endpoint twice, is
        dropped and counted."""
        count = len(lines)
        names = self.names
        codes = np.fromiter((names.setdefault(line.benchmark, len(names)) for line in lines), np.int32, count)
        columns = [np.fromiter(map(attrgetter(field), lines), kind, count) for field, kind in self._TYPES]
        times = (np.nan if line.time_seconds is None else line.time_seconds for line in lines)
        seconds = np.fromiter(times, np.float64, count)
        seconds[seconds == 0] = np.nan
        a, b = columns[3], columns[4]
        good: Mask = (np.maximum(a, b) < len(self.run.endpoints or ())) & (a != b)
        if not good.all():
            self.add_problem(
                Problem(
                    self.name,
                    0,
                    f"{count_of(int((~good).sum()), 'pair')} of endpoints that the run does not list",
                )
            )
            self.parts.append([column[good] for column in (codes, *columns, seconds)])
        else:
            self.parts.append([codes, *columns, seconds])

    def launch(self, name: str) -> PairLaunch:
        """The launch with its columns."""
        kinds = (np.int32, *(kind for _, kind in self._TYPES), np.float64)
        joined: list[Any] = [
            np.concatenate([part[i] for part in self.parts]) if self.parts else np.empty(0, kind)
            for i, kind in enumerate(kinds)
        ]
        return PairLaunch(
            name=name,
            run=self.run,
            end=self.end,
            columns=PairColumns(list(self.names), *joined),
            problems=self.problems,
            wrong=self.wrong,
            causes={
                key: failure.cause_text
                for key, failure in self.failures.items()
                if failure.cause not in _NO_ANSWER
            },
        )
