"""One read serves all callers that came before it began; reads run one after the other."""

from __future__ import annotations

import asyncio
import threading

import pytest

from dashboard.errors import StoreUnavailable
from dashboard.serve.rpc.exclusion_status import SequentialReads, SharedRead
from tests.waiting import PATIENCE, eventually_async

pytestmark = pytest.mark.anyio


class Distant:
    """A store that is read; a read finds what is there as it begins, and waits."""

    def __init__(self) -> None:
        self.there = 0
        self.looks = 0
        self.arrives = threading.Event()
        self.arrives.set()
        self.taken_in: list[int] = []

    def read_arrivals(self) -> int:
        found = self.there
        self.looks += 1
        assert self.arrives.wait(PATIENCE)
        if found < 0:
            raise StoreUnavailable("no server")
        return found

    def take_in(self, found: int) -> bool:
        self.taken_in.append(found)
        return True


async def test_all_who_ask_at_once_share_a_look() -> None:
    distant = Distant()
    shared = SharedRead(distant.read_arrivals, distant.take_in)

    assert all(await asyncio.gather(*(shared.read() for _ in range(50))))

    assert distant.looks == 1


async def test_who_asks_during_a_look_gets_another_that_begins_later() -> None:
    distant = Distant()
    distant.arrives.clear()
    shared = SharedRead(distant.read_arrivals, distant.take_in)
    first = asyncio.create_task(shared.read())
    await eventually_async(lambda: distant.looks == 1)

    distant.there = 1
    later = [asyncio.create_task(shared.read()) for _ in range(3)]
    distant.arrives.set()
    await asyncio.gather(first, *later)

    assert distant.taken_in == [0, 1]


async def test_look_that_fails_is_told_to_those_who_waited_and_to_nobody_later() -> None:
    distant = Distant()
    shared = SharedRead(distant.read_arrivals, distant.take_in)
    distant.there = -1
    told = await asyncio.gather(shared.read(), shared.read(), return_exceptions=True)
    distant.there = 1

    assert await shared.read()
    assert [type(each) for each in told] == [StoreUnavailable] * 2


async def test_who_leaves_takes_the_look_from_nobody() -> None:
    distant = Distant()
    distant.arrives.clear()
    shared = SharedRead(distant.read_arrivals, distant.take_in)
    leaving, staying = (asyncio.create_task(shared.read()) for _ in range(2))
    await eventually_async(lambda: distant.looks == 1)

    leaving.cancel()
    distant.arrives.set()

    assert await staying
    assert leaving.cancelled()


class Asked:
    """Two questions; the first one takes as long as the second could need to come in between."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._second_began = threading.Event()

    def first(self) -> None:
        self.heard.append("first begins")
        self._second_began.wait(0.3)
        self.heard.append("first ends")

    def second(self) -> str:
        self.heard.append("second begins")
        self._second_began.set()
        return "answered"


async def test_question_of_one_who_left_ends_before_the_next_begins() -> None:
    asked, one_by_one = Asked(), SequentialReads()
    leaving = asyncio.create_task(one_by_one.run(asked.first))
    await eventually_async(lambda: asked.heard == ["first begins"])

    leaving.cancel()
    await asyncio.wait([leaving])
    told = await one_by_one.run(asked.second)

    assert told == "answered"
    assert asked.heard == ["first begins", "first ends", "second begins"]


async def test_question_that_fails_is_told_to_who_asked() -> None:
    distant = Distant()
    distant.there = -1

    with pytest.raises(StoreUnavailable):
        await SequentialReads().run(distant.read_arrivals)
