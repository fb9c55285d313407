"""What the page Rejections asks."""

from __future__ import annotations

from dashboard.domain.exclusion import StoredRejection
from dashboard.show.asking.source import Source
from dashboard.store.rejections import newest


class RejectionQuestions:
    """Every answer may raise StoreError."""

    def __init__(self, source: Source) -> None:
        """Ask nothing yet."""
        self._source = source

    def newest(self, limit: int) -> tuple[StoredRejection, ...]:
        """Return the rejections of all networks that arrived last, the latest first."""
        with self._source.store.read() as connection:
            return tuple(newest(connection, limit))
