"""Walking along an index, a portion at a time, with nothing open in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, or_

PORTION: Final = 2000
"""Rows that one look into an index finds; looking makes nobody wait."""


def beyond(
    order: Sequence[ColumnElement[Any]], last: Sequence[Any] | None
) -> Iterator[ColumnElement[bool]]:
    """Demand what comes after the row that was seen last, in an order of some columns."""
    if last is None:
        return
    yield order[0] >= last[0]  # what an index begins with
    yield or_(
        *(
            and_(*(order[each] == last[each] for each in range(depth)), order[depth] > last[depth])
            for depth in range(len(order))
        )
    )
