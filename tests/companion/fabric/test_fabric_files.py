"""imb fabric: what it reads, writes and launches, where all commands behave alike."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from companion import fabrics
from companion.door import Imb
from companion.test_allocation import LSF, SLURM
from companion.test_failed_launch import NOTHING, failing
from companion.test_outputs import a_link
from companion.test_record_files import disturbed
from imb.fabric.drain import node_of
from imb.model.records import read


def test_pairs_of_two_mpis_are_not_one_sweep(imb: Imb, tmp_path: Path) -> None:
    def sweep(mpi: str, seed: int) -> bytes:
        head, _, rest = fabrics.records(fabrics.hosts(16), slow={3: 0.5}, seed=seed).partition(b"\n")
        return json.dumps(json.loads(head) | {"mpi": {"library": mpi}}).encode() + b"\n" + rest

    file = tmp_path / "both.jsonl"
    file.write_bytes(sweep("MPICH 4.0", 1) + sweep("Open MPI 5.0, package: x", 2))
    said = imb("fabric", file)
    assert said.code == 2 and said.err == (
        f"imb: {file}#1 was measured with MPICH 4.0, {file}#2 with Open MPI 5.0: times of several MPI libraries are not"
        " one sweep; judge them apart\n"
    )
    for number in (1, 2):
        alone = imb("fabric", f"{file}#{number}")
        assert alone.code == 10 and alone.out.startswith("bad: slow: host"), alone
    file.write_bytes(sweep("MPICH 4.0", 1) + sweep("MPICH 4.0", 2))
    assert imb("fabric", file).code == 10
    assert imb("import", file).out.endswith("2 runs, 2 of them new\n")


def test_negative_times_of_pairs_are_named(imb: Imb, tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    pairs = fabrics.records(fabrics.hosts(4))
    file.write_bytes(re.sub(rb'"time_seconds":([\d.e-]+)', rb'"time_seconds":-\1', pairs, count=1))
    for words in (["fabric", file], ["import", file]):
        said = imb(*words)
        assert said.code == 1 and "r.jsonl:2: " in said.err, (words, said)


@pytest.mark.parametrize(
    ("field", "damaged"),
    [
        (
            '"evidence":{"minor_faults":{"sum":6,"most":3,"rank":0}}',
            '"evidence":{"minor_faults":{"sum":6,"most":3}}',
        ),
        (
            '"evidence":{"minor_faults":{"sum":6,"most":3,"rank":0}}',
            '"evidence":{"minor_faults":{"sum":null,"most":3,"rank":0}}',
        ),
        ('"evidence":{"moved_ranks":[1,2]}', '"evidence":{"moved_ranks":[1,"2"]}'),
        ('"evidence":{"moved_ranks":[1,2]}', '"evidence":{"moved_ranks":[1,null]}'),
        ('"evidence":{"interfaces":[]}', '"evidence":{"interfaces":3}'),
        ('"at_seconds":0.5', '"at_seconds":"0.5"'),
        ('"repetitions":5', '"repetitions":5.5'),
    ],
)
def test_a_damaged_field_that_no_command_uses_is_named(
    imb: Imb, tmp_path: Path, field: str, damaged: str
) -> None:
    file = tmp_path / "r.jsonl"
    lines = fabrics.records(fabrics.hosts(4)).decode().splitlines(keepends=True)
    pairs = [n for n, line in enumerate(lines) if line.startswith('{"record":"pair"')]
    for n in pairs:
        lines[n] = re.sub(r',"(?:at_seconds|repetitions)":[^,}]*', "", lines[n]).replace(
            "}\n", f",{field}}}\n"
        )
    file.write_text("".join(lines))
    for words in (["fabric", file], ["import", file]):
        assert imb(*words).code == 0, words
    lines[pairs[3]] = lines[pairs[3]].replace(field, damaged)
    file.write_text("".join(lines))
    for words in (["fabric", file], ["import", file]):
        said = imb(*words)
        assert said.code == 1 and f"r.jsonl:{pairs[3] + 1}: not a record" in said.err, (words, said)


@pytest.mark.parametrize("seed", range(20))
def test_no_disturbance_of_pairs_is_silent(imb: Imb, tmp_path: Path, seed: int) -> None:
    text = disturbed(random.Random(seed))
    file = tmp_path / "r.jsonl"
    file.write_bytes(text)
    said = imb("fabric", file)
    assert said.code in (0, 1, 2, 10, 11), said
    assert not read(text, "f").problems or said.code, said


def test_a_fabric_reports_lines_that_it_did_not_read(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = fabrics.records(fabrics.hosts(16))
    Path("fabric.jsonl").write_bytes(text)
    whole = imb("fabric", "fabric.jsonl")
    lines = text.splitlines(keepends=True)
    Path("fabric.jsonl").write_bytes(b"".join([*lines[:5], b"{broken\n", *lines[5:]]))
    said = imb("fabric", "fabric.jsonl")
    assert whole.code != 1 and said.code == 1 and "fabric.jsonl:6:" in said.out + said.err, said


def test_a_sweep_whose_launcher_starts_nothing_is_not_judged(imb: Imb, tmp_path: Path) -> None:
    options = failing(tmp_path / "mpi", "", status=0)
    shutil.copy(tmp_path / "mpi" / "bin" / "IMB-MPI1", tmp_path / "mpi" / "bin" / "IMB-FABRIC")
    said = imb("fabric", "--endpoint", "core", *options)
    assert said.code == 11 and NOTHING in said.err, said


@pytest.mark.parametrize("read_as", ["name", "topology", "baseline"])
def test_the_page_of_a_fabric_is_none_of_the_files_that_are_judged(
    imb: Imb, tmp_path: Path, read_as: str
) -> None:
    hosts = fabrics.hosts(16)
    files = {"name": tmp_path / "r.jsonl", "baseline": tmp_path / "b.jsonl"}
    for file in files.values():
        file.write_bytes(fabrics.records(hosts))
    files["topology"] = fabrics.topology_file(tmp_path / "t.conf", hosts)
    before = {name: file.read_bytes() for name, file in files.items()}
    output = a_link(tmp_path, files[read_as].name)
    said = imb(
        *("fabric", files["name"], "--topology", files["topology"], "--baseline", files["baseline"]),
        *("--page", output),
    )
    assert said.code == 2 and f"--page {output}: this is {files[read_as]}, which is read" in said.err
    assert {name: file.read_bytes() for name, file in files.items()} == before


@pytest.mark.slow
def test_closed_streams(tmp_path: Path) -> None:
    """Neither a traceback nor a file of the archive in the place of standard output."""
    (tmp_path / "r.jsonl").write_bytes(fabrics.records(fabrics.hosts(16)))
    imb = f"{sys.executable} -m imb fabric {tmp_path}/r.jsonl"
    done = subprocess.run(f"{imb} >&-", shell=True, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "imb: standard output is closed; redirect it, for example to /dev/null\n"
    done = subprocess.run(f"{imb} 2>&-", shell=True, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0 and done.stdout.startswith("healthy: ")


def test_a_node_has_the_name_that_slurm_knows() -> None:
    assert node_of("n01.site", SLURM) == "n01"
    assert node_of("n1.site", {**LSF, "LSB_MCPU_HOSTS": "n1 3"}) == "n1.site"  # no node of Slurm
