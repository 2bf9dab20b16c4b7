"""The commands, through the door that their user has."""

import csv
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import typer.main
from companion.door import Imb
from imb import registry
from imb.cli import option_groups
from imb.cli.app import app
from imb.model.records import read
from imb.store.store import Archive, Content

HERE = Path(__file__).resolve().parent
BOARD = HERE / "data" / "board.rst"
REFERENCES = HERE.parent / "reference"
EXAMPLES = HERE.parents[1] / "schema" / "examples"


def listed(imb: Imb, *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in imb("ls", "--all", "--format", "json", *words).out.splitlines()]


def launch(example: str = "complete", **facts: Any) -> Content:
    return Content(
        records=(EXAMPLES / f"{example}.jsonl").read_bytes(),
        output=b"the table\n",
        stderr=b"",
        facts={"kind": "launch", "exit_status": 0, **facts},
    )


def test_the_command_is_installed() -> None:
    program = Path(sys.executable).with_name("imb")
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("imb 0.")


PAGES = [
    *registry.commands(),
    *(f"archive {name}" for name in ("label", "rm", "restore", "verify")),
    *(f"baseline {name}" for name in ("set", "list", "show", "check")),
]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_help_has_every_option_in_its_group(
    imb: Imb, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Also on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    said = imb(*name.split(), "--help")
    assert said.code == 0 and said.out.startswith(f"Usage: imb {name}")
    assert max(map(len, said.out.splitlines())) <= 120
    if name in ("archive", "baseline"):
        return
    assert "Example" in said.out or "Exit status" in said.out or name.startswith("baseline ")
    assert said.out.endswith("More: man imb, and docs/ of the sources\n") and "\f" not in said.out
    shown = re.findall(r"(?m)^  (?:-\w, )?(--[\w-]+)(?: \S+)?(?:  |$| /)", said.out)
    params = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for word in name.split():
        params = params[word] if isinstance(params, Mapping) else params.commands[word]
    options = {
        max(param.opts, key=len): param.rich_help_panel
        for param in params.params
        if param.param_type_name == "option" and not param.hidden
    }
    assert sorted(shown) == sorted(options)
    assert {*options.values()} <= {*option_groups.ORDER, None}
    headings = [
        line.removesuffix(":")
        for line in said.out.splitlines()
        if line.removesuffix(":") in option_groups.ORDER
    ]
    assert headings == sorted(headings, key=option_groups.ORDER.index) and len(headings) == len(set(headings))


def cpu_seconds(words: list[str], folder: Path) -> float:
    """The least of some processes, with bytecode as an installation has it."""
    env = os.environ | {"PYTHONPYCACHEPREFIX": str(folder)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    times = []
    for _ in range(6):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "imb", *words], env=env, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


@pytest.mark.slow
def test_the_first_answers_are_quick(tmp_path: Path) -> None:
    assert cpu_seconds(["--version"], tmp_path) < 0.1
    assert cpu_seconds(["--help"], tmp_path) < 0.3


def test_help_imports_no_command() -> None:
    run = (
        "import sys; from imb.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print('loaded:', *sorted(sys.modules), file=sys.stderr)"
    )
    for words, allowed in (
        (["--version"], set()),
        (["--help"], {"imb.cli.app", "imb.cli.help", "imb.cli.option_groups"}),
    ):
        done = subprocess.run([sys.executable, "-c", run, *words], capture_output=True, text=True)
        loaded = set(done.stderr.split())
        assert done.returncode == 0 and {name for name in loaded if name.startswith("imb.cli.")} == allowed
        assert not loaded & {"numpy", "scipy", "pyarrow", "duckdb", "rich", *(() if allowed else ("typer",))}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["lss"], "Did you mean 'ls'"),
        (["ls", "--al"], "No such option*--al*--all*--help*"),
        (["run", "--resum"], "No such option*--resum*--resume*"),
        (["run", "--submi"], "No such option*--submi*--mpi*--resume*"),
        (["run", "--force-owne"], "No such option*--force-owne*; see `imb run --help`"),
        pytest.param(
            ["fabric", "--drian"],
            "No such option*--drian*--dry-run*--serial*",
            marks=pytest.mark.slice("fabric"),
        ),
        (["run", "--launch-budget", "nan"], "'--launch-budget':*number*; see"),
        (["run", "--timeout", "inf"], "'--timeout': inf is no number; see"),
        (["run", "--launch-budget", "0"], "'--launch-budget':*0.1*; see"),
        (["ab", "--a", "", "--b", "ppn=x"], "'ppn=x': ppn: expected a whole number, got text"),
        (["run", "--budget", "9"], "No such option*--budget*--launch-budget*"),
        (["archive", "label"], "Missing argument 'RUN'"),
        (["show", "3fa9"], "no run, label or file '3fa9'"),
        (["archive", "rm", "3fa9"], "no run, label or file '3fa9'"),
        (["import", "no-such-file"], "no file or folder no-such-file"),
        (["query", "SELEC 1"], "query failed"),
        (["export", "--separator", "ab"], "not one punctuation character"),
        (["export", "--format", "parquet"], "needs --output FILE"),
        (["export", "--format", "yaml"], "yaml"),
        (["export", "missing"], "no run, label or file 'missing'"),
        (["ls", "--archive", __file__], "is a file"),
    ],
)
def test_mistakes_are_one_line_and_status_2(imb: Imb, words: list[str], says: str) -> None:
    """Typer's versions word them differently: * is anything."""
    said = imb(*words)
    assert said.code == 2
    assert re.search(re.escape(says).replace(r"\*", ".*"), said.err), said.err
    assert len(said.err.splitlines()) == 1 and said.err.startswith("imb: ")


@pytest.mark.parametrize("words", [[], ["baseline"]])
def test_no_command_shows_which_there_are(imb: Imb, words: list[str]) -> None:
    said = imb(*words)
    assert (said.code, said.out) == (2, "")
    assert said.err == imb(*words, "--help").out


def test_an_empty_archive(imb: Imb) -> None:
    said = imb("ls")
    assert (said.code, said.out) == (0, "") and "no archive" in said.err
    assert imb("query", "SELECT count(*) AS n FROM results").out.split() == ["n", "0"]


def test_a_page_of_results_becomes_labeled_runs(imb: Imb) -> None:
    said = imb("import", BOARD)
    assert said.code == 0
    assert said.out.splitlines()[-1] == "1 file: 432 rows in 18 tables, 0 failures; 18 runs, 18 of them new"
    runs = listed(imb)
    assert len(runs) == 18 and sum(run["rows"] for run in runs) == 432
    assert sum(run["labels"] == ["OpenMPI 1.10.3 (compiled on juno) / internode"] for run in runs) == 1
    assert len(listed(imb, "--label", "Playing with OpenMPI BTL")) == 2
    shown = imb("show", "Reference INTEL + Mellanox / internode", "--chart")
    assert "1383.76" in shown.out and "MB/s over bytes" in shown.out


@pytest.mark.parametrize(
    ("library", "shown"),
    [
        ("MPICH Version: 5.0.2", "MPICH 5.0.2"),
        ("Open MPI v5.0.11, package: Open MPI root@builder Distribution, ident: 5.0.11", "Open MPI 5.0.11"),
        ("Intel(R) MPI Library 2021.18 for Linux* OS", "Intel 2021.18"),
        ("MPI VERSION    : CRAY MPICH version 8.1.28.29 (ANL base 3.4a2)", "CRAY MPICH 8.1.28.29"),
        ("MVAPICH2 Version : 2.3.7", "MVAPICH2 2.3.7"),
        ("Another MPI of a long name, build 7", "Another MPI of a long n…"),
        (None, "-"),
    ],
)
def test_the_list_names_the_mpi(imb: Imb, archive: Archive, library: str | None, shown: str) -> None:
    run = {
        "record": "run",
        "schema": "openimb-record/2",
        "program": "OpenIMB",
        "mpi": {"library": library} if library else None,
    }
    archive.add(Content(records=json.dumps(run).encode() + b"\n"))
    heading, row = imb("ls").out.splitlines()
    at = heading.index("MPI")
    assert row[at:].startswith(f"{shown} ")


def test_the_list_cuts_the_end_of_a_label(imb: Imb, archive: Archive) -> None:
    """Also of one with a slash, which is no path."""
    run = {"record": "run", "schema": "openimb-record/2", "program": "OpenIMB"}
    archive.add(Content(records=json.dumps(run).encode() + b"\n", labels=[f"transports/{'x' * 80}"]))
    assert re.search(r"  transports/x+…$", imb("ls").out.splitlines()[1])


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("run", "[OPTIONS] [NAME...] [-- IMB arguments]"),
        ("ab", "[OPTIONS] [NAME...] [-- IMB arguments]"),
        ("compare", "[OPTIONS] A B"),
        ("ls", "[OPTIONS] [RUN...]"),
        ("archive label", "[OPTIONS] RUN [LABEL...]"),
    ],
)
def test_usage_lines_have_no_braces(imb: Imb, command: str, usage: str) -> None:
    assert imb(*command.split(), "--help").out.splitlines()[0] == f"Usage: imb {command} {usage}"


def test_importing_again_changes_nothing(imb: Imb) -> None:
    imb("import", BOARD)
    before = imb("query", "SELECT count(*), sum(bytes_per_second) FROM results").out
    assert imb("import", BOARD).out.splitlines()[-1].endswith("18 runs, 0 of them new")
    assert imb("query", "SELECT count(*), sum(bytes_per_second) FROM results").out == before
    assert len(listed(imb)) == 18


def test_a_folder_of_logs(imb: Imb) -> None:
    said = imb("import", "--label", "references", "--jobs", "2", REFERENCES)
    assert said.code == 0 and said.err == ""
    assert (
        said.out.splitlines()[-1] == "19 files: 916 rows in 251 tables, 2 failures; 19 runs, 19 of them new"
    )
    assert {run["version"] for run in listed(imb, "--label", "references")} == {"2021.11", None}
    assert len(listed(imb, "--benchmark", "pingpong")) == 6


def test_what_is_not_understood_is_named_and_the_rest_imported(imb: Imb, tmp_path: Path) -> None:
    text = (
        (REFERENCES / "mpi1-np2.txt")
        .read_bytes()
        .replace(b"            8           20         0.92", b"            8           20         0.9x", 1)
    )
    (tmp_path / "damaged.log").write_bytes(text)
    (tmp_path / "prose.txt").write_text("nothing here\n")
    (tmp_path / "secret").symlink_to(tmp_path / "nowhere")
    said = imb("import", tmp_path / "damaged.log", tmp_path / "prose.txt")
    line = text[: text.index(b"0.9x")].count(b"\n") + 1
    assert said.code == 1
    assert said.err.splitlines() == [
        f"imb: {tmp_path / 'damaged.log'}:{line}: not a row of 4 columns: '8           20         0.9x         8.68'; skipped",
        f"imb: {tmp_path / 'prose.txt'}: there is no table of IMB or of OSU's benchmarks in it",
    ]
    assert said.out.splitlines()[-1] == "2 files: 80 rows in 19 tables, 0 failures; 1 run, 1 of them new"


def test_records_of_the_suite_are_imported_as_they_are(imb: Imb) -> None:
    said = imb("import", EXAMPLES)
    assert said.code == 0
    runs = listed(imb)
    assert len(runs) == len(list(EXAMPLES.glob("*.jsonl")))
    troubled = next(run for run in runs if run["state"] == "interrupted" and run["failures"])
    assert (troubled["rows"], troubled["failures"], troubled["defects"]) == (2, 3, 3)
    assert imb("query", "SELECT DISTINCT cause FROM failures ORDER BY 1").out.split()[1:] == [
        "clock_set",
        "int_overflow",
        "invalid_processes",
        "io_error",
        "no_answer",
        "no_space",
        "out_of_memory",
        "over_budget",
        "time_out",
        "unavailable",
    ]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_parts_of_an_imported_file_are_the_file(
    imb: Imb, archive: Archive, tmp_path: Path, end: bytes
) -> None:
    page = tmp_path / "page.rst"
    page.write_bytes(BOARD.read_bytes().replace(b"\n", end))
    assert "432 rows in 18 tables" in imb("import", page).out
    runs = sorted(listed(imb), key=lambda run: int(run["origin"].rpartition(":")[2]))
    assert b"".join(archive.run(run["run"]).part("output.txt") or b"" for run in runs) == page.read_bytes()


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_log_of_osu_is_divided_where_its_launches_begin(
    imb: Imb, archive: Archive, tmp_path: Path, end: bytes
) -> None:
    tables = [
        b"# OSU MPI %s Latency Test v7.4\n# Size       Avg Latency(us)\n" % name
        + b"".join(b"%-8d%16.2f\n" % (1 << row, 1 + row / 10) for row in range(23))
        for name in (b"Allreduce", b"Allgather", b"Bcast", b"Reduce")
    ]
    tables[2] = b"+ mpirun -np 4 osu_bcast\n" + tables[2]
    parts = [table.replace(b"\n", end) for table in tables]
    (tmp_path / "osu.log").write_bytes(b"".join(parts))
    assert "92 rows in 4 tables" in imb("import", tmp_path / "osu.log").out
    stored = {archive.run(run["run"]).part("output.txt") for run in listed(imb)}
    assert stored == set(parts)


def test_a_launch_is_listed_shown_and_printed(imb: Imb, archive: Archive) -> None:
    run_id = archive.add(
        launch(command=["mpiexec", "-n", "2", "IMB-MPI1"], conditions={"governor": "performance"})
    ).id
    [run] = listed(imb)
    assert (run["run"], run["kind"], run["processes"], run["exit_status"], run["state"]) == (
        run_id,
        "launch",
        2,
        0,
        "complete",
    )
    assert json.loads(run["conditions"]) == {"governor": "performance"}
    shown = imb("show", run_id[:6], "--benchmark", "pingpong").out
    assert "mpiexec -n 2 IMB-MPI1" in shown and "PingPong" in shown and "Barrier" not in shown
    assert imb("show", run_id[:6], "--output").out == "the table\n"


def test_a_launch_in_passes_is_shown_with_precision_and_evidence(imb: Imb, archive: Archive) -> None:
    run_id = archive.add(launch("passes")).id
    shown = imb("show", run_id[:6]).out
    assert "passes       40 in 5.2 s: until each row is within ±1 % or 5 s have passed" in shown
    assert "± %" in shown and " 12.50 " in shown and " n/a" in shown
    assert "note: 1 of 2 rows missed ±1 %, worst ±12.50 % (16 B): the budget was spent" in shown
    told = " ".join(shown.split())
    assert (
        "system events: 3 involuntary switches; 1 major page fault; run delay 0.5 ms; steal 10 ms; moved"
        in told
    )
    assert "to another CPU: rank 1; eth0 on node1: 2.0 kB sent, 1.0 kB received" in told
    assert "system events" not in imb("show", run_id[:6], "--benchmark", "uniband").out
    assert listed(imb)[0]["passes"] == 40


def test_a_launch_in_passes_that_was_cut_off_has_the_rows_of_its_samples(imb: Imb, archive: Archive) -> None:
    lines = (EXAMPLES / "passes.jsonl").read_bytes().splitlines(keepends=True)
    results = next(number for number, line in enumerate(lines) if b'"record":"result"' in line)
    run_id = archive.add(Content(records=b"".join(lines[:results]))).id
    assert archive.run(run_id).part("records.jsonl") == b"".join(lines[:results])
    assert listed(imb)[0]["rows"] == 3
    told = " ".join(imb("show", run_id[:6]).out.split())
    assert "2 rows from the samples of a launch that was cut off" in told
    said = imb(
        "query", "-f", "csv", "SELECT bytes, samples, shortfall, half_width FROM results ORDER BY ALL"
    ).out
    assert said.splitlines() == [
        "bytes,samples,shortfall,half_width",
        "8,1,cut_off,",
        "8,1,cut_off,",
        "16,2,cut_off,",
    ]
    assert imb("archive", "verify").out.splitlines()[-1].startswith("1 run: 0 damaged, 1 cut off")


def test_labels(imb: Imb, archive: Archive) -> None:
    run_id = archive.add(launch()).id
    assert imb("archive", "label", run_id[:5], "baseline", "quiet", "--note", "before the update").code == 0
    assert (
        imb("archive", "label", "baseline", "--remove", "quiet").out
        == f"{run_id[:10]}  baseline\n    before the update\n"
    )
    assert listed(imb)[0]["labels"] == ["baseline"]
    assert imb("archive", "label", "baseline", " ").code == 2


def test_rm_takes_a_run_out_of_lists_and_queries(imb: Imb) -> None:
    imb("import", BOARD)
    first, second = (run["run"] for run in listed(imb)[:2])
    assert imb("archive", "rm", first[:8], "missing").code == 2 and len(listed(imb)) == 18  # all or none
    said = imb("archive", "rm", first[:8], second[:8])
    assert said.code == 0 and "removed" in said.out
    assert len(listed(imb)) == 16
    assert len(imb("archive", "verify").out.splitlines()) == 1  # their labels are no finding
    assert imb("query", "SELECT count(*) AS n FROM results").out.split() == ["n", str(16 * 24)]


def test_a_query_over_everything(imb: Imb) -> None:
    imb("import", BOARD, REFERENCES)
    sql = "SELECT label, min(time_max_seconds) * 1e6 AS us FROM results JOIN labels USING (run) GROUP BY 1 ORDER BY us LIMIT 1"
    assert json.loads(imb("query", "--format", "json", sql).out) == {
        "label": "Reference INTEL + Mellanox / intranode - intrasocket",
        "us": pytest.approx(0.25),
    }
    rows = list(
        csv.reader(
            imb(
                "query", "-f", "csv", "SELECT benchmark, count(*) AS n FROM results GROUP BY 1"
            ).out.splitlines()
        )
    )
    assert rows[0] == ["benchmark", "n"] and sum(int(n) for _, n in rows[1:]) == 432 + 916


def test_records_are_counted_as_tables(imb: Imb) -> None:
    said = imb("import", HERE.parents[1] / "schema" / "examples" / "complete.jsonl")
    assert said.out.splitlines()[-1] == "1 file: 5 rows in 5 tables, 0 failures; 1 run, 1 of them new"


def test_export_csv(imb: Imb, tmp_path: Path) -> None:
    imb("import", BOARD)
    said = imb("export", "Playing with OpenMPI BTL", "--separator", ";")  # two runs have this label
    rows = list(csv.DictReader(said.out.splitlines(), delimiter=";"))
    assert len(rows) == 48 and {row["benchmark"] for row in rows} == {"PingPong"}
    assert {row["labels"] for row in rows} == {"Playing with OpenMPI BTL"}
    largest = [float(row["time_max_seconds"]) for row in rows if row["bytes"] == "4194304"]
    assert sorted(largest) == [pytest.approx(2886.55e-6), pytest.approx(4266.39e-6)]
    assert "defects" not in rows[0]
    imb("export", "--output", tmp_path / "all.csv")
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 433


def test_export_parquet_json_and_markdown(imb: Imb, tmp_path: Path) -> None:
    imb("import", REFERENCES / "rma-np4.txt")
    assert imb("export", "--format", "parquet", "--output", tmp_path / "r.parquet").code == 0
    assert pq.read_table(tmp_path / "r.parquet").num_rows == 36
    lines = read(imb("export", "--format", "jsonl").out.encode(), "out")
    assert not lines.problems and len(lines.records) == 38
    markdown = imb("export", "--format", "markdown").out
    assert markdown.count("### ") == 9 and r"### One\_put\_all, 4 ranks" in markdown


def test_export_has_the_precision_of_rows_and_their_samples(
    imb: Imb, archive: Archive, tmp_path: Path
) -> None:
    archive.add(launch("passes"))
    archive.add(launch("complete"))
    rows = list(csv.DictReader(imb("export").out.splitlines()))
    in_passes = {row["bytes"]: row for row in rows if row["samples"] == "40"}
    assert (in_passes["16"]["half_width"], in_passes["16"]["interval_low_seconds"]) == ("0.125", "0.00000175")
    assert (in_passes["16"]["samples_used"], in_passes["16"]["machine_states"]) == ("30", "2")
    assert (in_passes["16"]["steal_seconds"], in_passes["16"]["moved_ranks"]) == ("0.01", "1")
    samples = list(csv.DictReader(imb("export", "--samples").out.splitlines()))
    assert [(s["benchmark"], s["bytes"], s["pass"]) for s in samples] == [
        ("PingPong", "8", "1"), ("PingPong", "16", "1"), ("Uniband", "8", "1"), ("PingPong", "16", "2"),
    ]  # fmt: skip
    assert [s["involuntary_switches"] for s in samples] == ["0", "3", "", "3"]  # none; not counted
    assert [s["sent_bytes"] for s in samples] == ["", "2048", "", "2048"]
    assert imb("export", "--samples", "-f", "parquet", "-o", tmp_path / "s.parquet").code == 0
    assert pq.read_table(tmp_path / "s.parquet").num_rows == 4
    assert "--samples: not with --format json" in imb("export", "--samples", "-f", "json").err
    imb("import", BOARD, "--label", "board")
    assert "no samples in these runs" in imb("export", "board", "--samples").err


def test_threads_are_columns_of_queries_and_exports(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    archive.add(Content(records=(EXAMPLES / "groups.jsonl").read_bytes()))
    archive.add(Content(records=(EXAMPLES / "troubled.jsonl").read_bytes()))
    imb("import", REFERENCES / "rma-np4.txt")
    sql = "SELECT DISTINCT threads, slowest_thread FROM results ORDER BY ALL"
    rows = [json.loads(line) for line in imb("query", "--format", "json", sql).out.splitlines()]
    assert [tuple(row.values()) for row in rows] == [(1, None), (2, 1)]
    failures = imb("query", "--format", "json", "SELECT DISTINCT threads FROM failures").out
    assert json.loads(failures) == {"threads": 1}
    assert imb("export", "--format", "parquet", "--output", tmp_path / "r.parquet").code == 0
    assert set(pq.read_table(tmp_path / "r.parquet").column("threads").to_pylist()) == {1, 2}


def test_verify_of_an_archive_that_is_not_there_is_an_error(imb: Imb, tmp_path: Path) -> None:
    said = imb("archive", "verify", "--archive", tmp_path / "nowhere")
    assert (said.code, said.out) == (2, "") and str(tmp_path / "nowhere") in said.err


def test_a_full_disk_under_the_cache_is_named(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/dev/full is a disk without room: files of the cache are links to it."""
    archive.add(launch())
    write = Path.write_bytes
    monkeypatch.setattr(
        "pyarrow.parquet.write_table",
        lambda table, path, **options: write(Path("/dev/full"), b"x" * 100_000),
    )
    for words in (["ls"], ["query", "FROM runs"], ["import", BOARD, "-j", "1"]):
        said = imb(*words)
        assert said.code == 2 and len(said.err.splitlines()) == 1, words
        assert f"{tmp_path / 'cache'}" in said.err and "No space left" in said.err, words


def test_verify_names_what_is_damaged(imb: Imb, archive: Archive) -> None:
    ids = [archive.add(launch(number=number)).id for number in range(6)]
    assert imb("archive", "verify").out == "6 runs: 0 damaged, 0 cut off before added\n"
    records = (EXAMPLES / "complete.jsonl").read_bytes()
    (archive.path_of(ids[0]) / "records.jsonl").write_bytes(records[:-30])
    (archive.path_of(ids[1]) / "output.txt").write_bytes(b"the tablE\n")
    (archive.path_of(ids[2]) / "stderr.txt").unlink()
    (archive.path_of(ids[3]) / "manifest.json").write_bytes(b'{"format"')
    (archive.path_of(ids[4]) / "extra.txt").write_bytes(b"")
    said = imb("archive", "verify")
    assert said.code == 1 and said.out.startswith("6 runs: 5 damaged")
    words = [
        "records.jsonl: is truncated",
        "output.txt: has changed",
        "stderr.txt: cannot be read",
        "cannot be read",
        "extra.txt: does not belong",
    ]
    errors = said.err.splitlines()
    assert len(errors) == 5
    for run_id, expected in zip(ids, words, strict=False):
        assert any(line.startswith(f"imb: {run_id[:10]}: ") and expected in line for line in errors), expected
    assert imb("archive", "verify", ids[5][:8]).code == 0
    assert len(listed(imb)) == 4  # of the others one has no manifest, one half of its records


def test_verify_names_cut_off_records_which_are_no_damage(imb: Imb, archive: Archive) -> None:
    whole = (EXAMPLES / "complete.jsonl").read_bytes().splitlines(keepends=True)
    archive.add(Content(records=b"".join(whole[:-1])))
    archive.add(Content(records=b"".join([*whole[:2], b'{"record":"result","benchmark":1}\n', *whole[2:]])))
    said = imb("archive", "verify")
    assert said.code == 0 and said.out.splitlines()[-1] == (
        "2 runs: 0 damaged, 1 stored with invalid lines, 1 cut off before added"
    )
    assert "no end record" in said.out and "records.jsonl:3: does not satisfy the schema" in said.out


def test_the_index_can_be_thrown_away(imb: Imb, tmp_path: Path) -> None:
    imb("import", BOARD, REFERENCES, EXAMPLES)
    sql = "SELECT * EXCLUDE (groups) FROM results ORDER BY run, line, benchmark, variant, bytes, mode, processes, group_index, time_max_seconds"
    before = (
        imb("query", "-f", "csv", sql).out,
        imb("ls", "--all").out,
        imb("query", "-f", "csv", "FROM runs ORDER BY run").out,
    )
    for path in sorted((tmp_path / "cache").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    assert (
        imb("query", "-f", "csv", sql).out,
        imb("ls", "--all").out,
        imb("query", "-f", "csv", "FROM runs ORDER BY run").out,
    ) == before


def test_segments_are_merged_and_twins_counted_once(
    imb: Imb, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    from imb.store.index import Index

    monkeypatch.setattr("imb.store.index._MANY_SEGMENTS", 3)
    for number in range(6):
        archive.add(launch(number=number))
        assert len(listed(imb)) == number + 1
    index = Index(archive)
    assert len(index.segments()) <= 4
    first = index.segments()[0]
    (index.folder / "00000000000000000000-twin").mkdir()
    for path in first.iterdir():
        (index.folder / "00000000000000000000-twin" / path.name).write_bytes(path.read_bytes())
    assert len(listed(imb)) == 6
    rows = 6 * sum(
        line.startswith(b'{"record":"result"')
        for line in (EXAMPLES / "complete.jsonl").read_bytes().splitlines()
    )
    assert imb("query", "SELECT count(*) AS n FROM results").out.split() == ["n", str(rows)]


def test_a_torn_index_is_made_anew(imb: Imb, archive: Archive) -> None:
    from imb.store.index import Index

    imb("import", BOARD)
    for segment in Index(archive).segments():
        (segment / "runs.msgpack").write_bytes(b"\x81\xa3run")
    assert len(listed(imb)) == 18
    assert imb("query", "SELECT count(*) AS n FROM results").out.split() == ["n", "432"]


def test_help_groups_commands_by_what_people_do(imb: Imb) -> None:
    out = imb("--help").out
    commands = registry.commands()
    headings = list(dict.fromkeys(command.group for command in commands.values()))
    order = [out.index(f"\n{heading}:\n") for heading in headings]
    assert order == sorted(order) and len(order) == 4
    for name, command in commands.items():
        assert len(re.findall(rf"(?m)^  {name}  ", out)) == 1, name
        assert imb(name, "--help").out.split("\n\n")[1].split() == command.summary.split(), name
    package = Path(registry.__file__).parent  # without a slice that was taken out
    modules = [path for path in package.rglob("*.py") if re.match(r'"""imb [a-z]+"""\n', path.read_text())]
    assert sorted(command.module for command in commands.values()) == sorted(
        ".".join(path.relative_to(package.parent).with_suffix("").parts) for path in modules
    )


@pytest.mark.parametrize("status", [0, 2, 10, 11])
def test_cron_mails_what_failed_and_what_became_slower(tmp_path: Path, status: int) -> None:
    """The lines of docs/cookbook.md, with an `imb` that ends like this; cron mails what they print."""
    lines = (HERE.parent.parent / "docs" / "cookbook.md").read_text().splitlines()
    run, watch = (
        next(line for line in lines if line.startswith(time)).split(maxsplit=5)[5]
        for time in ("0 2 *", "30 6 *")
    )
    program = tmp_path / "imb"
    program.write_text(f"#!/bin/sh\necho out; echo error >&2; exit {status}\n")
    program.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    for command, silent in ((run, (0,)), (watch, (0, 11))):
        text = command.replace("\\%", "%")  # as cron has it
        ended = subprocess.run(
            ["sh", "-c", text], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert (ended.stdout, ended.stderr) == ("" if status in silent else "out\nerror\n", "")


def test_the_status_of_usage_errors_is_what_the_help_states(imb: Imb) -> None:
    assert "A usage error has exit status 2." in " ".join(imb("--help").out.split())
    for name in ("run", "show", "compare", "doctor"):
        assert imb(name, "--no-such-option").code == 2
