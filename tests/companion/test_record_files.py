"""Files of JSON lines: several launches in one file, lines that are damaged, and the way from an export back into an archive."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from companion import fabrics
from companion.door import Imb
from imb.model.records import (
    End,
    Mpi,
    Rank,
    Record,
    Result,
    Run,
    Sample,
    SampledRow,
    encode,
    read,
    read_launches,
    write,
)
from imb.store.store import Archive, Content

EXAMPLES = Path(__file__).resolve().parents[2] / "schema" / "examples"
LOG = Path(__file__).parent / "data" / "cases" / "R1-twelve-launches.txt"


def launch(mpi: str, seconds: float, lengths: int = 3, host: str = "n1") -> bytes:
    rows: list[Record] = [
        Result(
            benchmark="PingPong",
            kind="single_transfer",
            multi="off",
            processes=2,
            bytes=8 << power,
            repetitions=10,
            time_max_seconds=seconds,
        )
        for power in range(lengths)
    ]
    run = Run(
        program="OpenIMB",
        component="MPI1",
        mpi=Mpi(name=mpi),
        command_line=["IMB-MPI1", "PingPong", "-for", mpi],
        ranks=[Rank(0, host), Rank(1, host)],
    )
    return write([run, *rows, End(state="complete", measured=lengths)])


def passes(seconds: float, *, end: bool = True) -> bytes:
    run = Run(program="OpenIMB", component="MPI1", ranks=[Rank(0, "n1"), Rank(1, "n1")])
    row = SampledRow(row=0, benchmark="PingPong", multi="off", processes=2, bytes=8)
    samples = [
        Sample(row=0, pass_=number, repetitions=10, time_max_seconds=seconds, time_avg_seconds=seconds)
        for number in range(1, 4)
    ]
    return write([run, row, *samples, *([End(state="complete")] if end else [])])


def answer(imb: Imb, query: str) -> list[list[object]]:
    lines = imb("query", query, "--format", "json").out.splitlines()
    return [list(json.loads(line).values()) for line in lines]


A, B = launch("MPICH 4.0", 1e-6), launch("Open MPI 5.0", 3e-6, host="n2")


# --- Several launches ----------------------------------------------------------------------------------


def test_each_run_record_begins_a_launch_in_every_command(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("both.jsonl").write_bytes(A + B)
    said = imb("import", "both.jsonl")
    assert said.code == 0 and "6 rows in 2 tables, 0 failures; 2 runs, 2 of them new" in said.out, said
    query = "SELECT mpi, command, nodes, rows, origin FROM runs ORDER BY mpi"
    file = str(tmp_path / "both.jsonl")
    assert answer(imb, query) == [
        ["MPICH 4.0", "IMB-MPI1 PingPong -for MPICH 4.0", "n1", 3, f"{file}:1"],
        ["Open MPI 5.0", "IMB-MPI1 PingPong -for Open MPI 5.0", "n2", 3, f"{file}:6"],
    ]
    for name, mpi, time in (("both.jsonl#1", "MPICH 4.0", "1.00"), ("both.jsonl#2", "Open MPI 5.0", "3.00")):
        shown = imb("show", name)
        assert re.search(rf"^mpi +{mpi}$", shown.out, re.MULTILINE) and f" {time}\n" in shown.out, shown
    exported = imb("export", "both.jsonl").out.splitlines()
    assert [line.partition(",")[0].strip('"') for line in exported[1:]] == ["both.jsonl#1"] * 3 + [
        "both.jsonl#2"
    ] * 3
    assert "0.33x" in imb("compare", "both.jsonl#1", "both.jsonl#2").out
    refused = imb("diagnose", "both.jsonl")
    assert refused.code == 2 and "MPICH 4.0" in refused.err and "Open MPI 5.0" in refused.err, refused
    assert "2 launches" in imb("baseline", "set", "x", "both.jsonl").out
    metrics = imb("export", "both.jsonl", "--format", "prometheus").out
    assert 'mpi="MPICH 4.0"' in metrics and 'mpi="Open MPI 5.0"' in metrics


def test_what_is_exported_comes_back_as_it_was(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    """Launches of several MPIs, in passes, cut off, without a run record, of IMB-FABRIC, and read from a log."""
    texts = [A, B, passes(2e-6), passes(4e-6, end=False), A[: A.rindex(b"\n", 0, -1)]]
    texts += [path.read_bytes() for path in sorted(EXAMPLES.glob("*.jsonl"))]
    texts += [fabrics.records(fabrics.hosts(4)), fabrics.records(fabrics.hosts(4), end=False)]
    texts.append(write([Result(benchmark="Bcast", processes=4, bytes=8, time_max_seconds=1e-6)]))
    for number, text in enumerate(texts):
        archive.add(Content(records=text, facts={"kind": "launch", "number": number}))
    assert imb("import", LOG).code == 0
    before = [archive.run(run).records(samples=True).records for run in archive.ids()]
    file, other = tmp_path / "all.jsonl", tmp_path / "other"
    assert imb("export", "--format", "jsonl", "-o", file).code == 0
    assert imb("import", file, "--archive", other).code == 0
    again = [Archive(other).run(run).records(samples=True).records for run in Archive(other).ids()]
    assert sorted(map(write, again)) == sorted(
        write(records if isinstance(records[0], Run) else [Run(), *records]) for records in before
    )
    second = tmp_path / "second.jsonl"
    assert imb("export", "--format", "jsonl", "-o", second, "--archive", other).code == 0
    third = tmp_path / "third"
    assert imb("import", second, "--archive", third).code == 0
    assert Archive(third).ids() == Archive(other).ids()


PAIR = pytest.param("pair", marks=pytest.mark.slice("fabric"))

# --- Damaged lines -------------------------------------------------------------------------------------


def damaged(kind: str) -> bytes:
    """Two launches; the last line of this kind in the first one is torn."""
    text = {"pair": fabrics.records(fabrics.hosts(4)), "sample": passes(2e-6), "row": passes(2e-6)}.get(
        kind, A
    )
    lines = text.splitlines(keepends=True)
    at = max(n for n, line in enumerate(lines) if line.startswith(b'{"record":"%s"' % kind.encode()))
    lines[at] = lines[at][: len(lines[at]) // 2] + b"\n"
    second = {"pair": fabrics.records(fabrics.hosts(4), seed=2), "sample": passes(3e-6), "row": passes(3e-6)}
    return b"".join(lines) + second.get(kind, A.replace(b"1e-06", b"2e-06"))


@pytest.mark.parametrize("kind", ["run", "result", "row", "sample", PAIR, "end"])
def test_a_damaged_line_is_named_by_every_command(imb: Imb, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "r.jsonl"
    text = damaged(kind)
    file.write_bytes(text)
    line = next(n for n, each in enumerate(text.splitlines(), 1) if not each.endswith(b"}"))
    commands: list[list[object]] = [
        ["import", file],
        ["show", file],
        ["export", file],
        ["export", file, "-f", "json"],
        ["export", file, "-f", "jsonl"],
    ]
    commands += [["fabric", file]] if kind == "pair" else [["diagnose", file], ["compare", file, file]]
    for words in commands:
        said = imb(*words)
        assert said.code == 1, (words, said)
        assert f"r.jsonl:{line}: not a record of openimb-record/2" in said.err, (words, said)


def test_rows_after_a_damaged_run_record_are_not_those_of_the_launch_before(imb: Imb, tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_bytes(A + B.replace(b'"component"', b'"component', 1))
    assert imb("import", file).code == 1
    query = "SELECT mpi, rows FROM runs ORDER BY mpi NULLS LAST"
    assert answer(imb, query) == [["MPICH 4.0", 3], [None, 3]]
    # The line is missing.
    file.write_bytes(A + B.partition(b"\n")[2])
    said = imb("show", f"{file}#2")
    assert (
        said.code == 1
        and "r.jsonl:6: a record after the end of a launch" in said.err
        and "mpi " not in said.out
    )


@pytest.mark.parametrize("end", [True, False])
def test_a_torn_sample_does_not_swallow_the_next_launch(imb: Imb, tmp_path: Path, end: bool) -> None:
    """The first file was cut off within its last line, which has no line feed."""
    text = passes(2e-6)
    cut = text.rindex(b'{"record":"sample"') + 60
    file = tmp_path / "r.jsonl"
    file.write_bytes(text[:cut] + (B if end else B.partition(b'{"record":"end"')[0]))
    said = imb("import", file)
    assert said.code == 1 and "4 rows in 2 tables, 0 failures; 2 runs, 2 of them new" in said.out, said
    assert "r.jsonl:5: not a record" in said.err
    first = imb("show", f"{file}#1")
    assert first.code == 1 and "2.00" in first.out and "r.jsonl:5: not a record" in first.err, first
    second = imb("show", f"{file}#2")
    assert second.code == 0 and "Open MPI 5.0" in second.out and "3.00" in second.out, second


def test_negative_times_of_a_launch_that_was_cut_off_are_left_out(imb: Imb, tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    whole = passes(2e-6, end=False)
    negative = re.sub(rb'"time_max_seconds":', rb'"time_max_seconds":-', whole)
    assert negative.count(b":-") == 3
    file.write_bytes(negative)
    said = imb("show", file)
    assert said.code == 1 and said.err.count("negative time; skipped") == 3, said
    assert not re.search(r"(?<!\S)-\d", said.out)
    assert ",-" not in imb("export", file, "--samples").out


def test_many_damaged_lines_are_counted(imb: Imb, tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_bytes(A.partition(b"\n")[0] + b"\n" + b"nonsense\n" * 3000 + A.partition(b"\n")[2])
    said = imb("show", file)
    assert said.code == 1 and said.err.count("not a record") == 1000, said.err[-300:]
    assert "2,000 more lines are no whole record" in said.err


# --- At random -----------------------------------------------------------------------------------------


def disturbed(rng: random.Random) -> bytes:
    """Files of records torn, doubled, cut, joined and interleaved."""
    texts = [A, B, passes(2e-6), passes(3e-6, end=False), fabrics.records(fabrics.hosts(4))]
    texts += [path.read_bytes() for path in EXAMPLES.glob("*.jsonl")]
    text = b"".join(rng.sample(texts, rng.randint(1, 3)))
    for _ in range(rng.randint(1, 3)):
        at, to = sorted(rng.sample(range(len(text)), 2))
        to = min(to, at + rng.choice([1, 30, 400]))
        lines = text.splitlines(keepends=True)
        match rng.randrange(6):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:to]
            case 2:
                text = text[:to] + text[at:]
            case 3:
                text = text[:at] + rng.choice([b"\n", b"\0", b"\xff", b"x", b"  ", b"\r\n"]) + text[at:]
            case 4:
                rng.shuffle(lines)
                text = b"".join(lines)
            case 5:
                other = rng.choice(texts)
                text = text[:at] + other[: rng.randrange(len(other))] + text[at:]
    return text


@pytest.mark.parametrize("seed", range(40))
def test_no_disturbance_loses_a_line_in_silence(imb: Imb, tmp_path: Path, seed: int) -> None:
    """What is not read is named: what was read, written again, with the lines that are named has all that the file has."""
    rng = random.Random(seed)
    text = disturbed(rng)
    launches = read_launches(text, "f", samples=True)
    plain = read(text, "f")
    named = {problem.line for each in launches for problem in each.problems}
    assert named == {problem.line for problem in plain.problems}
    kept = sum(len(each.records) for each in launches)
    whole = sum(line.startswith(b'{"record":') and _is_whole(line) for line in text.splitlines())
    lines = [n for n, line in enumerate(text.split(b"\n"), 1) if line.strip() and not _is_whole(line)]
    foreign = any(each.other for each in launches)
    assert foreign or (kept >= whole and set(lines) - named <= set(_joined(text)))
    file = tmp_path / "r.jsonl"
    file.write_bytes(text)
    for words in (["import", file], ["show", file], ["export", file], ["diagnose", file]):
        said = imb(*words)
        assert said.code in (0, 1, 2), (words, said)
        assert not named or said.code, (words, said)


def _is_whole(line: bytes) -> bool:
    return not read(line + b"\n", "f", samples=True).problems


def _joined(text: bytes) -> list[int]:
    """Lines of several whole records without a line feed between them."""
    return [
        number
        for number, line in enumerate(text.split(b"\n"), 1)
        if line.count(b'{"record":') > 1 and _is_whole(line)
    ]


def test_a_record_is_never_divided() -> None:
    odd = encode(Result(benchmark='{"record":"run"', processes=2, bytes=8, time_max_seconds=1e-6))
    assert [type(each).__name__ for each in read(odd + b"x" + odd, "f").records] == ["Result", "Result"]
