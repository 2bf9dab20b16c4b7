"""Answers SQL queries over the archive's tables. A query can read only these tables and cannot write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from imb.model.errors import ImbError
from imb.model.text import one_line
from imb.store.store import Archive

if TYPE_CHECKING:
    import duckdb

_LONGEST = 400  # most characters of a message to show


class QueryResult(NamedTuple):
    """Names of the columns, and the rows."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


def ask(archive: Archive, sql: str) -> QueryResult:
    """The answer to one SELECT statement. Raises ImbError for other statements, or if the query fails."""
    import duckdb

    from imb.store.index import Index

    sql.encode()  # raises UnicodeEncodeError for surrogates; DuckDB's error would not state the reason
    try:
        statements = duckdb.extract_statements(sql)
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            raise ImbError(
                f"not one SELECT statement: {one_line(sql)[:_LONGEST]!r};"
                ' give one query, such as "SELECT count(*) FROM results"'
            )
        return Index(archive).answer(lambda connection: _execute(connection, statements[0]))
    except (duckdb.Error, ValueError, OverflowError) as error:
        raise ImbError(f"query failed: {one_line(' '.join(str(error).split()))[:_LONGEST]}") from error


def _execute(connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement) -> QueryResult:
    """The answer. The parameter keeps `connection` open; with older versions of DuckDB, the answer does not."""
    answer = connection.sql(statement)
    return QueryResult(answer.columns, answer.fetchall()) if answer is not None else QueryResult([], [])
