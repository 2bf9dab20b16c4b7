"""Pairs of IMB-FABRIC as columns: as objects, millions of records would need gigabytes.

Arrow reads the records. If it refuses a piece of a file, or the lines are no pairs, this piece is read line
by line to find the problems.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from operator import attrgetter
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import inspect
from pyarrow import json as arrow_json

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
    other_schema,
    pieces,
)
from imb.model.units import count_of
from imb.stats.arrays import Indices, Mask, Numbers, Values

_NEXT = b"\n" + PAIR
_OTHER = re.compile(rb"(?m)^(?!" + re.escape(PAIR) + rb").*\n?")
_THREADS = 2
_SHOWN = 5  # most problems of a file that are kept; further ones are only counted
_NO_ANSWER = ("", "no_answer", "time_out")


class _Line(Pair, gc=False, tag="pair"):
    """A pair whose time is possible."""

    time_seconds: Annotated[float, msgspec.Meta(ge=0)] | None = None


_decoder = msgspec.json.Decoder(_Line)
_FIELDS = ("bytes", "pass", "round", "a", "b")


def _arrow_type(kind: inspect.Type) -> pa.DataType:
    """The Arrow type of a field of a record; Arrow accepts null in every field."""
    match kind:
        case inspect.Metadata():
            return _arrow_type(kind.type)
        case inspect.UnionType():
            return next(_arrow_type(each) for each in kind.types if not isinstance(each, inspect.NoneType))
        case inspect.StructType():
            return pa.struct([(field.encode_name, _arrow_type(field.type)) for field in kind.fields])
        case inspect.ListType():
            return pa.list_(_arrow_type(kind.item_type))
        case inspect.IntType():
            return pa.int64()
        case inspect.FloatType():
            return pa.float64()
        case inspect.StrType():
            return pa.string()
    raise NotImplementedError(kind)


_LINE_TYPE = inspect.type_info(_Line)
_ARROW_SCHEMA = pa.schema(_arrow_type(_LINE_TYPE))


def _has_nulls(values: pa.Array, kind: inspect.Type) -> bool:
    """Whether values are null although the record forbids it."""
    values = values.drop_null()
    match kind:
        case inspect.Metadata():
            return _has_nulls(values, kind.type)
        case inspect.UnionType():
            return any(
                _has_nulls(values, each) for each in kind.types if not isinstance(each, inspect.NoneType)
            )
        case inspect.StructType():
            fields = ((field, values.field(field.encode_name)) for field in kind.fields)
            return any(
                (field.required and each.null_count > 0) or _has_nulls(each, field.type)
                for field, each in fields
            )
        case inspect.ListType():
            items = values.flatten()
            return items.null_count > 0 or _has_nulls(items, kind.item_type)
    return False


class Columns(msgspec.Struct, frozen=True):
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
    columns: Columns
    problems: list[Problem]
    wrong: int
    causes: Mapping[tuple[str, int, int, int], str] = {}


def read_pairs(blocks: Iterable[bytes], name: str) -> list[PairLaunch]:
    """The launches in `blocks` of whole JSON lines, named NAME#2 if there are several. An incomplete last
    line and other lines become problems. A file without records of IMB-FABRIC has no launches."""
    readers: list[_Reader] = []
    number = 1
    # Arrow reads several pieces at once; their content is added in order.
    waiting: deque[tuple[Future[pa.Table | None], bytes, int]] = deque()

    def add(most: int) -> None:
        while len(waiting) > most:
            future, piece, first = waiting.popleft()
            _pairs(readers, piece, name, first, future.result())

    with ThreadPoolExecutor(_THREADS) as pool:
        for block in blocks:
            lines = block.count(b"\n")
            if (
                readers
                and block.startswith(PAIR)
                and block.count(_NEXT) == lines - 1
                and block.endswith(b"\n")
            ):
                # Only pairs: skip the search below, which would take as long as everything else.
                waiting.append((pool.submit(_table, block, lines), block, number))
                number += lines
                add(_THREADS)
                continue
            add(0)
            at = 0
            for other in _OTHER.finditer(block):
                if other.end() == other.start():
                    continue
                number += _read(readers, block[at : other.start()], name, number)
                at = other.end()
                _record(readers, other[0], name, number)
                number += 1
            number += _read(readers, block[at:], name, number)
        add(0)
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


def _record(readers: list[_Reader], line: bytes, name: str, number: int) -> None:
    """Read a line, or a piece of one, that is no pair in the form that the suite writes."""
    if not line.strip():
        return
    try:
        record = decode(line)
    except UNDECODABLE:
        parts = pieces(line)
        if len(parts) > 1 or parts[0][0]:
            for _, part in parts:
                _record(readers, part, name, number)
            return
        if line.startswith(RUN) or not readers:
            readers.append(_Reader(None, name))
        readers[-1].problem(Problem(name, number, f"not a record of {SCHEMA}; the other lines are read"))
        return
    if isinstance(record, Run):
        if other := other_schema(line):
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
            readers[-1].problem(Problem(name, number, f"not a record of {SCHEMA}; the other lines are read"))
            return
        _begin_after_end(readers, name, number)
        if isinstance(record, Failure):
            ends = sorted((line_of_pair.a, line_of_pair.b))
            readers[-1].causes[record.benchmark, line_of_pair.bytes, ends[0], ends[1]] = record.cause or ""
        readers[-1].add([line_of_pair])


def _begin_without_run(readers: list[_Reader], name: str, number: int) -> None:
    if not readers:
        readers.append(_Reader(None, name))
        readers[-1].problem(
            Problem(name, number, "a record before any run record, so what was launched is not known")
        )


def _begin_after_end(readers: list[_Reader], name: str, number: int) -> None:
    """Begin another launch if pairs follow the end of a launch: the run record of the new launch is missing."""
    if readers[-1].end is not None:
        readers.append(_Reader(None, name))
        readers[-1].problem(
            Problem(name, number, "a pair after the end of a launch; its run record is missing")
        )


def _read(readers: list[_Reader], lines: bytes, name: str, first: int) -> int:
    """Read lines of pairs, and return their number."""
    if not lines:
        return 0
    count = lines.count(b"\n") + (not lines.endswith(b"\n"))
    _begin_without_run(readers, name, first)
    _pairs(readers, lines, name, first, _table(lines, count))
    return count


def _pairs(readers: list[_Reader], lines: bytes, name: str, first: int, table: pa.Table | None) -> None:
    """Add lines of pairs. `table`: their content if all lines are valid, else None."""
    _begin_after_end(readers, name, first)
    if table is not None:
        readers[-1].add_table(table)
        return
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
                _record(
                    readers, line, name, number
                )  # a piece of the line may end the launch, or begin another
                continue
            _begin_after_end(readers, name, number)
            good.append(pair)
        readers[-1].add(good)


def _table(lines: bytes, count: int) -> pa.Table | None:
    """These `count` lines as a table, or None if some line is invalid."""
    options = arrow_json.ParseOptions(explicit_schema=_ARROW_SCHEMA, unexpected_field_behavior="ignore")
    reading = arrow_json.ReadOptions(use_threads=False, block_size=max(len(lines), 1 << 20))
    try:
        if not lines.isascii():
            lines.decode()  # Arrow accepts invalid UTF-8
        table = arrow_json.read_json(pa.BufferReader(lines), read_options=reading, parse_options=options)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    if table.num_rows != count or any(
        _has_nulls(batch.to_struct_array(), _LINE_TYPE) for batch in table.to_batches()
    ):
        return None
    columns = [table[name].to_numpy() for name in _FIELDS]
    most = (1 << 62, *[1 << 31] * 4)
    if any(column.min() < 0 or column.max() >= limit for column, limit in zip(columns, most, strict=True)):
        return None
    if (pc.min(table["time_seconds"]).as_py() or 0) < 0:
        return None
    return table


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
        self.causes: dict[tuple[str, int, int, int], str] = {}

    def problem(self, problem: Problem) -> None:
        self.wrong += 1
        if len(self.problems) < _SHOWN:
            self.problems.append(problem)

    def add_table(self, table: pa.Table) -> None:
        """Add the table that `_table` returned."""
        encoded = table["benchmark"].combine_chunks().dictionary_encode()
        numbers = [self.names.setdefault(name, len(self.names)) for name in encoded.dictionary.to_pylist()]
        codes = np.array(numbers, dtype=np.int32)[encoded.indices.to_numpy()]
        columns = (table[name].to_numpy() for name in _FIELDS)
        typed = [column.astype(kind) for column, (_, kind) in zip(columns, self._TYPES, strict=True)]
        self._add(codes, typed, table["time_seconds"].to_numpy())

    def add(self, lines: Sequence[_Line]) -> None:
        """Add pairs to the columns. A pair with an unknown endpoint, or with the same endpoint twice, is
        dropped and counted."""
        count = len(lines)
        names = self.names
        codes = np.fromiter((names.setdefault(line.benchmark, len(names)) for line in lines), np.int32, count)
        columns = [np.fromiter(map(attrgetter(field), lines), kind, count) for field, kind in self._TYPES]
        times = (np.nan if line.time_seconds is None else line.time_seconds for line in lines)
        self._add(codes, columns, np.fromiter(times, np.float64, count))

    def _add(self, codes: Numbers, columns: list[npt.NDArray[Any]], times: Values) -> None:
        seconds = np.where(times > 0, times, np.nan)
        a, b = columns[3], columns[4]
        good: Mask = (np.maximum(a, b) < len(self.run.endpoints or ())) & (a != b)
        if not good.all():
            self.problem(
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
            columns=Columns(list(self.names), *joined),
            problems=self.problems,
            wrong=self.wrong,
            causes={key: cause for key, cause in self.causes.items() if cause not in _NO_ANSWER},
        )
