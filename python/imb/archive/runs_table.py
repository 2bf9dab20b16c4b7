"""The index's table of runs and its file: MessagePack, because `imb ls` reads it and importing Arrow takes longer than that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

if TYPE_CHECKING:
    import pyarrow as pa

Columns: TypeAlias = dict[str, list[Any]]  # name -> a value for each run, None where there is none
RUNS: dict[str, type[str] | type[int]] = {
    "run": str,
    "added": str,
    "kind": str,
    "program": str,
    "version": str,
    "component": str,
    "date": str,
    "benchmarks": str,
    "processes": int,
    "nodes": str,
    "mpi": str,
    "memory": str,
    "command": str,
    "exit_status": int,
    "state": str,
    "rows": int,
    "failures": int,
    "defects": int,
    "problems": int,
    "passes": int,
    "bytes": int,
    "origin": str,
    "host": str,
    "campaign": str,
    "conditions": str,
}
_FILE = msgspec.msgpack.Decoder(dict[str, msgspec.Raw])
_COLUMN = {kind: msgspec.msgpack.Decoder(list[kind | None]) for kind in (str, int)}  # type: ignore[valid-type]


def encoded(columns: Mapping[str, Sequence[Any]]) -> bytes:
    """The columns RUNS as a file."""
    return msgspec.msgpack.encode({name: columns[name] for name in RUNS})


def decoded(data: bytes, names: Sequence[str]) -> Columns:
    """These columns of such a file; the others are passed over. Raises msgspec.MsgspecError where it is none."""
    found = _FILE.decode(data)
    if not found.keys() >= set(names):
        raise msgspec.ValidationError("lacks a column")
    return {name: _COLUMN[RUNS[name]].decode(found[name]) for name in names}


def arrow_of(columns: Columns) -> pa.Table:
    """The same columns for DuckDB."""
    import pyarrow as pa

    kinds = {str: pa.string(), int: pa.int64()}
    return pa.table({name: pa.array(values, kinds[RUNS[name]]) for name, values in columns.items()})
