"""Pairs of IMB-FABRIC as columns: millions of records, which would need gigabytes as objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt

from imb.model.records import PAIR, SCHEMA, End, Failure, Pair, Problem, Run, decode

_OTHER = re.compile(rb"(?m)^(?!" + re.escape(PAIR) + rb").*\n?")
_SHOWN = 5  # problems of a file that are kept; others are counted
_Number = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]


class _Line(msgspec.Struct, gc=False, rename={"pass_": "pass"}):
    """What is read of a pair."""

    benchmark: str
    bytes: Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
    pass_: _Number
    round: _Number
    a: _Number
    b: _Number
    time_seconds: float | None = None


_decoder = msgspec.json.Decoder(_Line)


class Columns(msgspec.Struct, frozen=True):
    """One element per pair: index in `names`, bytes, pass, round, endpoints, seconds of a message (NaN: failed)."""

    names: list[str]
    benchmark: npt.NDArray[np.int32]
    bytes: npt.NDArray[np.int64]
    passes: npt.NDArray[np.int32]
    rounds: npt.NDArray[np.int32]
    a: npt.NDArray[np.int32]
    b: npt.NDArray[np.int32]
    seconds: npt.NDArray[np.float64]


class PairLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """One launch of IMB-FABRIC. `end` None: it was cut off; `wrong`: lines that are no records."""

    name: str
    run: Run
    end: End | None
    columns: Columns
    problems: list[Problem]
    wrong: int


def read_pairs(blocks: Iterable[bytes], name: str) -> list[PairLaunch]:
    """The launches in pieces of JSON lines, each of whole lines; a torn last line and foreign ones become problems. Never
    fails; a file without records of IMB-FABRIC has no launches."""
    readers: list[_Reader] = []
    number = 1
    for block in blocks:
        at = 0
        for other in _OTHER.finditer(block):
            if other.end() == other.start():
                continue
            number += _pairs(readers, block[at : other.start()], name, number)
            at = other.end()
            _record(readers, other[0], name, number)
            number += 1
        number += _pairs(readers, block[at:], name, number)
    return [reader.launch(name) for reader in readers if reader.run.endpoints is not None]


def _record(readers: list[_Reader], line: bytes, name: str, number: int) -> None:
    if not line.strip():
        return
    try:
        record = decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        if readers:
            readers[-1].problem(Problem(name, number, f"not a record of {SCHEMA}; the other lines are read"))
        return
    if isinstance(record, Run):
        readers.append(_Reader(record))
    elif not readers:
        return
    elif isinstance(record, End):
        readers[-1].end = record
    elif isinstance(record, Failure) and record.a is not None and record.b is not None:
        readers[-1].add(
            [
                _Line(
                    record.benchmark,
                    record.bytes or 0,
                    record.pass_ or 0,
                    record.round or 0,
                    record.a,
                    record.b,
                )
            ]
        )
    elif isinstance(record, Pair):  # with another order of fields
        fields = (record.benchmark, record.bytes, record.pass_, record.round, record.a, record.b)
        readers[-1].add([_Line(*fields, record.time_seconds)])


def _pairs(readers: list[_Reader], lines: bytes, name: str, first: int) -> int:
    """Reads lines of pairs, and returns how many they are."""
    if not lines:
        return 0
    count = lines.count(b"\n") + (not lines.endswith(b"\n"))
    if not readers:
        return count
    try:
        readers[-1].add(_decoder.decode_lines(lines))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        good = []
        for number, line in enumerate(lines.splitlines(), first):
            try:
                good.append(_decoder.decode(line))
            except (msgspec.MsgspecError, UnicodeDecodeError):
                words = f"not a record of {SCHEMA} (or cut off); the other lines are read"
                readers[-1].problem(Problem(name, number, words))
        readers[-1].add(good)
    return count


class _Reader:
    """A launch so far."""

    _TYPES = ("bytes", np.int64), ("pass_", np.int32), ("round", np.int32), ("a", np.int32), ("b", np.int32)

    def __init__(self, run: Run) -> None:
        self.run = run
        self.end: End | None = None
        self.problems: list[Problem] = []
        self.wrong = 0
        self.names: dict[str, int] = {}
        self.parts: list[list[npt.NDArray[np.generic]]] = []

    def problem(self, found: Problem) -> None:
        self.wrong += 1
        if len(self.problems) < _SHOWN:
            self.problems.append(found)

    def add(self, lines: Sequence[_Line]) -> None:
        """As columns; a pair with an endpoint that is not there, or with one endpoint twice, is dropped and counted."""
        count = len(lines)
        names = self.names
        codes = np.fromiter((names.setdefault(one.benchmark, len(names)) for one in lines), np.int32, count)
        columns = [np.fromiter(map(attrgetter(field), lines), kind, count) for field, kind in self._TYPES]
        times = (np.nan if one.time_seconds is None else one.time_seconds for one in lines)
        seconds = np.fromiter(times, np.float64, count)
        seconds[~(seconds > 0)] = np.nan
        a, b = columns[3], columns[4]
        good = (np.maximum(a, b) < len(self.run.endpoints or ())) & (a != b)
        if not good.all():
            self.problem(
                Problem("pairs", 0, f"{int((~good).sum())} pairs of endpoints that the run does not list")
            )
        self.parts.append([column[good] for column in (codes, *columns, seconds)])

    def launch(self, name: str) -> PairLaunch:
        """All of it."""
        kinds = (np.int32, np.int64, np.int32, np.int32, np.int32, np.int32, np.float64)
        joined = [
            np.concatenate([part[i] for part in self.parts]) if self.parts else np.empty(0, kind)
            for i, kind in enumerate(kinds)
        ]
        return PairLaunch(
            name=name,
            run=self.run,
            end=self.end,
            columns=Columns(list(self.names), *joined),
            problems=self.problems,
            wrong=self.wrong,
        )
