"""An archive of an earlier version: its runs are read as that version read them, its sessions are resumed, and what is added to it that
version reads, too.

data/archive-7f83a1c.tar.xz was recorded with `imb` and suite of commit 7f83a1c (recorded.sh in it: how): launches under MPICH and Open MPI,
labels, a baseline, an imported log, a launch that failed, a removed run, sessions that were decided, interrupted, killed and submitted, and what that
`imb` printed. A fake MPI stands for those of the plans.
"""

from __future__ import annotations

import csv
import io
import json
import lzma
import os
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
from companion import fake_mpi
from companion.door import Imb, Said
from imb.store.index import Index
from imb.store.store import Archive

RECORDED = Path(__file__).with_name("data") / "archive-7f83a1c.tar.xz"
LOG = Path(__file__).resolve().parents[1] / "reference" / "mpi1-np2.txt"
RUNS = 43


@pytest.fixture(autouse=True)
def recorded(tmp_path: Path) -> None:
    """Unpacked: the archive is that of all commands."""
    with lzma.open(RECORDED) as packed, tarfile.open(fileobj=packed) as tar:
        if hasattr(tarfile, "data_filter"):  # from Python 3.11.4 on
            tar.extraction_filter = tarfile.data_filter
        tar.extractall(tmp_path)


@pytest.fixture
def own_mpi(tmp_path: Path) -> Path:
    """Plans are of this user, and their MPIs are a fake one, which is returned."""
    mpi = tmp_path / "mpi"
    fake_mpi.make(mpi)
    for file in tmp_path.glob("archive/sessions/*/plan.json"):
        text = re.sub(r'"/opt/imb/\w+/bin"', f'"{mpi}/bin"', file.read_text())
        text = re.sub(r'"/opt/(mpich|openmpi)', f'"{mpi}', text)
        file.write_text(text.replace('"owner": 0', f'"owner": {os.geteuid()}'))
    return mpi


def session(archive: Archive, *, label: str = "", start: str = "") -> str:
    """The name of the session whose first launch has this label, or whose arguments begin so."""
    found = []
    for file in sorted(archive.folder.glob("sessions/*/plan.json")):
        first = json.loads(file.read_text())["items"][0]
        if (label in first["labels"]) if label else " ".join(first["arguments"]).startswith(start):
            found.append(file.parent.name)
    (name,) = found
    return name


def count(imb: Imb, label: str) -> int:
    """Runs with this label."""
    said = imb("ls", "--all", "--label", label, "--format", "json")
    return len(said.out.splitlines())


def table(said: Said) -> list[dict[str, str]]:
    assert (said.code, said.err) == (0, ""), said
    return list(csv.DictReader(io.StringIO(said.out)))


def printed(folder: Path, name: str) -> list[dict[str, str]]:
    """What the earlier version printed."""
    with (folder / "printed" / name).open(newline="") as file:
        return list(csv.DictReader(file))


# --- Read as they were read then -------------------------------------------------------------------------------------


def test_tables_have_what_they_had(imb: Imb, tmp_path: Path) -> None:
    queries = {
        "results.csv": "SELECT * EXCLUDE (groups) FROM results ORDER BY run, line, benchmark, bytes, mode, processes, time_max_seconds",
        "runs.csv": "FROM runs ORDER BY run",
        "labels.csv": "SELECT run, label FROM labels ORDER BY ALL",
    }
    for name, sql in queries.items():
        before, now = printed(tmp_path, name), table(imb("query", sql, "-f", "csv"))
        assert len(before) > 39
        # Columns may have been added.
        assert [{column: row[column] for column in before[0]} for row in now] == before, name
    listed = imb("ls", "--all")
    assert listed.code == 0 and len(listed.out.splitlines()) == 1 + RUNS
    for words in ("Open MPI", "IMB 2021.11", "FABRIC", "interrupted", "killed", "mpis/b"):
        assert words in listed.out, words


def test_every_run_is_shown(imb: Imb, archive: Archive) -> None:
    for run in archive.ids():
        said = imb("show", run)
        assert (said.code, said.err) == (0, ""), (run, said)
    failed = imb("show", "failed")
    assert failed.code == 0 and re.search(r"outcome +timed_out\n", failed.out), failed.out
    said = imb("show", "mpich-before")
    assert said.code == 0 and "3 launches, MPICH Version: 5.0.2" in said.out
    said = imb("archive", "label", "first-of-all")
    assert "mpich-before, first-of-all\n" in said.out and "the switch was replaced after this" in said.out


def test_they_are_judged(imb: Imb, tmp_path: Path) -> None:
    decided = imb("compare", "mpis/a", "mpis/b")
    assert decided.code == 0 and re.search(r"PingPong +8\.23x ▲", decided.out), decided.out
    assert re.search(r"PingPong +8\.23x ▲", (tmp_path / "printed" / "compare-ab.txt").read_text())
    for name, what in (
        ("compare.txt", ["mpich-before", "openmpi"]),
        ("compare-ab.txt", ["mpis/a", "mpis/b"]),
    ):
        before, now = (tmp_path / "printed" / name).read_text(), imb("compare", *what).out
        conditions = re.compile(r"Environment differences\n(.*?)\n\n", re.DOTALL)
        same = conditions.search(before)
        assert same and (found := conditions.search(now)), now
        assert found[1].split() == same[1].split()
    said = imb("compare", "mpich-before", "openmpi", "--format", "json")
    assert said.code == 11 and json.loads(said.out)
    assert imb("diagnose", "mpis/b").code in (0, 1)
    assert imb("watch", "mpich-before").code == 11
    for words in (
        ["report", "mpis/a", "mpis/b", "-o", tmp_path / "page.html"],
        ["report", "passes", "-o", tmp_path / "passes.html"],
    ):
        assert imb(*words).code == 0
    said = imb("fabric", "cores")
    assert said.code == 11 and "2 cores; 1 pair, 2 passes: Pair_Latency 8 bytes 6.04 µs" in said.out


def test_they_are_exported_verified_and_restored(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    for form in ("csv", "json", "jsonl", "parquet", "markdown", "prometheus"):
        assert imb("export", "mpich-before", "--format", form, "-o", tmp_path / f"all.{form}").code == 0, form
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 31
    assert imb("export", "--samples", "passes", "-o", tmp_path / "samples.csv").code == 0
    assert len((tmp_path / "samples.csv").read_text().splitlines()) > 30
    assert imb("show", "vendor", "--output").out.encode() == LOG.read_bytes()
    assert imb("import", LOG).out.endswith("1 run, 0 of them new\n")
    verified = imb("archive", "verify")
    assert (verified.code, verified.out) == (0, f"{RUNS} runs: 0 damaged, 0 cut off before added\n")
    assert imb("archive", "restore", "mistake").code == 0 and count(imb, "mistake") == 1
    assert len(archive.ids()) == RUNS + 1


# --- Sessions that it left -------------------------------------------------------------------------------------------


def test_an_interrupted_session_is_resumed(imb: Imb, archive: Archive, own_mpi: Path) -> None:
    assert count(imb, "half") == 3  # of launch 3 what was measured before the interruption
    name = session(archive, label="half")
    shown = imb("run", "--resume", name, "--dry-run").out.splitlines()
    assert len(shown) == 2 and all(
        "PingPong Allreduce -msglog 3 -iter 10000000 -time 0.2 " in line for line in shown
    )
    said = imb("run", "--resume", name)
    assert said.code == 0 and f"session {name}: 2 of 4 launches to run, MPICH 5.0.2\n" in said.err, said
    assert count(imb, "half") == 4
    assert "nothing left to run, 4 launches done" in imb("run", "--resume", name).err


def test_a_killed_session_is_resumed_and_what_its_launch_left_is_kept(
    imb: Imb, archive: Archive, own_mpi: Path
) -> None:
    name = session(archive, label="killed")
    (part,) = (archive.folder / "sessions" / name).glob("*.part")
    left = (part / "records.jsonl").read_bytes()
    said = imb("run", "--resume", name)
    assert said.code == 0 and f"session {name}: 2 of 3 launches to run, Open MPI 5.0.11\n" in said.err, said
    assert count(imb, "killed") == 3
    kept = [run for run in map(archive.run, archive.ids()) if run.part("records.jsonl") == left]
    assert [run.facts()["outcome"] for run in kept] == ["interrupted"]
    assert sorted(file.name for file in part.parent.iterdir()) == [
        "0001.json",
        "0002.json",
        "0003.json",
        "lock",
        "plan.json",
    ]


def test_a_killed_campaign_is_resumed_by_its_file_after_its_teardown(
    imb: Imb, archive: Archive, own_mpi: Path, tmp_path: Path
) -> None:
    name = session(archive, label="setups/plain")
    folder = archive.folder / "sessions" / name
    assert json.loads((folder / "standing.json").read_text()) == {"variant": 2}
    before = (folder / "setup.log").read_text()
    assert before.endswith("set up late\n")
    said = imb("campaign", tmp_path / "setups.toml", "--resume")
    assert (
        said.code == 0 and f"campaign setups, session {name}, seed 5: 4 of 6 launches to run" in said.err
    ), said
    after = (folder / "setup.log").read_text().removeprefix(before)
    assert re.search(r"\A[^\n]*echo torn down late[^\n]*\ntorn down late\n", after), after
    assert not (folder / "standing.json").exists()
    assert [count(imb, f"setups/{variant}") for variant in ("plain", "eager", "late")] == [2, 2, 2]


def test_interleaved_launches_are_repeated_together(
    imb: Imb, archive: Archive, own_mpi: Path, tmp_path: Path
) -> None:
    name = session(archive, label="interleaved/b")
    said = imb("campaign", tmp_path / "parts.toml", "--resume")
    assert said.code == 0 and f"session {name}, seed 6: 2 of 4 launches to run" in said.err, said
    assert [count(imb, f"interleaved/{variant}") for variant in "ab"] == [2, 2]


@pytest.mark.parametrize(
    ("label", "start", "left", "all_of_them"),
    [
        ("half-ab/a", "", 4, 6),
        ("baseline-check/reference", "", 2, 3),
        ("", "PingPong -msgsize 1 ", 2, 3),  # imb latency
        ("submitted", "", 2, 2),
        ("startup", "", 0, 2),
    ],
)
def test_sessions_of_other_commands_are_resumed(
    imb: Imb, archive: Archive, own_mpi: Path, label: str, start: str, left: int, all_of_them: int
) -> None:
    name = session(archive, label=label, start=start)
    said = imb("run", "--resume", name)
    words = (
        f"{left} of {all_of_them} launches to run"
        if left
        else f"nothing left to run, {all_of_them} launches done"
    )
    assert said.code == 0 and words in said.err, said
    assert len(list((archive.folder / "sessions" / name).glob("0*.json"))) == all_of_them
    assert imb("archive", "verify").code == 0
    if label.startswith("half-ab"):
        assert imb("compare", "half-ab/a", "half-ab/b").code == 11
    if label.startswith("baseline"):
        assert imb("baseline", "check", "reference", label).code == 11


def test_a_sweep_of_a_fabric_is_resumed(imb: Imb, archive: Archive, own_mpi: Path) -> None:
    (cores,) = imb("ls", "--label", "cores", "--format", "json").out.splitlines()
    measured = archive.run(json.loads(cores)["run"]).part("records.jsonl")
    assert measured
    (own_mpi / "bin" / "IMB-FABRIC").write_text("#!/bin/sh\n")
    (own_mpi / "bin" / "IMB-FABRIC").chmod(0o755)
    (own_mpi / "bin" / "records-4").write_bytes(measured)
    said = imb("run", "--resume", session(archive, label="cores-half"))
    assert said.code == 11 and "2 cores; 1 pair, 2 passes: Pair_Latency 8 bytes 6.04 µs" in said.out, said


def test_a_session_that_was_decided_stays_decided(imb: Imb, archive: Archive, own_mpi: Path) -> None:
    """That version did not write down that no launch follows."""
    name = session(archive, label="mpis/a")
    said = imb("run", "--resume", name)
    assert said.code == 0 and "stopped after 5 rounds: 1 of 1 band decided" in said.err, said
    assert count(imb, "mpis/a") == count(imb, "mpis/b") == 5


def test_the_newest_unfinished_session_is_resumed_first(imb: Imb, archive: Archive, own_mpi: Path) -> None:
    said = imb("run", "--resume", "--dry-run")
    assert said.code == 0 and "IMB-FABRIC Pair_Latency -endpoint core" in said.out
    said = imb("campaign", "--resume", "--dry-run")
    assert said.code == 0 and len(re.findall("MPIR_CVAR_X", said.out)) == 3, said


def test_a_baseline_is_checked_by_runs_and_repeated(imb: Imb, own_mpi: Path) -> None:
    said = imb("baseline", "list")
    assert said.code == 0 and re.search(
        r"reference@1 +2026-11-28 +intra-node +3 .*before the update", said.out
    )
    said = imb("baseline", "show", "reference")
    assert (
        said.code == 0
        and "set 2026-11-28T09:26:36Z by user@node1 from mpich-before: before the update" in said.out
    )
    said = imb("baseline", "check", "reference", "mpich-after")
    assert said.code == 11 and "PingPong" in said.out and "Allreduce" in said.out
    said = imb("baseline", "check", "reference", "--mpi", own_mpi, "--programs", own_mpi / "bin")
    assert said.code in (0, 10, 11, 12) and "3 of 3 launches to run" in said.err, said


# --- What the earlier version reads of this one ----------------------------------------------------------------------


def test_what_is_added_is_what_the_earlier_version_reads(imb: Imb, archive: Archive, own_mpi: Path) -> None:
    """7f83a1c decodes these files into its own types: other fields are passed over, these it needs, with these types."""
    words = [
        "PingPong",
        "--mpi",
        own_mpi,
        "--programs",
        own_mpi / "bin",
        "--launches",
        2,
        "--label",
        "now",
        "--",
        "-msglog",
        "3",
    ]
    known = set(archive.ids())
    labels = set(archive.label_files())
    assert imb("run", *words).code == 0
    assert imb("archive", "label", "now", "more", "--all", "--note", "a note").code == 0
    for run in set(archive.ids()) - known:
        place = archive.path_of(run)
        assert place == archive.folder / "runs" / run[:2] / run
        manifest = json.loads((place / "manifest.json").read_text())
        assert manifest["format"] == "openimb-run/1" and manifest["id"] == run
        assert {name: kind_of(manifest[name]) for name in ("added", "host", "imb")} == dict.fromkeys(
            ("added", "host", "imb"), "str"
        )
        assert set(manifest["files"]) <= {"records.jsonl", "output.txt", "stderr.txt", "facts.json"}
        assert all(
            kind_of(file["sha256"]) == "str" and kind_of(file["bytes"]) == "int"
            for file in manifest["files"].values()
        )
        facts = json.loads((place / "facts.json").read_text())
        assert {name: kind_of(facts[name]) for name in FACTS} == FACTS
    for file in set(archive.label_files()) - labels:
        assert re.fullmatch(
            r"\d{20}-[0-9a-f]{16}-[0-9a-f]{8}\.json", file.name
        )  # it reads [0-9]*.json, sorted by name
        change = json.loads(file.read_text())
        assert {name: kind_of(change[name]) for name in ("run", "at", "by", "add", "remove")} == {
            "run": "str", "at": "str", "by": "str", "add": "list", "remove": "list",
        }  # fmt: skip


# Facts of a launch, as it takes them.
FACTS = {
    "kind": "str",
    "campaign": "str",
    "session": "str",
    "number": "int",
    "turn": "int",
    "cell": "int",
    "host": "str",
    "command": "list",
    "component": "str",
    "arguments": "list",
    "programs": "str",
    "intent": "dict",
    "started": "str",
    "conditions": "dict",
    "exit_status": "int",
    "outcome": "str",
    "seconds": "float",
}


def kind_of(value: Any) -> str:
    return type(value).__name__


def test_a_plan_has_what_the_earlier_version_resumes(imb: Imb, archive: Archive, own_mpi: Path) -> None:
    """Its classes lack fields of today, which it passes over; those that it needs are there, by their names of then."""
    known = set(archive.folder.glob("sessions/*"))
    mpi = ["--mpi", own_mpi, "--programs", own_mpi / "bin"]
    assert imb("run", "PingPong", *mpi).code == 0
    assert (
        imb("ab", "--a", "", "--b", "A=1", *mpi, "--launches", 2, "--launch-by-launch", "PingPong").code == 11
    )
    new = sorted(set(archive.folder.glob("sessions/*")) - known)
    assert len(new) == 2
    for folder in new:
        plan = json.loads((folder / "plan.json").read_text())
        assert {name: kind_of(plan[name]) for name in ("id", "created", "variants", "items")} == {
            "id": "str", "created": "str", "variants": "list", "items": "list",
        }  # fmt: skip
        for variant in plan["variants"]:
            assert {"mpi", "programs", "intent"} <= variant.keys()
            assert {"flavour", "version", "major", "wrapper", "launcher"} <= variant["mpi"].keys()
            assert variant["mpi"]["flavour"] in ("openmpi", "mpich", "intel", "other")
            assert kind_of(variant["intent"]["ranks"]) == "int"
            assert variant["intent"]["launcher"] in ("mpiexec", "srun")
        for number, item in enumerate(plan["items"], 1):
            assert item["number"] == number and {"component", "arguments", "turn"} <= item.keys()
        over = sorted(folder.glob("[0-9]*.json"))
        assert len(over) == len(plan["items"])
        for file in over:
            assert {"number", "run", "outcome", "status"} <= json.loads(file.read_text()).keys()


def test_a_baseline_has_what_the_earlier_version_reads(imb: Imb, archive: Archive) -> None:
    """It takes records of version 1, whose options are others: it reads a run record without any."""
    said = imb("baseline", "set", "reference", "mpich-after")
    assert said.code == 0 and said.out.startswith("reference@2: 3 launches, intra-node"), said
    made = json.loads((archive.folder / "baselines" / "reference" / "0002.json").read_text())
    before = json.loads((archive.folder / "baselines" / "reference" / "0001.json").read_text())
    assert before.keys() <= made.keys() and list(made)[-1] == "sha256"
    for kept in made["launches"]:
        assert kept.keys() >= before["launches"][0].keys()
        run = json.loads(kept["records"].splitlines()[0])
        assert run["record"] == "run" and run["component"] == "MPI1" and run["options"] is None
        assert kept["options"]["msglog"] == "0:4"  # for this version
    said = imb("baseline", "check", "reference", "mpich-before")
    assert said.code == 11 and "msglog" not in said.out, said
    differing = imb("baseline", "check", "reference", "mpis/a")
    assert "msglog" in differing.out, differing  # options are compared


def test_the_cache_has_a_folder_of_its_own_for_each_version(
    imb: Imb, archive: Archive, tmp_path: Path
) -> None:
    """7f83a1c has its columns in index-6, and reads what is in that folder without a check of their state."""
    assert imb("ls").code == 0
    assert Index(archive).segments()
    assert "index-6" not in {folder.name for folder in (tmp_path / "cache" / "openimb").iterdir()}
