"""Claimed notices in memory: which one travels next, one at a time to each address."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from datetime import datetime

from dashboard.domain.notice import Notice, Recipient


class Backlog:
    """Notices that wait for their turn: to each address those first that were tried least.

    So a letter that is deferred again and again goes last and holds up no other.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._waiting: dict[Recipient, list[Notice]] = {}
        self._under_way: dict[Recipient, Notice] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values())) + len(self._under_way)

    @property
    def is_under_way(self) -> bool:
        """Whether any notice travels now."""
        return bool(self._under_way)

    def add(self, notices: Iterable[Notice]) -> None:
        """Let notices wait for their turn."""
        for notice in notices:
            insort(self._waiting.setdefault(notice.recipient, []), notice, key=_turn)

    def start(self) -> list[Notice]:
        """Send the next notice of every address on its way that has none under way."""
        started = []
        for recipient in [each for each in self._waiting if each not in self._under_way]:
            notice = self._waiting[recipient].pop(0)
            if not self._waiting[recipient]:
                del self._waiting[recipient]
            self._under_way[recipient] = notice
            started.append(notice)
        return started

    def finish(self, notice: Notice) -> None:
        """Take note that a notice travels no longer, and need not travel again if it waits too.

        It waits while it travels where it was claimed again, under a new token.
        """
        self._under_way.pop(notice.recipient, None)
        waiting = self.take_waiting(notice.recipient)
        if others := [each for each in waiting if each.notice_id != notice.notice_id]:
            self._waiting[notice.recipient] = others

    def take_waiting(self, recipient: Recipient) -> list[Notice]:
        """Take out everything that waits for an address."""
        return self._waiting.pop(recipient, [])

    def forget_waiting(self) -> None:
        """Drop what waits; it stays owed in the store."""
        self._waiting.clear()


def _turn(notice: Notice) -> tuple[int, datetime]:
    return notice.attempts, notice.created_at
