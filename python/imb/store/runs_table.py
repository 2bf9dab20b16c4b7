"""The index's table of runs and its file format: MessagePack, since `imb ls` reads it and an import of Arrow takes longer than that.

The file ends with a checksum, so that any damage is detected and the file is written again.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

if TYPE_CHECKING:
    import pyarrow as pa

TableColumns: TypeAlias = dict[str, list[Any]]  # name -> a value or None for each run
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


class TableFile(msgspec.Struct, frozen=True, array_like=True):
    """Size and modification time (ns) of a file of columns. They differ if another process changed the file."""

    bytes: int
    changed: int


_FILE = msgspec.msgpack.Decoder(dict[str, msgspec.Raw])
_FILES = "(files)"  # the key, among the columns, of the states of the other files
_SEAL = 4  # bytes
_FILE_STATES = msgspec.msgpack.Decoder(dict[str, TableFile])
_COLUMN = {kind: msgspec.msgpack.Decoder(list[kind | None]) for kind in (str, int)}  # type: ignore[valid-type]


def add_seal(data: bytes) -> bytes:
    """The bytes with their checksum."""
    return data + zlib.crc32(data).to_bytes(_SEAL, "big")


def check_seal(data: bytes) -> bytes:
    """The bytes without their checksum. Raises ValueError if the checksum does not match."""
    content, seal = data[:-_SEAL], data[-_SEAL:]
    if zlib.crc32(content).to_bytes(_SEAL, "big") != seal:
        raise ValueError("damaged")
    return content


def encode_table(columns: Mapping[str, Sequence[Any]], files: Mapping[str, TableFile]) -> bytes:
    """The bytes of a file with the columns RUNS and the states of the other files of its segment, by name."""
    return add_seal(msgspec.msgpack.encode({name: columns[name] for name in RUNS} | {_FILES: files}))


def decode_table(data: bytes, names: Sequence[str]) -> tuple[TableColumns, dict[str, TableFile]]:
    """These columns of such a file, and the states of the other files. Raises ValueError if the file is damaged or has another format."""
    parts = _FILE.decode(check_seal(data))
    if not parts.keys() >= {_FILES, *names}:
        raise ValueError("lacks a column")
    return {name: _COLUMN[RUNS[name]].decode(parts[name]) for name in names}, _FILE_STATES.decode(
        parts[_FILES]
    )


def arrow_of(columns: TableColumns) -> pa.Table:
    """The columns as an Arrow table, for DuckDB."""
    import pyarrow as pa

    kinds = {str: pa.string(), int: pa.int64()}
    return pa.table({name: pa.array(values, kinds[RUNS[name]]) for name, values in columns.items()})
