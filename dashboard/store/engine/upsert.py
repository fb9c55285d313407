"""Statements for both databases: insert if new, insert or update, expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, Executable, Table, Text, case, func
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import UnaryExpression
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.operators import custom_op
from sqlalchemy.types import TypeEngine

from dashboard.store.schema.columns import escape


def insert_new(connection: Connection, table: Table, row: Mapping[str, Any]) -> bool:
    """Insert a row unless one with the same key exists; return whether it was inserted."""
    insert = _insert_if_new(connection.dialect.name, table)
    return connection.execute(insert, row).first() is not None


@cache
def _insert_if_new(database: str, table: Table) -> Executable:
    """Return the statement, cached: building it takes longer than running it."""
    insert = _insert(database, table).on_conflict_do_nothing()
    return insert.returning(*table.primary_key)


def insert_all_new(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows; rows whose key exists already stay as they are."""
    if rows:
        insert = _insert(connection.dialect.name, table).on_conflict_do_nothing()
        connection.execute(insert, rows)


def upsert(
    connection: Connection,
    table: Table,
    rows: Sequence[Mapping[str, Any]],
    keep: frozenset[str] = frozenset(),
) -> None:
    """Insert rows; each replaces the row with the same primary key, except for the columns `keep`.

    A column of `keep` keeps its value, unless that is null. All rows have the same columns.
    """
    if rows:
        statement = _upsert(connection.dialect.name, table, tuple(rows[0]), keep)
        connection.execute(statement, rows)


@cache
def _upsert(
    database: str, table: Table, names: tuple[str, ...], keep: frozenset[str]
) -> Executable:
    insert = _insert(database, table)
    keys = [column.name for column in table.primary_key]
    changed = {
        name: _kept(table, insert, name) if name in keep else insert.excluded[name]
        for name in names
        if name not in keys
    }
    return insert.on_conflict_do_update(index_elements=keys, set_=changed)


def upsert_sums(
    connection: Connection,
    table: Table,
    rows: Sequence[Mapping[str, Any]],
    latest: str | None = None,
) -> None:
    """Insert rows of counts; if a row with the same primary key exists, add to it.

    The column `latest`, if there is one, is not added up: it keeps the larger of both values.
    """
    if rows:
        statement = _upsert_sums(connection.dialect.name, table, tuple(rows[0]), latest)
        connection.execute(statement, rows)


@cache
def _upsert_sums(
    database: str, table: Table, names: tuple[str, ...], latest: str | None
) -> Executable:
    insert = _insert(database, table)
    keys = [column.name for column in table.primary_key]
    sums: dict[str, ColumnElement[Any]] = {
        name: table.c[name] + insert.excluded[name] for name in names if name not in (*keys, latest)
    }
    if latest is not None:
        is_newer = insert.excluded[latest] > table.c[latest]
        sums[latest] = case((is_newer, insert.excluded[latest]), else_=table.c[latest])
    return insert.on_conflict_do_update(index_elements=keys, set_=sums)


def _kept(table: Table, insert: sqlite.Insert, name: str) -> ColumnElement[Any]:
    return func.coalesce(table.c[name], insert.excluded[name])


def _insert(database: str, table: Table) -> sqlite.Insert:
    """Return the statement for this database; only the module differs."""
    if database == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - a twentieth of all imports of a command

    return cast("sqlite.Insert", postgresql.insert(table))


class _AsciiLower(FunctionElement[str]):
    """Lower case of A to Z: SQLite's `lower` knows only these, PostgreSQL's has its collation."""

    type: TypeEngine[str] = Text()
    inherit_cache: bool | None = True


@compiles(_AsciiLower, "sqlite")
def _in_sqlite(element: _AsciiLower, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - as SQLAlchemy calls it
    return f"lower({compiler.process(element.clauses, **options)})"


@compiles(_AsciiLower, "postgresql")
def _in_postgresql(element: _AsciiLower, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - as SQLAlchemy calls it
    return f'lower({compiler.process(element.clauses, **options)} COLLATE "C")'


def holds_text(column: ColumnElement[str], text: str) -> ColumnElement[bool]:
    """Return the condition that a column of `ForeignText` contains `text`, in either case."""
    lowered = "".join(each.lower() if each.isascii() else each for each in escape(text))
    return _AsciiLower(column).contains(lowered, autoescape=True)


def without_index(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a column's value such that the planner finds no index for it: each row is read.

    Without statistics it would rather sort all rows of a network, or read all arrivals, than use
    the index that leads to few.
    """
    return UnaryExpression(column, operator=custom_op("+"), type_=column.type)
