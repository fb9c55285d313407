"""What the page Alerts asks: what lasts, and what became of every letter."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from dashboard.domain.audit import Action
from dashboard.domain.notification import Delivery, Notice, NoticeState
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.search import parse_search
from dashboard.show.queries.cache import Fresh
from dashboard.show.queries.context import Source
from dashboard.store.alerts.alert_status import (
    OpenIncident,
    PostStanding,
    open_incidents,
    post_standing,
)
from dashboard.store.alerts.held_notifications import DeadLetters, dead_by_address, send_again
from dashboard.store.alerts.notification_search import (
    NoticeFilter,
    how_many_notices,
    search_notices,
)
from dashboard.store.alerts.outbox import deliveries_by_notice
from dashboard.store.tracking.transactions import is_tracked

COUNTED: Final = timedelta(days=30)
"""How far back letters are counted."""

_SHARED_FOR: Final = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class GivenUp:
    """What was given up in the time that is counted: how much to whom, and the latest."""

    by_address: dict[str, int]
    latest: tuple[Notice, ...]


@dataclass(frozen=True, slots=True)
class PostedNotice:
    """A notice with every finished attempt to hand it over, oldest first."""

    notice: Notice
    attempts: tuple[Delivery, ...]


def searched_notices(source: Source, network_id: NetworkId | None, text: str) -> NoticeFilter:
    """Read what a person types to find notices, of one network or all."""
    found = parse_search(text)
    network_id, words = source.narrowed(network_id, "" if found.named else text.strip())
    beginning = None if found.tx_hashes else found.named
    return NoticeFilter(network_id, tx_hashes=found.tx_hashes, search=words, beginning=beginning)


class AlertQuestions:
    """Every answer may raise StoreError."""

    def __init__(self, source: Source) -> None:
        """Ask nothing yet."""
        self._source = source
        self._standing: Fresh[PostStanding] = Fresh(_SHARED_FOR, source.now)

    def standing(self) -> PostStanding:
        """Say what is owed now, and what became of the letters of the last 30 days."""
        return self._standing.get((), self._read_standing)

    def open(self) -> tuple[OpenIncident, ...]:
        """Return what lasts on networks, the oldest first."""
        with self._source.store.read() as connection:
            return tuple(open_incidents(connection))

    def how_many(self, wanted: NoticeFilter) -> int:
        """Count the notices that fit."""
        with self._source.store.read() as connection:
            return how_many_notices(connection, wanted)

    def leaf(self, wanted: NoticeFilter, number: int, rows: int) -> tuple[PostedNotice, ...]:
        """Return one leaf of the notices that fit, counted from 1, the latest first."""
        with self._source.store.read() as connection:
            found = search_notices(connection, wanted, rows, (number - 1) * rows)
            attempts = deliveries_by_notice(connection, [each.notice_id for each in found])
            return tuple(PostedNotice(each, tuple(attempts[each.notice_id])) for each in found)

    def given_up(self, limit: int) -> GivenUp:
        """Return what was given up, the latest letters by name, at most `limit`."""
        since = self._source.now() - COUNTED
        wanted = NoticeFilter(state=NoticeState.DEAD, since=since)
        with self._source.store.read() as connection:
            latest = search_notices(connection, wanted, limit)
            return GivenUp(dead_by_address(connection, since), tuple(latest))

    def send_again(self, which: DeadLetters) -> int:
        """Let what was given up be sent again, on record; return how many letters."""
        with self._source.store.write() as connection:
            many = send_again(connection, which, self._source.now())
            if many:
                self._source.note(connection, Action.RESEND, str(which), {"notices": many})
        return many

    def is_tracked(self, tx_hash: TxHash) -> bool:
        """Whether a rejection of the hash would be told."""
        with self._source.store.read() as connection:
            return is_tracked(connection, tx_hash)

    def _read_standing(self) -> PostStanding:
        with self._source.store.read() as connection:
            return post_standing(connection, self._source.now() - COUNTED)
