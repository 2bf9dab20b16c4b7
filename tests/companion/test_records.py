"""imb.model.records and schema/record.schema.json say the same."""

import json
import time
import typing
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from imb.model import records

SCHEMA_FOLDER = Path(__file__).resolve().parents[2] / "schema"
SCHEMA = json.loads((SCHEMA_FOLDER / "record.schema.json").read_text())
EXAMPLES = sorted((SCHEMA_FOLDER / "examples").glob("*.jsonl"))
TYPES: dict[str, Any] = {
    "run": records.Run,
    "row": records.SampledRow,
    "sample": records.Sample,
    "pair": records.Pair,
    "result": records.Result,
    "failure": records.Failure,
    "end": records.End,
}
OURS_ALONE = {"line"}  # of results read from foreign logs


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_come_back_as_they_were(path: Path) -> None:
    read = records.read(path.read_bytes(), path.name, samples=True)
    assert not read.problems
    was = [json.loads(line) for line in path.read_text().splitlines()]
    assert [json.loads(line) for line in records.write(read.records).splitlines()] == was


@pytest.mark.parametrize("options", [{"check": {}}, {"msgsize": [[8]]}])
def test_damaged_options_are_no_record(options: dict[str, Any]) -> None:
    line = json.dumps({"record": "run", "schema": records.SCHEMA, "options": options})
    with pytest.raises(msgspec.ValidationError):
        records.decode(line.encode())


@pytest.mark.parametrize("name", TYPES)
def test_the_types_have_the_fields_of_the_schema(name: str) -> None:
    definition = SCHEMA["$defs"][name]
    properties = {
        *definition["properties"],
        *(SCHEMA["$defs"]["place"]["properties"] if "$ref" in definition else ()),
    }
    required = {
        *definition["required"],
        *(SCHEMA["$defs"]["place"]["required"] if "$ref" in definition else ()),
    }
    fields = {field.encode_name: field for field in msgspec.structs.fields(TYPES[name])}
    assert fields.keys() - OURS_ALONE == properties - {"record"}
    assert properties - required == records.absent_fields(TYPES[name]) - OURS_ALONE


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (records.Component, ("run", "component")),
        (records.BenchmarkKind, ("place", "kind")),
        (records.FailureCause, ("failure", "cause")),
        (records.EndState, ("end", "state")),
    ],
)
def test_words_are_those_of_the_schema(words: Any, where: tuple[str, str]) -> None:
    definition, field = where
    assert list(typing.get_args(words)) == SCHEMA["$defs"][definition]["properties"][field]["enum"]


def test_records_without_threads_are_of_one_thread_each() -> None:
    """As written before there was the field."""
    line = b'{"record":"result","benchmark":"PingPong","processes":2,"bytes":8}'
    result = records.decode(line)
    assert isinstance(result, records.Result) and result.threads == 1
    assert result.slowest_thread is None and b"slowest_thread" not in records.encode(result)


PASSES = (SCHEMA_FOLDER / "examples" / "passes.jsonl").read_bytes().splitlines(keepends=True)


def nested(*path: str) -> dict[str, Any]:
    """A definition within the schema."""
    found = SCHEMA["$defs"]
    for name in path:
        found = found[name]
    return dict(found)


@pytest.mark.parametrize(
    ("kind", "definition"),
    [
        (records.Rank, nested("run", "properties", "ranks", "items")),
        (records.Passes, nested("result", "properties", "passes")),
        (
            records.MachineState,
            nested("result", "properties", "passes", "properties", "states", "items"),
        ),
        (records.Level, nested("result", "properties", "passes", "properties", "levels", "items")),
        (records.Evidence, nested("evidence")),
        (records.Counter, nested("counter")),
        (records.InterfaceBytes, nested("evidence", "properties", "interfaces", "items")),
    ],
)
def test_parts_of_records_have_the_fields_of_the_schema(kind: Any, definition: dict[str, Any]) -> None:
    assert {field.encode_name for field in msgspec.structs.fields(kind)} == definition["properties"].keys()
    shortfalls = nested("result", "properties", "passes", "properties", "shortfall")["enum"]
    assert list(typing.get_args(records.Shortfall)) == shortfalls


def test_samples_are_passed_over_where_rows_have_results() -> None:
    read = records.read(b"".join(PASSES), "file")
    assert [type(record) for record in read.records] == [
        records.Run, *[records.Result] * 3, records.Failure, records.End,
    ]  # fmt: skip
    assert [row.half_width for row in read.of(records.Result)] == [0.0078125, 0.125, None]
    unsteady = list(read.of(records.Result))[1]
    assert (unsteady.passes.samples, unsteady.passes.used, len(unsteady.passes.states)) == (40, 30, 2)
    assert [level.time_seconds for level in unsteady.passes.levels] == [2e-6, 2.5e-6]
    assert unsteady.evidence.steal_seconds == records.Counter(0.01, 0.01, 0)


def sample(row: int, seconds: float, **more: Any) -> bytes:
    return records.encode(
        records.Sample(
            row=row, pass_=1, at_seconds=1.0, repetitions=100, time_min_seconds=seconds,
            time_max_seconds=seconds, time_avg_seconds=seconds, slowest_rank=0, **more,
        )
    )  # fmt: skip


def announced(number: int, **more: Any) -> records.SampledRow:
    place = {"benchmark": "PingPong", "processes": 2, "group_count": 1, "multi": "off", "bytes": 8}
    return records.SampledRow(row=number, **{**place, **more})


def row_line(number: int, **more: Any) -> bytes:
    return records.encode(announced(number, **more))


def test_rows_of_a_launch_that_was_cut_off_are_made_from_its_samples() -> None:
    quiet, loud = records.Evidence(), records.Evidence(
        run_delay_seconds=records.Counter(0.5, 0.25, 1),
        moved_ranks=[1],
        interfaces=[records.InterfaceBytes("n", "eth0", 10, 20)],
    )  # fmt: skip
    lines = [
        PASSES[0],
        row_line(0),
        sample(0, 1e-6, defects=3, evidence=loud, bytes_per_second=8e6),
        row_line(1, bytes=16),
        sample(1, 5e-6, time_overlapped_seconds=7e-6),
        sample(0, 9e-6, evidence=quiet, bytes_per_second=1e6),
        sample(0, 2e-6, evidence=loud, bytes_per_second=4e6),
        b'{"record":"sample","row":1,"pass":2,"at_s',
    ]
    read = records.read(b"".join(lines), "file")
    assert [problem.line for problem in read.problems] == [8] and "incomplete" in read.problems[0].text
    first, second = read.of(records.Result)
    assert (first.bytes, first.time_max_seconds, first.bytes_per_second) == (8, 2e-6, 4e6)
    assert (first.repetitions, first.slowest_rank, first.defects) == (100, 0, 3)
    assert (second.bytes, second.time_overlapped_seconds, second.bytes_per_second) == (16, 7e-6, None)
    assert first.passes and first.passes.shortfall == "cut_off" and first.passes.samples == 3
    assert first.half_width is None and first.passes.interval_seconds is None
    assert first.evidence == records.Evidence(
        run_delay_seconds=records.Counter(1.0, 0.25, 1),
        moved_ranks=[1],
        interfaces=[records.InterfaceBytes("n", "eth0", 20, 40)],
    )


def test_only_rows_that_nothing_is_told_of_are_made_from_samples() -> None:
    """Not those with a result, nor those that failed in a later pass."""
    lines = [line for line in PASSES if b'"record":"result","row":1,' not in line]
    failed = records.Failure(
        benchmark="Uniband", processes=2, group_count=1, multi="off", bytes=32, cause="io_error"
    )
    lines[-1:] = [
        row_line(7, benchmark="Uniband", bytes=32),
        sample(7, 1e-6),
        records.encode(failed),
        lines[-1],
    ]
    read = records.read(b"".join(lines), "file")
    rows = [(row.row, row.passes and row.passes.shortfall) for row in read.of(records.Result)]
    assert rows == [(0, "none"), (2, "budget"), (1, "cut_off")]
    assert isinstance(read.records[-1], records.End)


def test_row_numbers_are_those_of_one_launch() -> None:
    cut = [PASSES[0], row_line(0), sample(0, 1e-6)]
    second = [PASSES[0], row_line(0, bytes=64), sample(0, 2e-6)]
    read = records.read(b"".join([*cut, *second]), "file")
    assert [type(record).__name__ for record in read.records] == ["Run", "Result", "Run", "Result"]
    assert [(row.bytes, row.time_max_seconds) for row in read.of(records.Result)] == [(8, 1e-6), (64, 2e-6)]


def test_samples_written_by_others_are_samples_too() -> None:
    spaced = sample(0, 1e-6).replace(b'":', b'" : ')
    read = records.read(PASSES[0] + row_line(0) + spaced, "file")
    assert [row.time_max_seconds for row in read.of(records.Result)] == [1e-6] and not read.problems


def test_many_samples_do_not_make_reading_slow() -> None:
    text = b"".join([*PASSES[:4], *[sample(0, 1e-6)] * 20_000, *PASSES[4:]])
    began = time.process_time()
    assert len(records.read(text, "file").records) == 6
    assert time.process_time() - began < 0.5  # 0.06 s on an idle machine


def test_a_torn_last_line_and_foreign_lines_are_named_and_the_others_kept() -> None:
    lines = EXAMPLES[0].read_bytes().splitlines(keepends=True)
    broken = b"".join([lines[0], b"hello\n", *lines[1:3], b'{"record":"sample"}\n', lines[3][:40]])
    read = records.read(broken, "file.jsonl")
    assert read.records == records.read(b"".join(lines[:3]), "").records
    assert [(problem.file, problem.line) for problem in read.problems] == [
        ("file.jsonl", n) for n in (2, 5, 6)
    ]
    assert "incomplete" in str(read.problems[-1]) and "incomplete" not in str(read.problems[0])


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(junk: bytes) -> None:
    read = records.read(EXAMPLES[0].read_bytes() + junk, "file")
    assert len(read.records) >= len(EXAMPLES[0].read_bytes().splitlines())


finite = st.floats(min_value=0, allow_infinity=False, allow_nan=False)
whole = st.integers(min_value=1, max_value=2**53)
results = st.builds(
    records.Result,
    benchmark=st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1).filter(
        lambda name: not name.startswith("Multi-")
    ),
    kind=st.sampled_from(typing.get_args(records.BenchmarkKind)),
    multi=st.just("off"),
    processes=whole,
    group_count=st.just(1),
    bytes=whole,
    repetitions=whole,
    time_min_seconds=st.none() | finite,
    time_max_seconds=finite,
    slowest_rank=whole,
    bytes_per_second=st.none() | finite,
)


@given(results)
def test_results_round_trip_and_satisfy_the_schema(result: records.Result) -> None:
    line = records.encode(result)
    assert records.decode(line) == result
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(line))
