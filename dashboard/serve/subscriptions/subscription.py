"""A subscription to new rejections, and the session that it pushes to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol
from uuid import UUID

from msgspec import Raw, json

from dashboard.domain.exclusion import ArchivedRejection
from dashboard.domain.rejection_filter import RejectionFilter
from dashboard.serve.counters import Counters
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.wire.cursor import encode_cursor

NOTIFICATION: Final = "linewatch_subscription"


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """Limits of one WebSocket.

    `largest_message`: bytes of one message. `queue`: bytes of pushes that wait for the client.
    `patience`: after this time a client that reads nothing is dropped. `idle`: after this time a
    client that sends nothing and has no subscription is closed.
    """

    largest_message: int
    queue: int
    patience: timedelta
    idle: timedelta


class Session(Protocol):
    """An open WebSocket, as methods use it."""

    @property
    def caller(self) -> ApiKey:
        """The owner of the key that opened it."""

    def push(self, text: bytes) -> bool:
        """Queue a message; False where the client's queue is full, and nothing is queued.

        Once full, a queue accepts nothing until half of it was read.
        """

    async def room(self) -> None:
        """Wait until the queue accepts a message."""

    def when_answered(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the answers to the present messages were sent."""

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the session has ended, for whatever reason."""


class Subscription:
    """Turns rejections into pushes to one session.

    `wanted.network_ids` are the networks that the caller's key opens. `place` is the newest
    arrival that was pushed, did not match or was missed; none is pushed twice.
    """

    def __init__(
        self,
        subscription_id: str,
        wanted: RejectionFilter,
        session: Session,
        place: int,
        installation: UUID,
        counters: Counters,
    ) -> None:
        """Push to `session` what matches `wanted` and arrives after `place`."""
        self.subscription_id = subscription_id
        self.wanted = wanted
        self.place = place
        self._session = session
        self._installation = installation
        self._counters = counters
        self._missed = 0
        self._missed_after = place

    def push(self, archived: ArchivedRejection, item: bytes) -> None:
        """Push a rejection if it matches and is new; count it as missed if the queue is full."""
        rejection = archived.rejection
        before, place = self.place, rejection.rejection_id
        if place <= before:
            return
        self.place = place
        if not self.wanted.fits(rejection):
            return
        self.push_missed()
        if not self._missed and self._push(item):
            return
        if not self._missed:
            self._missed_after = before
        self._missed += 1
        self._counters.missed += 1

    async def push_when_ready(self, archived: ArchivedRejection, item: bytes) -> None:
        """Push a rejection of the past, as soon as the client's queue accepts it."""
        while not self._push(item):
            await self._session.room()
        self.place = archived.rejection.rejection_id

    def push_missed(self) -> None:
        """Push to a client that reads again how many rejections it missed, and after which."""
        if not self._missed:
            return
        cursor = encode_cursor(self._missed_after, self._installation)
        if self._push(json.encode({"missed": self._missed, "cursor": cursor})):
            self._missed = 0

    def _push(self, result: bytes) -> bool:
        params = {"subscription": self.subscription_id, "result": Raw(result)}
        message = {"jsonrpc": "2.0", "method": NOTIFICATION, "params": params}
        is_queued = self._session.push(json.encode(message))
        self._counters.pushes += is_queued
        return is_queued
