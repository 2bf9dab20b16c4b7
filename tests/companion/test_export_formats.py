"""imb export: formats that monitoring and CI services read."""

import json
from pathlib import Path

import pytest
from companion.door import Imb
from prometheus_client.parser import text_string_to_metric_families

EXAMPLES = Path(__file__).resolve().parents[2] / "schema" / "examples"
LOG = Path(__file__).parent.parent / "reference" / "rma-np4.txt"


def gauges(text: str) -> dict[str, dict[tuple[str | None, ...], float]]:
    """Gauge -> (benchmark, processes, bytes, MPI) -> value. Raises where it is not the format or repeats a series."""
    found: dict[str, dict[tuple[str | None, ...], float]] = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge" and family.documentation
        values = found.setdefault(family.name, {})
        for sample in family.samples:
            assert sample.timestamp is None  # node_exporter refuses a file with one
            key = tuple(sample.labels.get(name) for name in ("benchmark", "processes", "bytes", "mpi"))
            assert key not in values
            values[key] = sample.value
    return found


def test_prometheus_has_a_gauge_per_figure(imb: Imb) -> None:
    text = imb("export", LOG, "--format", "prometheus").out
    assert text.endswith("\n# EOF\n")
    found = gauges(text)
    assert found["openimb_time_max_seconds"]["All_get_all", "4", "1", None] == pytest.approx(800.54e-6)
    assert len(found["openimb_launches"]) == 36 and set(found["openimb_launches"].values()) == {1}
    assert found["openimb_failed_rows"] == {(None,) * 4: 0}


def test_several_launches_are_one_series_with_their_median(imb: Imb, tmp_path: Path) -> None:
    record = (EXAMPLES / "complete.jsonl").read_text()
    logs = []
    for number, time in enumerate((3.0, 1.0, 2.0)):
        lines = [json.loads(line) for line in record.splitlines()]
        for line in lines:
            if line["record"] == "result" and line.get("time_max_seconds"):
                line["time_max_seconds"] = time
            if line["record"] == "run":
                line["mpi"]["library"] = 'a "b" \\c'
        logs.append(tmp_path / f"{number}.jsonl")
        logs[-1].write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = gauges(imb("export", *logs, "--format", "prometheus").out)
    assert set(found["openimb_launches"].values()) == {3}
    assert set(found["openimb_time_max_seconds"].values()) == {2.0}
    assert {mpi for *_, mpi in found["openimb_launches"]} == {'a "b" \\c'}

    entries = json.loads(imb("export", *logs, "--format", "github-benchmark").out)
    assert len({entry["name"] for entry in entries}) == len(entries) > 0
    timed = [entry for entry in entries if entry["value"] == 2e6]
    assert timed and all(entry["range"] == "1e+06 to 3e+06" for entry in timed)
    assert all(entry["unit"] == "usec" and entry["extra"] == 'a "b" \\c, 3 launches' for entry in timed)


def test_launches_of_other_widths_are_other_series(imb: Imb, tmp_path: Path) -> None:
    """Where ranks arrive over another width, or at a barrier, a row has no median with these."""
    lines = [json.loads(line) for line in (EXAMPLES / "clock.jsonl").read_text().splitlines()]
    logs = []
    for number, arrival in enumerate((None, "last:50", "last:500", "last:x2")):
        lines[0]["options"] = {"sync_start": "clock", "arrival": arrival}
        logs.append(tmp_path / f"{number}.jsonl")
        logs[-1].write_text("".join(json.dumps(line) + "\n" for line in lines))
    text = imb("export", *logs, "--format", "prometheus").out
    (launches,) = (f for f in text_string_to_metric_families(text) if f.name == "openimb_launches")
    assert {sample.value for sample in launches.samples} == {1}
    entries = json.loads(imb("export", *logs, "--format", "github-benchmark").out)
    assert len({entry["name"] for entry in entries}) == len(entries)
    assert all(entry["extra"] == "1 launch" or entry["extra"].endswith(", 1 launch") for entry in entries)


def test_a_row_in_passes_has_its_interval_and_failures_are_counted(imb: Imb) -> None:
    entries = json.loads(imb("export", EXAMPLES / "passes.jsonl", "--format", "github-benchmark").out)
    assert [(entry["name"], entry["value"], entry.get("range")) for entry in entries[:2]] == [
        ("PingPong, 2 ranks, 8 bytes", 1.0, "± 0.0078125"),
        ("PingPong, 2 ranks, 16 bytes", 2.0, "± 0.25"),
    ]
    found = gauges(imb("export", EXAMPLES / "passes.jsonl", "--format", "prometheus").out)
    (count,) = found["openimb_failed_rows"].values()
    assert count == (EXAMPLES / "passes.jsonl").read_text().count('"record":"failure"') > 0


def test_json_is_one_document_and_jsonl_the_lines(imb: Imb, tmp_path: Path) -> None:
    lines = (EXAMPLES / "complete.jsonl").read_bytes().splitlines()
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"\n".join([*lines[:-1], lines[-1][:10]]))
    document = json.loads(imb("export", cut, "--format", "json").out)
    assert document == [json.loads(line) for line in lines[:-1]]
    assert imb("export", EXAMPLES / "complete.jsonl", "-f", "jsonl").out.encode().splitlines() == lines
    (tmp_path / "empty").mkdir()
    assert json.loads(imb("export", "--format", "json", "--archive", tmp_path / "empty").out) == []
