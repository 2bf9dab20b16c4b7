"""schema/record.schema.json takes the golden examples and nothing that is broken."""

import copy
import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
import figures

SCHEMA_FOLDER = Path(__file__).resolve().parent.parent / "schema"
SCHEMA = json.loads((SCHEMA_FOLDER / "record.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
EXAMPLES = sorted((SCHEMA_FOLDER / "examples").glob("*.jsonl"))

TYPES = ("run", "row", "sample", "pair", "result", "failure", "end")

Record = dict[str, Any]


def no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def records_in(path: Path) -> list[Record]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line, parse_constant=no_constant) for line in lines]


def example(record: str, **wanted: Any) -> Record:
    """The first example of this kind that has these values."""
    wanted["record"] = record
    for path in EXAMPLES:
        for candidate in records_in(path):
            if all(candidate.get(key) == value for key, value in wanted.items()):
                return candidate
    raise LookupError(f"no {record} with {wanted} in the examples")


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_validate(path: Path) -> None:
    records = records_in(path)
    for record in records:
        VALIDATOR.validate(record)
    assert records[0]["record"] == "run" and records[-1]["record"] == "end"
    assert {record["record"] for record in records[1:-1]} <= {"row", "sample", "pair", "result", "failure"}


def test_examples_show_every_record_field_and_cause() -> None:
    """So that nobody has to guess what an optional field looks like."""
    definitions = SCHEMA["$defs"]
    seen: dict[str, set[str]] = {name: set() for name in TYPES}
    causes = set()
    for path in EXAMPLES:
        for record in records_in(path):
            seen[record["record"]] |= record.keys()
            causes.add(record.get("cause"))
    for name, fields in seen.items():
        place = definitions["place"]["properties"].keys() if "$ref" in definitions[name] else set()
        assert fields == set(definitions[name]["properties"]) | set(place)
    assert causes - {None} == set(definitions["failure"]["properties"]["cause"]["enum"])


def test_figures_are_those_of_the_table_of_the_suite() -> None:
    """`tools/figures.py` writes all of these files; a unit test compares the table with schema/figures.jsonl."""
    for path, text in figures.written().items():
        assert path.read_text() == text, f"{path.name}: run `python tools/figures.py`"


def test_every_property_is_described() -> None:
    missing = []

    def visit(node: Any, where: str) -> None:
        if not isinstance(node, dict):
            return
        for name, value in node.get("properties", {}).items():
            if isinstance(value, dict) and not value.keys() & {"description", "$ref", "const"}:
                missing.append(f"{where}/{name}")
            visit(value, f"{where}/{name}")
        visit(node.get("items"), where)

    for name, definition in SCHEMA["$defs"].items():
        visit(definition, name)
    assert not missing


@pytest.mark.parametrize("record", TYPES)
def test_every_required_field_is_missed(record: str) -> None:
    whole = example(record)
    optional = {
        "row": {"threads"},
        "sample": {"slowest_thread", "time_overlapped_seconds", "time_pure_seconds", "time_cpu_seconds"}
        | {"overlap_percent", "early_bird_share", "bytes_per_second", "defects", "evidence"}
        | {"time_of_threads_seconds", "time_waiting_of_threads_seconds"},
        "result": {
            "threads",
            "time_of_threads_seconds",
            "time_waiting_of_threads_seconds",
            "bytes_per_second",
            "messages_per_second",
            "defects",
            "quantiles",
            "time_from_last_arrival_seconds",
            "time_from_first_arrival_seconds",
            "start_skew_seconds",
            "exit_skew_seconds",
            "valid_percent",
            "clock_disagreement_seconds",
            "clock_bound_seconds",
            "arrival_width_seconds",
            "late_rank",
            "last_out_rank",
            "given_up",
        },
        "pair": {"defects", "evidence"},
        "failure": {"threads", "pass", "round", "a", "b"},
        "run": {"startup"},
        "end": {"at_seconds"},
    }
    for field in whole.keys() - optional.get(record, set()):
        broken = copy.deepcopy(whole)
        del broken[field]
        assert not VALIDATOR.is_valid(broken), f"valid without {field}"


@pytest.mark.parametrize("record", TYPES)
def test_unknown_fields_are_refused(record: str) -> None:
    assert not VALIDATOR.is_valid({**example(record), "samples": [1e-6]})


RESULT: tuple[str, dict[str, Any]] = ("result", {})
PASSES: tuple[str, dict[str, Any]] = ("result", {"row": 1, "multi": "off"})
EACH_GROUP: tuple[str, dict[str, Any]] = ("result", {"multi": "each_group"})
BROKEN: dict[str, tuple[tuple[str, dict[str, Any]], dict[str, Any]]] = {
    "no such record": (RESULT, {"record": "results"}),
    "another schema": (("run", {}), {"schema": "openimb-record/1"}),
    "date without zone": (("run", {}), {"date": "2026-11-21T07:05:53"}),
    "unknown component": (("run", {}), {"component": "MPI2"}),
    "empty command line": (("run", {}), {"command_line": []}),
    "environment that is no text": (("run", {}), {"environment": {"UCX_TLS": 1}}),
    "an option of several fields": (("run", {}), {"options": {"map": {"rows": 1}}}),
    "half an off-cache": (("run", {}), {"off_cache": {"cache_size_bytes": 1}}),
    "rank without place": (("run", {}), {"ranks": [{"rank": 0}]}),
    "prefixed name": (RESULT, {"benchmark": "Multi-PingPong"}),
    "unknown kind": (RESULT, {"kind": "transfer"}),
    "negative length": (RESULT, {"bytes": -1}),
    "fraction of a byte": (RESULT, {"bytes": 0.5}),
    "length as text": (RESULT, {"bytes": "8"}),
    "no repetition": (RESULT, {"repetitions": 0}),
    "time as text": (RESULT, {"time_max_seconds": "1e-6"}),
    "negative time": (RESULT, {"time_min_seconds": -1e-6}),
    "a group in a run without groups": (RESULT, {"group": 0}),
    "no group where each has a row": (EACH_GROUP, {"group": None}),
    "an empty group": (EACH_GROUP, {"groups": [[]]}),
    "some quantiles": (EACH_GROUP, {"quantiles": {"min": 1e-6, "max": 2e-6}}),
    "defects that are not counted": (EACH_GROUP, {"defects": None}),
    "unknown cause": (("failure", {}), {"cause": "bad_luck"}),
    "time-out without time": (("failure", {"cause": "out_of_memory"}), {"cause": "time_out"}),
    "memory for a time-out": (("failure", {"cause": "time_out"}), {"needed_bytes": 1}),
    "a sample of no row": (("sample", {}), {"row": None}),
    "a sample before the first pass": (("sample", {}), {"pass": 0}),
    "a sample with the place of its row": (("sample", {}), {"benchmark": "PingPong"}),
    "a row without a group where each has one": (("row", {"multi": "each_group"}), {"group": None}),
    "evidence of what is not counted": (PASSES, {"evidence": {"interrupts": 1}}),
    "a counter without a rank": (PASSES, {"evidence": {"steal_seconds": {"sum": 1, "most": 1}}}),
    "a counter at zero": (PASSES, {"evidence": {"steal_seconds": {"sum": 0, "most": 0, "rank": 0}}}),
    "an interface of no host": (
        PASSES,
        {"evidence": {"interfaces": [{"name": "lo", "sent_bytes": 1, "received_bytes": 1}]}},
    ),
    "a pair without its other side": (("pair", {}), {"b": None}),
    "a pair of another component": (("pair", {}), {"benchmark": "PingPong"}),
    "a pair before the first pass": (("pair", {}), {"pass": 0}),
    "passes without figures": (PASSES, {"passes": {"samples": 1}}),
    "samples of a row that is not in passes": (RESULT, {"row": 1}),
    "passes that took no time": (("end", {"passes": 40}), {"seconds": None, "passes": None}),
    "unknown state": (("end", {}), {"state": "done"}),
    "complete for a reason": (("end", {"state": "complete"}), {"reason": "SIGTERM"}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_records_are_refused(name: str) -> None:
    (record, wanted), change = BROKEN[name]
    whole = example(record, **wanted)
    assert VALIDATOR.is_valid(whole)
    assert not VALIDATOR.is_valid({**whole, **change})


def test_passes_and_their_seconds_stand_together() -> None:
    for field in ("passes", "seconds", "measuring_seconds", "observing_seconds"):
        broken = example("end", passes=40)
        del broken[field]
        assert not VALIDATOR.is_valid(broken), field


def test_an_interval_has_two_ends() -> None:
    broken = example("result", row=1, multi="off")
    broken["passes"]["interval_seconds"].pop()
    assert not VALIDATOR.is_valid(broken)


def test_groups_are_named_where_there_are_several() -> None:
    broken = example("result", group_count=2)
    del broken["groups"]
    assert not VALIDATOR.is_valid(broken)
