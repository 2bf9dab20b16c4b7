"""`imb query` reads the archive's tables and nothing else; so does a query as a sample set."""

import csv
import io
from pathlib import Path

import pytest
from companion.door import Imb
from imb.model.records import Result, Run, write
from imb.store.store import Archive, Content


def stored(archive: Archive, label: str = "a") -> str:
    row = Result(benchmark="PingPong", multi="off", processes=2, bytes=8, time_avg_seconds=1e-6)
    return archive.add(Content(records=write([Run(component="MPI1"), row]), labels=[label])).id


def outside(folder: Path) -> list[str]:
    """Statements that would read or write something else than the archive's tables."""
    (folder / "secret.csv").write_text("word\nhidden\n")
    secret = folder / "secret.csv"
    return [
        f"SELECT * FROM read_csv('{secret}')",
        f"SELECT * FROM read_text('{secret}')",
        f"FROM '{secret}'",
        f"SELECT * FROM glob('{folder}/*')",
        f"COPY (SELECT 1) TO '{folder}/written.csv'",
        f"ATTACH '{folder}/written.db'",
        f"EXPORT DATABASE '{folder}/written'",
        f"EXPLAIN ANALYZE COPY (SELECT 1) TO '{folder}/written.csv'",
        "INSTALL httpfs",
        "SELECT * FROM 'https://localhost:1/x.parquet'",
        "SELECT * FROM archive",  # a variable of the program
        "SET enable_external_access = true",
        "SELECT 1; SELECT 2",
        f"SELECT 1; COPY (SELECT 1) TO '{folder}/written.csv'",
        "CREATE TABLE x AS SELECT 1",
        "DROP VIEW runs",
        "-- nothing",
        "",
    ]


def test_a_query_reads_and_writes_nothing_else(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    stored(archive)
    for sql in outside(tmp_path):
        said = imb("query", sql)
        assert (said.code, said.out) == (2, ""), sql
        assert said.err.startswith("imb: ") and len(said.err.splitlines()) == 1, sql
        assert "hidden" not in said.err
        side = imb("compare", f"sql:{sql}", "a")
        assert side.code == 2 and side.err.startswith("imb: ") and "hidden" not in side.err, sql
    assert not list(tmp_path.glob("written*"))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT benchmark FROM results",
        "FROM results SELECT benchmark",
        "WITH x AS (FROM results) SELECT benchmark FROM x;",
        "SELECT benchmark FROM results JOIN labels USING (run) JOIN runs USING (run) WHERE label = 'a'",
    ],
)
def test_every_form_of_a_select_is_answered(imb: Imb, archive: Archive, sql: str) -> None:
    stored(archive)
    assert imb("query", "-f", "csv", sql).out == "benchmark\nPingPong\n"


def test_the_columns_of_a_table_are_listed(imb: Imb, archive: Archive) -> None:
    stored(archive)
    assert "time_max_seconds" in imb("query", "DESCRIBE results").out


def test_times_with_a_zone_are_answered(imb: Imb, archive: Archive) -> None:
    stored(archive)
    sql = "SELECT now() AS at, [now()] AS several, 'infinity'::TIMESTAMP AS never"
    for form in ("table", "csv", "json"):
        said = imb("query", "-f", form, sql)
        assert (said.code, said.err) == (0, "") and "20" in said.out


def test_csv_has_one_line_end_and_a_terminal_no_control_characters(imb: Imb, archive: Archive) -> None:
    stored(archive)
    said = imb("query", "-f", "csv", "SELECT 1 AS a, 'x,y' AS b")
    assert said.out == 'a,b\n1,"x,y"\n' and list(csv.reader(io.StringIO(said.out)))[1] == ["1", "x,y"]
    shown = imb("query", "SELECT chr(27) || '[31mred' AS word").out
    assert "\x1b" not in shown and "red" in shown


def test_removed_runs_are_in_no_answer(imb: Imb, archive: Archive) -> None:
    first, _ = stored(archive), stored(archive, "b")
    archive.add(Content(records=b"", facts={"other": 1}))
    assert imb("query", "-f", "csv", "SELECT count(*) AS n FROM results").out == "n\n1\n"
    archive.remove(first)
    assert imb("query", "-f", "csv", "SELECT count(*) AS n FROM results").out == "n\n0\n"


def test_an_answer_without_rows_has_its_columns(imb: Imb) -> None:
    question = "SELECT run, bytes FROM results WHERE bytes = 65536"
    assert imb("query", question).out == "run  bytes\n0 rows\n"
    assert imb("query", "-f", "csv", question).out == "run,bytes\n"


def test_a_table_has_short_names_and_three_digits(imb: Imb, archive: Archive) -> None:
    run = stored(archive)
    question = "SELECT run, time_avg_seconds * 1.23456 AS t, 4e6::DOUBLE AS n FROM results"
    assert imb("query", question).out.split()[3:] == [run[:10], "1.23e-06", "4000000"]
    assert imb("query", "-f", "csv", question).out.splitlines()[1].startswith(f"{run},1.23456")
