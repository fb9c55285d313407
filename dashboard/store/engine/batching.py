"""Work in small steps: portions of values, scans along an index, transactions that end soon.

And what queries of several subjects share: conditions, and rows gathered by a key.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, tuple_

from dashboard.store.engine.engine import Store

K = TypeVar("K")
T = TypeVar("T")

LONGEST_STEP: Final = 0.010
"""Seconds for which one step should keep other writers waiting."""

_PAUSE: Final = 0.005
"""Seconds."""

_FEWEST: Final = 5
_MOST: Final = 2000
_FIRST: Final = 20

_AT_ONCE: Final = 500
PORTION: Final = 500
"""Rows that one read of an index returns; reading makes no writer wait."""


class AdaptiveBatches:
    """Finds how many rows a step may process on this machine; `elapsed` gives seconds.

    One instance for each kind of row: a fee is many times faster than a rejection.
    """

    def __init__(
        self, elapsed: Callable[[], float] = time.perf_counter, rows: int = _FIRST
    ) -> None:
        self.rows = rows
        self.took = 0.0
        self._elapsed = elapsed
        self._rows_at_first = rows

    def restarted(self) -> AdaptiveBatches:
        """Return an instance that has measured nothing yet."""
        return AdaptiveBatches(self._elapsed, self._rows_at_first)

    def in_batches(
        self, store: Store, found: Sequence[T], act: Callable[[Connection, Sequence[T]], int]
    ) -> Iterator[int]:
        """Process the found rows, so many in each transaction; yield what the action returns.

        The transactions do not wait for the disk. `took` is for how long the last one kept others
        from writing.
        """
        place = 0
        while place < len(found):
            some = found[place : place + self.rows]
            place += len(some)
            with store.write_unsynced() as connection:
                began = self._elapsed()
                done = act(connection, some)
                self.took = self._elapsed() - began
            self.rows = next_rows(self.rows, self.took)
            yield done


def let_others_write() -> None:
    """Pause between two steps: waiting writers try each millisecond, or need this thread."""
    time.sleep(_PAUSE)


def next_rows(rows: int, took: float) -> int:
    """Return how many rows the next step may take, given how long these took."""
    if took > LONGEST_STEP:
        return max(_FEWEST, min(rows // 2, int(rows * LONGEST_STEP / took)))
    if took < LONGEST_STEP / 3:
        return min(_MOST, rows * 3 // 2)
    return rows


def portions(values: Sequence[T], size: int = _AT_ONCE) -> Iterator[Sequence[T]]:
    """Split a sequence so that a statement can name all values of a portion."""
    return (values[start : start + size] for start in range(0, len(values), size))


def rows_among(
    connection: Connection, query: Select[Any], column: ColumnElement[Any], values: Sequence[Any]
) -> Iterator[Any]:
    """Yield the rows of a query with one of these values in a column, portion by portion."""
    for some in portions(values):
        yield from connection.execute(query.where(column.in_(some)))


def grouped(pairs: Iterable[tuple[K, T]]) -> defaultdict[K, list[T]]:
    """Gather the second values of pairs by the first, in order."""
    found: defaultdict[K, list[T]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return found


def equal(*wanted: tuple[ColumnElement[Any], object]) -> Iterator[ColumnElement[bool]]:
    """Require these values of columns; None matches everything."""
    return (column == value for column, value in wanted if value is not None)


def within(
    column: ColumnElement[Any], since: datetime | None, until: datetime | None
) -> Iterator[ColumnElement[bool]]:
    """Require a moment between two others, both inclusive; None means no bound."""
    if since is not None:
        yield column >= since
    if until is not None:
        yield column <= until


def after_row(
    order: Sequence[ColumnElement[Any]], last: Sequence[Any] | None
) -> Iterator[ColumnElement[bool]]:
    """Require what comes after the row that was read last, in an order of some columns.

    Columns are compared as one row: an index that begins with them is entered right after `last`,
    while alternatives joined by OR would be tried row by row.
    """
    if last is not None:
        yield tuple_(*order) > tuple(last)
