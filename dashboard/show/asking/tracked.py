"""What the page Tracked asks."""

from __future__ import annotations

from dashboard.show.asking.source import Source
from dashboard.store.transactions import TrackedTransaction, tracked


class TrackedQuestions:
    """Every answer may raise StoreError."""

    def __init__(self, source: Source) -> None:
        """Ask nothing yet."""
        self._source = source

    def newest(self, limit: int) -> tuple[TrackedTransaction, ...]:
        """Return what was tracked last, the latest first."""
        with self._source.store.read() as connection:
            return tuple(tracked(connection, limit))
