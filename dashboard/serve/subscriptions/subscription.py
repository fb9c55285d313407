"""One subscription to new rejections: what it wants, how far it is, and what it missed."""

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


@dataclass(frozen=True, slots=True)
class Terms:
    """What a conversation is held to.

    `largest_message`: bytes of one message. `queue`: bytes of pushes that wait for the client.
    `patience`: a client that takes nothing for so long is dropped. `idle`: a client that says
    nothing for so long and subscribed to nothing is sent away.
    """

    largest_message: int
    queue: int
    patience: timedelta
    idle: timedelta


class Session(Protocol):
    """A conversation in which the server may speak unasked."""

    @property
    def caller(self) -> ApiKey:
        """Whose key opened it."""

    def push(self, text: bytes) -> bool:
        """Queue a message; False where the client's queue is full, and then nothing is queued.

        Once full, a queue takes nothing until half of it was read.
        """

    async def room(self) -> None:
        """Wait until the queue takes something."""

    def when_answered(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the answer to what is being answered now is on its way."""

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the conversation has ended, for whatever reason."""


NOTIFICATION: Final = "linewatch_subscription"


class Subscription:
    """Turns rejections into pushes to one session.

    `wanted.network_ids` are the networks that the caller's key opens. `place` is the newest
    arrival that was told, passed over or missed; none is told twice.
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
        """Tell `session` what fits `wanted` and arrives after `place`."""
        self.subscription_id = subscription_id
        self.wanted = wanted
        self.place = place
        self._session = session
        self._installation = installation
        self._counters = counters
        self._missed = 0
        self._missed_after = place

    def tell(self, archived: ArchivedRejection, item: bytes) -> None:
        """Push a rejection if it fits and is new here; count it as missed where that fails."""
        rejection = archived.rejection
        before, place = self.place, rejection.rejection_id
        if place <= before:
            return
        self.place = place
        if not self.wanted.fits(rejection):
            return
        self.own_up()
        if not self._missed and self._push(item):
            return
        if not self._missed:
            self._missed_after = before
        self._missed += 1
        self._counters.missed += 1

    async def tell_patiently(self, archived: ArchivedRejection, item: bytes) -> None:
        """Push a rejection that was searched for, when the client has room for it."""
        while not self._push(item):
            await self._session.room()
        self.place = archived.rejection.rejection_id

    def own_up(self) -> None:
        """Tell a client that reads again how many rejections it missed, and after which."""
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
