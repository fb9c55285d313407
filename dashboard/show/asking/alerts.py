"""What the page Alerts asks."""

from __future__ import annotations

from dashboard.domain.notice import Notice
from dashboard.show.asking.source import Source
from dashboard.store.outbox import recent_notices


class AlertQuestions:
    """Every answer may raise StoreError."""

    def __init__(self, source: Source) -> None:
        """Ask nothing yet."""
        self._source = source

    def notices(self, limit: int) -> tuple[Notice, ...]:
        """Return the notices that were owed last, the latest first."""
        with self._source.store.read() as connection:
            return tuple(recent_notices(connection, limit))
