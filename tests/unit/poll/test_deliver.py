"""Delivery goes on while answers are awaited, and no longer than the term."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

from dashboard.poll.jobs import deliver
from dashboard.poll.lease import Term

TERM = Term("worker", 7, timedelta(hours=1), timedelta)


class CountedDelivery:
    """Awaits answers for three rounds; `over` is set in the second one, if given."""

    def __init__(self, over: asyncio.Event | None = None) -> None:
        self.rounds: list[tuple[int, bool]] = []
        self._over = over

    def run(self, holder_token: int, may_send: Callable[[], bool]) -> bool:
        self.rounds.append((holder_token, may_send()))
        if self._over is not None and len(self.rounds) == 2:
            self._over.set()
        return len(self.rounds) <= 3

    def finish(self, within: timedelta) -> object:
        raise NotImplementedError(within)


async def test_delivery_goes_on_while_answers_are_awaited() -> None:
    delivery = CountedDelivery()

    await deliver(delivery, TERM, asyncio.Event())

    assert delivery.rounds == [(7, True)] * 4


async def test_delivery_begins_no_round_once_the_term_is_over() -> None:
    over = asyncio.Event()
    delivery = CountedDelivery(over)

    await deliver(delivery, TERM, over)

    assert len(delivery.rounds) == 2
