"""imb.records and schema/record.schema.json say the same."""

import json
import typing
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from imb import records

SCHEMA_FOLDER = Path(__file__).resolve().parents[2] / "schema"
SCHEMA = json.loads((SCHEMA_FOLDER / "record.schema.json").read_text())
EXAMPLES = sorted((SCHEMA_FOLDER / "examples").glob("*.jsonl"))
TYPES: dict[str, Any] = {
    "run": records.Run,
    "result": records.Result,
    "failure": records.Failure,
    "end": records.End,
}
OURS_ALONE = {"line"}  # of results read from foreign logs


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_come_back_as_they_were(path: Path) -> None:
    read = records.read_file(path)
    assert not read.problems
    was = [json.loads(line) for line in path.read_text().splitlines()]
    assert [json.loads(line) for line in records.write(read.records).splitlines()] == was


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
    fields = set(msgspec.structs.asdict(next(r for r in all_examples() if isinstance(r, TYPES[name]))))
    assert fields - OURS_ALONE == properties - {"record"}
    assert properties - required == TYPES[name].OPTIONAL - OURS_ALONE


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (records.Component, ("run", "component")),
        (records.Kind, ("place", "kind")),
        (records.Cause, ("failure", "cause")),
        (records.State, ("end", "state")),
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


def all_examples() -> list[records.Record]:
    return [record for path in EXAMPLES for record in records.read_file(path).records]


def test_a_torn_last_line_and_foreign_lines_are_named_and_the_others_kept() -> None:
    lines = EXAMPLES[0].read_bytes().splitlines(keepends=True)
    broken = b"".join([lines[0], b"hello\n", *lines[1:3], b'{"record":"sample"}\n', lines[3][:40]])
    read = records.read(broken, "file.jsonl")
    assert read.records == records.read(b"".join(lines[:3]), "").records
    assert [(problem.file, problem.line) for problem in read.problems] == [
        ("file.jsonl", n) for n in (2, 5, 6)
    ]
    assert "torn" in str(read.problems[-1]) and "torn" not in str(read.problems[0])


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
    kind=st.sampled_from(typing.get_args(records.Kind)),
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
