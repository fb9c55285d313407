"""Hints that keep the planner of a database from an index that would be slower."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.sql.elements import UnaryExpression
from sqlalchemy.sql.operators import custom_op


def by_row(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a column's value as the planner finds no index for it: each row is looked at.

    Without statistics it would rather sort all rows of a network, or walk along all arrivals,
    than go by the index that leads to few.
    """
    return UnaryExpression(column, operator=custom_op("+"), type_=column.type)
