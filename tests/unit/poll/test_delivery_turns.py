"""Delivery takes turns: once in a period, and besides as soon as a change is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from dashboard.errors import StoreUnavailable
from dashboard.poll.jobs import DeliveryTurns
from dashboard.poll.lease import Term

pytestmark = pytest.mark.anyio

LONG = timedelta(hours=1)
TERM = Term("worker", 7, LONG, timedelta)


class CountedDelivery:
    """Counts rounds, and how often it is asked for changes."""

    def __init__(self) -> None:
        self.rounds: list[int] = []
        self.asked = 0
        self.waiting = 0
        self.is_failing = False

    def has_changes(self) -> bool:
        self.asked += 1
        return self.waiting > 0

    def run(self, holder_token: int, _may_send: Callable[[], bool]) -> bool:
        self.rounds.append(holder_token)
        if self.is_failing:
            raise StoreUnavailable("the disk is full")
        self.waiting = max(0, self.waiting - 1)
        return self.waiting > 0

    def finish(self, within: timedelta) -> object:
        raise NotImplementedError(within)


async def test_delivery_runs_at_first_and_then_once_in_a_period() -> None:
    delivery = CountedDelivery()
    turns = DeliveryTurns(delivery, LONG, TERM, asyncio.Event())

    for _ in range(5):
        await turns.run()

    assert (delivery.rounds, delivery.asked) == ([7], 4)


async def test_delivery_runs_again_when_its_period_is_over() -> None:
    delivery = CountedDelivery()
    turns = DeliveryTurns(delivery, timedelta(), TERM, asyncio.Event())

    await turns.run()
    await turns.run()

    assert (delivery.rounds, delivery.asked) == ([7, 7], 0)


async def test_delivery_runs_as_soon_as_a_change_is_stored() -> None:
    delivery = CountedDelivery()
    turns = DeliveryTurns(delivery, LONG, TERM, asyncio.Event())
    await turns.run()

    delivery.waiting = 3
    await turns.run()
    await turns.run()

    assert delivery.rounds == [7] * 4


async def test_delivery_that_failed_waits_for_its_period_whatever_is_stored() -> None:
    delivery = CountedDelivery()
    turns = DeliveryTurns(delivery, LONG, TERM, asyncio.Event())
    delivery.waiting, delivery.is_failing = 1, True
    with pytest.raises(StoreUnavailable):
        await turns.run()

    await turns.run()

    assert (delivery.rounds, delivery.asked) == ([7], 0)


async def test_delivery_begins_no_round_once_the_term_is_over() -> None:
    delivery, over = CountedDelivery(), asyncio.Event()
    delivery.waiting = 3
    over.set()

    await DeliveryTurns(delivery, LONG, TERM, over).run()

    assert delivery.rounds == [7]
