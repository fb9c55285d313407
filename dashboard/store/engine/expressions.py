"""SQL expressions that both databases understand alike: text in either case, no index."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import UnaryExpression
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.operators import custom_op
from sqlalchemy.types import TypeEngine

from dashboard.store.schema.columns import escape


class _AsciiLower(FunctionElement[str]):
    """SQLite's `lower` knows no other letters; PostgreSQL's knows those of its collation."""

    type: TypeEngine[str] = Text()
    inherit_cache: bool | None = True


@compiles(_AsciiLower, "sqlite")
def _in_sqlite(element: _AsciiLower, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - as SQLAlchemy calls it
    return f"lower({compiler.process(element.clauses, **options)})"


@compiles(_AsciiLower, "postgresql")
def _in_postgresql(element: _AsciiLower, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - as SQLAlchemy calls it
    return f'lower({compiler.process(element.clauses, **options)} COLLATE "C")'


def holds_text(column: ColumnElement[str], text: str) -> ColumnElement[bool]:
    """Demand that `text` stands in a column of `ForeignText`, whatever the case of its letters."""
    lowered = "".join(each.lower() if each.isascii() else each for each in escape(text))
    return _AsciiLower(column).contains(lowered, autoescape=True)


def without_index(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a column's value as the planner finds no index for it: each row is looked at.

    Without statistics it would rather sort all rows of a network, or walk along all arrivals,
    than go by the index that leads to few.
    """
    return UnaryExpression(column, operator=custom_op("+"), type_=column.type)
