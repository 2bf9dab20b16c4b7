"""Logs of other components, cut off, with a tag before each line, with rows that cannot be read: what an import says."""

import re
from pathlib import Path

import pytest
from companion.door import Imb
from imb.readers.formats import parse
from imb.store.store import Archive

LOG = Path(__file__).parents[1] / "reference" / "mpi1-np2.txt"
TEXT = LOG.read_bytes()
EXAMPLES = Path(__file__).parents[2] / "schema" / "examples"
END = b"# All processes entering MPI_Finalize"
P2P = b"""#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.11, IMB-P2P part
#----------------------------------------------------------------
# Date                  : Sat Nov 21 07:06:10 2026

#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
      1048576           20         1.17     77777.00

"""


def figures(imb: Imb, sql: str) -> list[str]:
    return imb("query", "-f", "csv", sql).out.split()[1:]


def cut_at(benchmark: bytes, rows: int) -> bytes:
    """The log until this many rows of this benchmark."""
    start = TEXT.index(b"# Benchmarking " + benchmark + b" ")
    lines = TEXT[TEXT.index(b"#repetitions", start) :].splitlines(keepends=True)[: rows + 1]
    return TEXT[: TEXT.index(b"#repetitions", start)] + b"".join(lines)


@pytest.mark.parametrize("part", [b"GPU part    ", b"IMB-NEW part"])
def test_an_unknown_component_is_named_and_not_mixed(
    imb: Imb, archive: Archive, tmp_path: Path, part: bytes
) -> None:
    other = P2P.replace(b"IMB-P2P part", part)
    (tmp_path / "only.log").write_bytes(other)
    name = part.split()[0].removeprefix(b"IMB-").decode()
    said = imb("import", tmp_path / "only.log")
    assert said.code == 1 and said.err.splitlines() == [
        f"imb: {tmp_path}/only.log:1: component {name} is not supported; skipped"
    ]
    assert not archive.ids()
    for text in (TEXT + other, other + TEXT, TEXT + other + TEXT):
        (tmp_path / "mixed.log").write_bytes(text)
        said = imb("import", tmp_path / "mixed.log")
        assert said.code == 1 and len(said.err.splitlines()) == 1, said
        (run,) = archive.ids()
        assert archive.run(run).part("output.txt") == TEXT
        assert figures(imb, "SELECT component, date FROM runs") == ["MPI1,2026-11-21T07:05:53"]
        assert figures(imb, "SELECT count(*) FROM results WHERE bytes = 1048576") == ["0"]
        assert said.out.splitlines()[-1].startswith(f"1 file: {81 * text.count(END)} rows")


@pytest.mark.parametrize("kept", [-2, -20, -60])
def test_a_torn_row_of_an_unknown_component_is_part_of_it(imb: Imb, tmp_path: Path, kept: int) -> None:
    """As everything else in it: one line says that it was skipped."""
    other = P2P.replace(b"IMB-P2P part", b"IMB-NEW part").rstrip() + b"\n"
    rows = other.splitlines(keepends=True)[-1]
    for before in (b"", TEXT):
        log = tmp_path / "torn.log"
        log.write_bytes(before + (other + 2 * rows)[:kept])
        said = imb("import", log)
        line = before.count(b"\n") + 1
        assert said.code == 1
        assert said.err.splitlines() == [f"imb: {log}:{line}: component NEW is not supported; skipped"]


def test_a_log_without_an_end_is_reported(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    log = tmp_path / "cut.log"
    log.write_bytes(cut_at(b"Allreduce", 3))
    said = imb("import", log)
    assert said.code == 0 and not said.err
    assert f"{log}: no end: probably cut off after Allreduce, 8 bytes" in said.out.splitlines()
    found = imb("diagnose", log)
    assert found.code == 1 and "warning, incomplete" in found.out and "cut off after Allreduce" in found.out
    note = imb("compare", LOG, log).out
    assert "B: 1 launch was cut off" in note
    whole = imb("import", LOG)
    assert "no end" not in whole.out and "warning, incomplete" not in imb("diagnose", LOG).out


def test_the_last_row_of_a_launch_that_was_cut_off_may_follow_a_failure(imb: Imb, tmp_path: Path) -> None:
    log = tmp_path / "cut.log"
    text = cut_at(b"Allreduce", 3)
    first = text.index(b"# Benchmarking PingPong ")
    row = text.index(b"\n", text.index(b"#repetitions", first)) + 1
    end = text.index(b"\n", row)
    failed = b"            0     TIME-OUT"
    log.write_bytes(text[:row] + failed + text[end:])
    assert "cut off after Allreduce" in imb("diagnose", log).out


def test_an_excerpt_need_not_have_an_end(imb: Imb, tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_bytes(TEXT[TEXT.index(b"#---", 400) : -60].replace(END, b""))
    assert "no end" not in imb("import", tmp_path / "some.txt").out


@pytest.mark.parametrize("tag", [b"0: ", b" 0: ", b"[1,0]<stdout>:", b"2026-11-01T03:00:00.123 "])
def test_an_end_behind_a_tag_is_an_end(imb: Imb, tmp_path: Path, tag: bytes) -> None:
    log = tmp_path / "tagged.log"
    log.write_bytes(b"".join(tag + line for line in TEXT.splitlines(keepends=True)))
    said = imb("import", log)
    assert said.code == 0 and "no end" not in said.out and "other text" not in said.out, said
    assert figures(imb, "SELECT state, rows FROM runs") == ["complete,81"]


def test_rows_with_decimal_commas_are_one_line(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    start = TEXT.index(b"# Benchmarking")
    head, tables = TEXT[:start], TEXT[start:]
    (tmp_path / "german.log").write_bytes(head + tables.replace(b".", b","))
    said = imb("import", tmp_path / "german.log")
    assert said.code == 1 and not archive.ids()
    (line,) = said.err.splitlines()
    assert "81 rows have a decimal comma" in line and "0 runs" in said.out


@pytest.mark.parametrize("part", ["all", "tables", "export"])
@pytest.mark.parametrize("sign", [";", ","])
def test_columns_that_blanks_do_not_separate_are_one_line(
    imb: Imb, archive: Archive, tmp_path: Path, part: str, sign: str
) -> None:
    """As a spreadsheet saves a log, also with decimal commas, and the tables of it; and as imb exports it."""
    lines = TEXT.decode().splitlines()
    lines = [sign.join(line.split()) if re.match(r" +[#\d]", line) else line for line in lines]
    text = "\n".join(line for line in lines if part == "all" or line.count(sign) > 1)
    if part == "export":
        (tmp_path / "a.log").write_bytes(TEXT)
        text = imb("export", tmp_path / "a.log", "--separator", sign).out
    if sign == ";":
        text = text.replace(".", ",")
    (tmp_path / "a.csv").write_text(text)
    said = imb("import", tmp_path / "a.csv")
    assert said.code == 1 and not archive.ids() and said.out.endswith("; 0 runs, 0 of them new\n"), said
    (line,) = said.err.splitlines()
    words = f"columns are separated by {sign!r}, not by blanks; give the log as it was printed"
    assert re.fullmatch(rf"imb: .*a\.csv:\d+: {re.escape(words)}", line)


def test_damaged_rows_in_a_row_are_one_line(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    lines = TEXT.splitlines(keepends=True)
    head = next(i for i, line in enumerate(lines) if b"#repetitions" in line)
    for i in range(head + 2, head + 5):
        lines[i] = lines[i][:26] + b"\n"
    (tmp_path / "damaged.log").write_bytes(b"".join(lines))
    said = imb("import", tmp_path / "damaged.log")
    assert said.code == 1 and len(archive.ids()) == 1
    (line,) = said.err.splitlines()
    words = f"lines {head + 3}-{head + 5}: 3 rows do not fit the heading of line {head + 1}"
    assert f"damaged.log:{head + 3}: {words}" in line
    assert f"imb: {archive.ids()[0][:10]}/output.txt:{head + 3}: {words}" in imb("show", archive.ids()[0]).err
    assert figures(imb, "SELECT rows FROM runs") == ["78"]


def test_rows_without_a_heading_are_reported(imb: Imb, tmp_path: Path) -> None:
    lines = TEXT.splitlines(keepends=True)
    head = next(i for i, line in enumerate(lines) if b"#repetitions" in line)
    (tmp_path / "tail.log").write_bytes(b"".join(lines[head + 2 :]))
    said = imb("import", tmp_path / "tail.log")
    assert said.code == 1
    (line,) = said.err.splitlines()
    assert "tail.log:1: lines 1-4: 4 rows without a heading" in line
    assert figures(imb, "SELECT rows FROM runs") == ["76"]


def test_a_row_broken_by_other_text_is_reported(imb: Imb, tmp_path: Path) -> None:
    lines = TEXT.splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if b"#repetitions" in line) + 3
    lines[at] = lines[at][:13] + b" WARNING: libibverbs: no device " + lines[at][13:]
    (tmp_path / "broken.log").write_bytes(b"".join(lines))
    said = imb("import", tmp_path / "broken.log")
    assert said.code == 1
    (line,) = said.err.splitlines()
    assert f"broken.log:{at + 1}: not a row of 4 columns: " in line
    assert figures(imb, "SELECT rows FROM runs") == ["80"]


def test_rows_of_another_rank_in_between_are_one_line_a_table(imb: Imb, tmp_path: Path) -> None:
    lines = TEXT.splitlines(keepends=True)
    (tmp_path / "ranks.log").write_bytes(b"".join(tag + line for line in lines for tag in (b"0: ", b"1: ")))
    said = imb("import", tmp_path / "ranks.log")
    assert said.code == 1
    assert (
        sum("do not fit the heading" in line for line in said.err.splitlines()) == 18
    )  # Barrier has one row
    assert len(said.err.splitlines()) < 60, said.err


def test_times_before_each_line_may_differ(imb: Imb, tmp_path: Path) -> None:
    log = tmp_path / "timed.log"
    lines = TEXT.splitlines(keepends=True)
    log.write_bytes(
        b"".join(b"2026-11-01T03:00:%02d.%03d " % (i // 10, i) + line for i, line in enumerate(lines))
    )
    said = imb("import", log)
    assert said.code == 0 and "no end" not in said.out and "other text" not in said.out, said
    assert figures(imb, "SELECT state, rows FROM runs") == ["complete,81"]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (b'"schema":"openimb-record/3",', "records of the schema 'openimb-record/3'"),
        (b"", "a run record without a schema"),
    ],
)
def test_records_of_another_schema_are_not_imported(
    imb: Imb, archive: Archive, tmp_path: Path, schema: bytes, words: str
) -> None:
    text = (EXAMPLES / "complete.jsonl").read_bytes()
    other = re.sub(rb'"schema":"openimb-record/\d",', schema, text)
    assert other != text
    file = tmp_path / "other.jsonl"
    file.write_bytes(other)
    for command in ("import", "show"):
        said = imb(command, file)
        assert said.code != 0
        assert f"{file}:1: {words}; this version reads openimb-record/2" in said.err
    assert not archive.ids()


@pytest.mark.parametrize("sign", ["-", "+", "."])
def test_a_separator_that_numbers_have_is_refused(imb: Imb, sign: str) -> None:
    said = imb("export", LOG, "--separator", sign)
    assert said.code == 2 and "no number has" in said.err and not said.out


def test_a_long_table_is_shown_in_part(imb: Imb, tmp_path: Path) -> None:
    start = TEXT.index(b"#repetitions", TEXT.index(b"# Benchmarking PingPong "))
    head = TEXT[: TEXT.index(b"\n", start) + 1]
    rows = b"".join(b"%13d%13d%13.2f%13.2f\n" % (n, 1000, 1.5, 2.5) for n in range(1003))
    (tmp_path / "long.log").write_bytes(head + rows + b"\n\n" + END + b"\n")
    said = imb("show", tmp_path / "long.log")
    assert said.code == 0 and "3 rows more; `imb export` has all of them" in said.out
    assert imb("export", tmp_path / "long.log").out.count("PingPong") == 1003


def test_quantiles_of_a_bandwidth_are_no_times(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    (tmp_path / "bw.txt").write_text(
        "# OSU MPI Bandwidth Test v7.4\n"
        "# Size      Bandwidth (MB/s)  P50 Tail BW(MB/s)  P99 Tail BW(MB/s)\n"
        "1                       8.02               8.10               4.10\n"
    )
    said = imb("import", tmp_path / "bw.txt")
    assert said.code == 0 and "bw.txt:2: quantiles of bandwidth are not kept" in said.err
    assert figures(imb, "SELECT bytes_per_second, p50_seconds, p99_seconds FROM results") == ["8020000.0,,"]


OSU = (
    b"# OSU MPI Allreduce Latency Test v7.3\n"
    b"# Size       Avg Latency(us)\n"
    b"4                       2.10\n"
    b"8                       2.20\n"
)


@pytest.mark.parametrize(
    ("again", "words"),
    [
        (b"\n# Datatype: MPI_INT.\n" + OSU[OSU.index(b"# Size") :], ":7: 2 rows under a second heading"),
        (OSU[OSU.index(b"# Size") :], ":5: 2 rows under a second heading"),
        (OSU[OSU.index(b"4   ") :], ":2: message sizes repeat"),
    ],
)
def test_rows_of_several_tables_under_one_title_of_osu_are_not_pooled_silently(
    imb: Imb, tmp_path: Path, again: bytes, words: str
) -> None:
    (tmp_path / "osu.txt").write_bytes(OSU + again)
    said = imb("import", tmp_path / "osu.txt")
    assert said.code == 1 and f"osu.txt{words}" in said.err, said


@pytest.mark.parametrize(
    ("between", "lost"), [(b"", 0), (b"\r\n", 0), (b"a crash\n", 1), (b"$ mpirun -n 2 osu_allreduce\n", 1)]
)
def test_a_title_of_osu_that_is_printed_twice_loses_nothing(
    imb: Imb, tmp_path: Path, between: bytes, lost: int
) -> None:
    title = OSU[: OSU.index(b"\n") + 1]
    (tmp_path / "osu.txt").write_bytes(title + between + title + between + OSU)
    said = imb("import", tmp_path / "osu.txt")
    assert said.code == lost and len(said.err.splitlines()) == 2 * lost, said
    assert "2 rows in 1 table" in said.out


def test_rows_of_osu_that_no_heading_fits_are_one_message(imb: Imb, tmp_path: Path) -> None:
    """The mean of option -f is between the least and the largest time."""
    rows = b"".join(b"%d  50.00  60.00  89.00  1000\n" % length for length in (4, 8, 16))
    (tmp_path / "osu.txt").write_bytes(OSU[: OSU.index(b"4   ")] + rows)
    said = imb("import", tmp_path / "osu.txt")
    assert said.code == 1
    assert "osu.txt:3: lines 3-5: 3 rows do not fit the heading of line 2; skipped" in said.err
    assert len(said.err.splitlines()) == 1


IMB = b"#----\n# Benchmarking Bcast \n# #processes = 4 \n#----\n" + (
    b"       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
    b"            4         1000         2.10         2.30         2.20\n\n"
)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("table", [OSU, IMB], ids=["OSU", "IMB"])
@pytest.mark.parametrize(
    "title",
    [
        "**{}**",
        "**{}:**",
        "__{}__",
        "> **{}**",
        "<summary>{}</summary>",
        "{}:",
        '=== "{}"',
        '??? note "{}"',
        "> ## {}",
    ],
)
def test_titles_of_pages_are_labels(imb: Imb, tmp_path: Path, title: str, table: bytes, end: bytes) -> None:
    page = b"".join(
        b"%b\n\n```\n%b```\n\n" % (title.format(name).encode(), table) for name in ("Before", "After")
    )
    (tmp_path / "page.md").write_bytes((b"## Part\n\n" + page).replace(b"\n", end))
    assert imb("import", tmp_path / "page.md").code == 0
    assert " ".join(figures(imb, "SELECT label FROM labels ORDER BY label")) == "Part / After Part / Before"


@pytest.mark.parametrize(
    "line",
    [
        "+ {}", "Command: {}", "`{}`", "# Running: {}", "CMD={}", "Command line: `{}`", "$ {} | tee osu_out",
        "> Running: {}", "** Executing: {} **",
    ],
)  # fmt: skip
def test_a_command_that_a_script_prints_has_the_ranks(imb: Imb, tmp_path: Path, line: str) -> None:
    command = "mpirun --hostfile osu_hosts -np 6 ./osu_allreduce"
    (tmp_path / "osu.txt").write_bytes(line.format(command).encode() + b"\n" + OSU)
    assert imb("import", tmp_path / "osu.txt").code == 0
    assert figures(imb, "SELECT DISTINCT processes FROM results") == ["6"]
    assert " ".join(figures(imb, "SELECT command FROM runs")).startswith(command)
    assert not figures(imb, "SELECT label FROM labels")


@pytest.mark.parametrize("table", [OSU, IMB], ids=["OSU", "IMB"])
@pytest.mark.parametrize("tag", ["[1,0]<stdout>:", "0: ", "10:00:01 ", ""])
def test_no_row_is_lost_where_a_line_feed_is_missing(
    imb: Imb, tmp_path: Path, tag: str, table: bytes
) -> None:
    """Every line feed, one after the other: each row is read, or reported."""
    lines = [tag.encode() + line for line in table.splitlines()]
    rows = sum(not line.startswith(b"#") and b"#" not in line for line in table.split(b"\n") if line.strip())
    for at in range(len(lines) - 1):
        text = b"".join(line + (b"" if number == at else b"\n") for number, line in enumerate(lines))
        log = parse(text, "log")
        assert log.counts()[1] == rows or log.problems, text


@pytest.mark.parametrize("option", ["-multi 0", "-Multi 0", "--multi 0", "--multi=0"])
def test_one_group_of_a_launch_with_multi_is_a_summary(option: str) -> None:
    """The title has no Multi- where there is one group."""
    log = parse(f"$ mpirun -n 4 IMB-MPI1 {option} Bcast\n".encode() + IMB, "log")
    assert [stretch.head.multi for stretch in log.launches[0].stretches()] == ["summary"]
