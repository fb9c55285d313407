"""Walking along an index, a portion at a time, with nothing open in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, tuple_

PORTION: Final = 500
"""Rows that one look into an index finds; looking makes nobody wait."""


def beyond(
    order: Sequence[ColumnElement[Any]], last: Sequence[Any] | None
) -> Iterator[ColumnElement[bool]]:
    """Demand what comes after the row that was seen last, in an order of some columns.

    Columns are compared as one row: an index that begins with them is entered right after `last`,
    where alternatives joined by OR would be tried row by row.
    """
    if last is not None:
        yield tuple_(*order) > tuple(last)
