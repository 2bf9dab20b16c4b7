"""Small logs from practice: what the commands that judge and list must make of them."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import shutil
from pathlib import Path

import pytest
from companion.door import Imb, Said
from companion.test_resolver import uses
from imb.model.errors import ImbError
from imb.model.records import End, Failure, Record, Result, Run, write
from imb.runner.interleave import Conductor
from imb.store.store import Archive, Content

CASES = Path(__file__).parent / "data" / "cases"
LOST = "V1-lost-row.txt"
TWO = "F1-two-launches.txt"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user who has these logs."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for path in CASES.glob("*.txt"):
        shutil.copy(path, folder)
    monkeypatch.chdir(folder)
    return folder


def findings(said: Said) -> list[dict[str, object]]:
    return list(json.loads(said.out)["findings"])


# ---------------------------------------------------------------- names of launches


def times(said: Said) -> list[str]:
    return [row["time_max_seconds"] for row in csv.DictReader(io.StringIO(said.out))]


def test_the_name_of_one_launch_in_a_file_is_taken_by_every_command(imb: Imb, here: Path) -> None:
    for command, said in uses(imb, f"{TWO}#1", here).items():
        assert said.code in (0, 11), (command, said)
    shown = imb("show", f"{TWO}#2")
    assert shown.code == 0 and "2020-03-02T10:05:00" in shown.out and "2.80" in shown.out, shown
    assert float(times(imb("export", f"{TWO}#1"))[0]) == pytest.approx(1e-6)
    compared = imb("compare", f"{TWO}#1", f"{TWO}#2")
    assert f"A: {TWO}#1, 1 launch" in compared.out and "0.50x" in compared.out, compared
    both = imb("show", f"{TWO}#1,{TWO}#2")
    assert both.code == 2, "show takes one name"
    assert "2 launches" in imb("diagnose", f"{TWO}#1,{TWO}#2").out
    assert imb("watch", f"{TWO}#1").code == 11
    missing = imb("show", f"{TWO}#3")
    assert missing.code == 2 and "no launch 3" in missing.err


def test_one_launch_of_a_stored_file_can_be_labeled_listed_and_removed(
    imb: Imb, archive: Archive, here: Path
) -> None:
    refused = imb("archive", "label", f"{TWO}#2", "second")
    assert refused.code == 2 and f"imb import {TWO}" in refused.err, refused
    assert imb("import", TWO).code == 0
    assert imb("archive", "label", f"{TWO}#2", "second").code == 0
    listed = imb("ls", f"{TWO}#2")
    assert listed.code == 0 and "second" in listed.out and "10:05" in listed.out and "10:00" not in listed.out
    assert imb("archive", "verify", f"{TWO}#1").out.startswith("1 run: 0 damaged")
    assert imb("archive", "rm", f"{TWO}#2").code == 0 and len(archive.ids()) == 1


def test_one_launch_in_records_of_several_has_its_name(imb: Imb, here: Path) -> None:
    rows: list[list[Record]] = [
        [Run(component="MPI1"), Result(benchmark="PingPong", processes=2, bytes=8, time_max_seconds=seconds)]
        for seconds in (1e-6, 3e-6)
    ]
    Path("both.jsonl").write_bytes(write([*rows[0], *rows[1]]))
    Path("cut.jsonl").write_bytes(
        write([*rows[0], End(state="interrupted"), *rows[1], End(state="complete")])
    )
    assert "cut.jsonl#1" in imb("diagnose", "cut.jsonl").out
    said = imb("show", "both.jsonl#2")
    assert said.code == 0 and "3.00" in said.out and "1.00" not in said.out, said
    assert "read, not stored" in said.out
    assert "0.33x" in imb("compare", "both.jsonl#1", "both.jsonl#2").out


def test_lines_that_the_import_did_not_read_do_not_fail_later_commands(imb: Imb, here: Path) -> None:
    row = Result(benchmark="PingPong", processes=2, bytes=8, time_max_seconds=1e-6)
    one = write([Run(component="MPI1"), row])
    Path("torn.jsonl").write_bytes(one + b'{"record":"result","bytes":\n' + one)
    assert imb("import", "torn.jsonl", "--label", "torn").code == 1
    runs = [json.loads(line)["run"] for line in imb("ls", "torn", "--format", "json").out.splitlines()]
    assert len(runs) == 2
    told = [imb("show", name) for name in (*runs, "torn.jsonl#1")]
    assert [said.code for said in told] == [0, 0, 1]
    assert sorted("not a record" in said.err for said in told) == [False, True, True]


def test_commands_that_a_finding_prints_can_be_pasted(imb: Imb, here: Path) -> None:
    odd = here / "my results.txt"
    odd.write_text(Path(TWO).read_text().replace("All processes entering MPI_Finalize", ""))
    said = imb("diagnose", "my results.txt")
    assert "imb show 'my results.txt#1' --output" in said.out, said
    assert imb("show", "my results.txt#1", "--output").code == 0


def test_launches_are_in_the_order_of_their_numbers(imb: Imb, archive: Archive, here: Path) -> None:
    names = "R1-twelve-launches.txt"
    wanted = [f"{names}#{number}" for number in range(1, 13)]
    exported = list(csv.DictReader(io.StringIO(imb("export", names).out)))
    assert [row["run"] for row in exported] == wanted
    lines = [line.strip() for line in imb("show", names).out.splitlines()]
    shown = [line.split(",")[0] for line in lines if line.startswith(f"{names}#")]
    assert shown == wanted
    text = Path(names).read_text()  # without dates only the place in the file has the order
    Path("undated.txt").write_text("\n".join(line for line in text.splitlines() if "# Date" not in line))
    assert imb("import", "undated.txt", "--label", "twelve").code == 0
    stored = list(csv.DictReader(io.StringIO(imb("export", "twelve").out)))
    assert [round(float(row["time_max_seconds"]) * 1e6) for row in stored] == list(range(1, 13))
    newest_first = [json.loads(line) for line in imb("ls", "--format", "json", "twelve").out.splitlines()]
    assert [int(run["origin"].rpartition(":")[2]) for run in newest_first] == sorted(
        (int(run["origin"].rpartition(":")[2]) for run in newest_first), reverse=True
    )


def test_files_of_a_folder_are_in_the_order_of_their_numbers(imb: Imb, here: Path) -> None:
    folder = here / "runs"
    folder.mkdir()
    first, end = Path(TWO).read_text().partition("# All processes entering MPI_Finalize\n")[:2]
    for number in (1, 2, 10):
        (folder / f"run{number}.log").write_text(first.replace("1.00", f"{number}.00") + end)
    shown = [line.strip() for line in imb("show", "runs").out.splitlines()]
    assert [line.split(",")[0] for line in shown if line.startswith("runs/")] == [
        f"runs/run{number}.log" for number in (1, 2, 10)
    ]


# ---------------------------------------------------------------- lines that were not read


READING = {
    "show": ["show", LOST],
    "export": ["export", LOST],
    "diagnose": ["diagnose", LOST],
    "compare": ["compare", TWO, LOST],
    "report": ["report", LOST, "-o", "page.html"],
    "curves": ["report", LOST, "-f", "terminal"],
    "watch": ["watch", LOST],
    "baseline set": ["baseline", "set", "kept", LOST],
    "import": ["import", LOST],
}


@pytest.mark.parametrize("command", READING)
def test_every_command_reports_rows_that_it_did_not_read(imb: Imb, here: Path, command: str) -> None:
    said = imb(*READING[command])
    assert f"imb: {LOST}:37: not a row of 4 columns" in said.err, said
    assert said.code == 1, said


def test_a_check_against_a_baseline_reports_rows_that_it_did_not_read(imb: Imb, here: Path) -> None:
    assert imb("baseline", "set", "kept", TWO).code == 0
    said = imb("baseline", "check", "kept", LOST, "--force")
    assert f"{LOST}:37:" in said.err and said.code == 1, said


def test_unread_rows_are_a_finding(imb: Imb, archive: Archive, here: Path) -> None:
    (one,) = findings(imb("diagnose", LOST, "--format", "json"))
    assert (one["rule"], one["level"]) == ("unreadable lines", "problem")
    assert "1 row skipped" in str(one["found"]) and "line 37" in str(one["found"])
    assert imb("report", LOST, "-o", "page.html").code == 1
    assert "1 row skipped" in Path("page.html").read_text()
    assert imb("import", LOST).code == 1
    stored = imb("diagnose", archive.ids()[0][:10])
    assert stored.code == 1 and "1 row skipped" in stored.out and ":37:" in stored.err
    # Its import had exit status 1; a verdict on a stored run keeps its own.
    compared = imb("compare", archive.ids()[0][:10], TWO)
    assert compared.code == 11 and ":37:" in compared.err


def test_rows_are_missing_of_the_launch_that_had_them(imb: Imb, here: Path) -> None:
    lines = Path(TWO).read_text().splitlines()
    broken = next(i for i, line in enumerate(lines) if line.split()[:2] == ["4", "1000"])
    lines[broken] = lines[broken].replace("1000", "10x0")
    Path("two.txt").write_text("\n".join(lines) + "\n")
    first, second = imb("show", "two.txt#1"), imb("show", "two.txt#2")
    assert first.code == 1 and f"two.txt:{broken + 1}:" in first.err
    assert second.code == 0 and not second.err


def test_text_beside_logs_in_a_folder_is_reported_and_loses_nothing(imb: Imb, here: Path) -> None:
    folder = here / "runs"
    folder.mkdir()
    shutil.copy(TWO, folder)
    (folder / "README").write_text("How these were measured.\n")
    said = imb("export", "runs")
    assert said.code == 0 and "README: there is no table" in said.err


# ---------------------------------------------------------------- findings


def test_an_operation_that_computation_delays_is_a_warning(imb: Imb, here: Path) -> None:
    said = imb("diagnose", "T1-overlapped-slower.txt", "--format", "json")
    (one,) = [one for one in findings(said) if one["level"] == "warning"]
    assert "6.2 s" in str(one["found"]) and "484 times" in str(one["found"])
    assert "2.8 ms" in str(one["found"]) and "10 ms" in str(one["found"])
    assert said.code == 1
    raised = imb("diagnose", "T1-overlapped-slower.txt", "--threshold", "overlap_excess=500")
    assert raised.code == 0 and "484" not in raised.out


def test_processes_that_were_started_alone_are_diagnosed(imb: Imb, archive: Archive, here: Path) -> None:
    for name in ("U1-alone.txt", "alone"):
        if name == "alone":
            assert imb("import", "U1-alone.txt", "--label", name).code == 0
        said = imb("diagnose", name, "--format", "json")
        one = findings(said)[0]
        assert said.code == 1, said
        assert "every process was started alone" in str(one["found"]) or name == "alone"
        assert "PingPong needs at least 2 ranks" in str(one["found"])
        assert "PMI" in str(one["advice"])


@pytest.mark.parametrize(
    ("asked", "level"), [({"intent": {"ranks": 4}}, "problem"), ({"intent": {"ranks": 1}}, "warning")]
)
def test_one_process_instead_of_several_is_a_problem(
    imb: Imb, archive: Archive, asked: dict[str, object], level: str
) -> None:

    failure = Failure(benchmark="PingPong", processes=1, cause="invalid_processes")
    records = write([Run(component="MPI1"), failure, End(state="complete", failed=1)])
    run = archive.add(Content(records=records, facts={"kind": "launch", "outcome": "measured", **asked})).id
    said = imb("diagnose", run[:10], "--format", "json")
    one = findings(said)[0]
    assert said.code == 1 and (one["rule"], one["level"]) == ("started alone", level), said
    assert ("instead of 4 processes" in str(one["found"])) == (level == "problem")


def test_bandwidth_of_device_memory_in_a_log_is_held_against_the_link(imb: Imb, here: Path) -> None:
    rows = [
        Result(benchmark="osu_bw_cuda", multi="off", bytes=size, bytes_per_second=rate)
        for size, rate in ((1, 0.5e6), (1 << 22, 46500e6))
    ]
    Path("gpu.jsonl").write_bytes(
        write([Run(program="OSU Micro-Benchmarks", options={"memory": "cuda"}), *rows])
    )
    said = imb("diagnose", "--gpu-link", "50GB/s", "gpu.jsonl", "--format", "json")
    (one,) = [one for one in findings(said) if one["rule"] == "gpu-link"]
    assert "46.5 of 50 GB/s" in str(one["found"]) and "93 %" in str(one["found"])
    assert said.code == 0 and any("assumed" in note for note in json.loads(said.out)["notes"])


def test_the_same_table_again_is_a_launch_of_its_own(imb: Imb, here: Path) -> None:
    name = "AI-repeated-tables.txt"
    assert "2.00x" in imb("compare", f"{name}#1", f"{name}#2").out
    assert float(times(imb("export", f"{name}#2"))[0]) == pytest.approx(1e-6)


@pytest.mark.parametrize(
    ("name", "share", "listed"),
    [("AJ-osu75-device.txt", "93 %", "OSU 7.5 (cuda)"), ("AS-imb-gpu-part.txt", "84 %", "MPI1 (device)")],
)
def test_device_memory_that_a_title_or_a_command_shows(
    imb: Imb, here: Path, name: str, share: str, listed: str
) -> None:
    said = imb("diagnose", "--gpu-link", "50GB/s", name, "--format", "json")
    (one,) = [one for one in findings(said) if one["rule"] == "gpu-link"]
    assert share in str(one["found"]) and said.code == 0
    assert imb("import", name).code == 0
    assert listed in " ".join(imb("ls", name).out.split())


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("AJ-osu75-device.txt", " -d cuda D D", " $ARGUMENTS"),
        ("AS-imb-gpu-part.txt", " -mem_alloc_type device", ""),
    ],
)
def test_memory_that_a_log_of_gpus_does_not_show_is_unknown(
    imb: Imb, here: Path, name: str, old: str, new: str
) -> None:
    Path("gpu.txt").write_text(Path(name).read_text().replace(old, new))
    notes = json.loads(imb("diagnose", "--gpu-link", "5GB/s", "gpu.txt", "--format", "json").out)["notes"]
    for judged in ("--gpu-link", "latency against common values of host memory"):
        assert f"{judged}: the log does not show whether messages are in device memory" in notes
    assert imb("import", "gpu.txt").code == 0
    assert "(memory unknown)" in " ".join(imb("ls", "gpu.txt").out.split())


@pytest.mark.parametrize("arguments", ["", " -m 1:4096", " -d cuda H H"])
def test_memory_of_the_host_is_not_unknown(imb: Imb, here: Path, arguments: str) -> None:
    title = "MPI-CUDA" if "cuda" in arguments else "MPI"
    log = (
        Path("AJ-osu75-device.txt").read_text().replace(" -d cuda D D", arguments).replace("MPI-CUDA", title)
    )
    Path("host.txt").write_text(log)
    said = imb("diagnose", "--gpu-link", "50GB/s", "host.txt")
    assert "messages are not in device memory" in said.out, said


# ---------------------------------------------------------------- names and cells of other people's text


def test_texts_in_csv_are_no_formulas(imb: Imb, here: Path) -> None:
    assert imb("import", TWO, "--label", "=1+1", "--label", "-x").code == 0
    (first, *_) = csv.DictReader(io.StringIO(imb("export", "=1+1").out))
    assert first["labels"] == "'=1+1, -x" and float(first["time_max_seconds"]) > 0
    (row,) = csv.DictReader(
        io.StringIO(
            imb("query", "--format", "csv", "SELECT '@a' AS a, -1.5 AS b, '-1.5' AS c, '+x' AS d").out
        )
    )
    assert row == {"a": "'@a", "b": "-1.5", "c": "-1.5", "d": "'+x"}


def test_a_removed_label_is_not_its_own_suggestion(imb: Imb, here: Path) -> None:
    assert imb("import", TWO, "--label", "monday").code == 0
    assert imb("archive", "rm", "monday", "--all").code == 0
    said = imb("show", "monday")
    assert said.code == 2 and "did you mean" not in said.err and "imb archive restore monday" in said.err
    assert imb("archive", "restore", "monday").code == 0 and imb("show", "monday").code == 0


@pytest.mark.parametrize(
    "label",
    ["\U0001f468\u200d\U0001f469\u200d\U0001f467", "10\u00a0GB", "\u0645\u06cc\u200c\u0631\u0648\u0645"],
)
def test_printable_text_is_a_label(imb: Imb, here: Path, label: str) -> None:
    assert imb("import", TWO, "--label", label).code == 0
    assert label in imb("ls", label).out


@pytest.mark.parametrize("label", ["a\u202eb", "a\x1bb", "a\u2066b", "a\nb", "a\u200bb", "\u200da"])
def test_control_characters_are_no_label(imb: Imb, here: Path, label: str) -> None:
    said = imb("import", TWO, "--label", label)
    assert said.code == 2 and "control character" in said.err, said


def test_a_file_name_that_is_not_utf_8_is_taken_by_every_command(imb: Imb, here: Path) -> None:
    name = os.fsdecode(b"r\xe9sultat.log")
    shutil.copy(TWO, name)
    for command, said in uses(imb, name, here).items():
        assert said.code in (0, 11), (command, said)
    for words in (["diagnose", name], ["compare", name, name], ["export", name]):
        assert imb(*words, "--format", "json").code in (0, 11)
    assert "r\\xe9sultat.log" in imb("show", name).out
    assert imb("show", "r\\xe9sultat.log").code == 0
    assert imb("import", name).code == 0 and imb("ls", name).code == 0


def test_an_interleaving_server_without_a_network_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")

    monkeypatch.setattr("socket.create_server", refused)
    with pytest.raises(ImbError, match=r"need a port of 127\.0\.0\.1: Cannot assign requested address"):
        Conductor([2, 2], 1)
