"""Reads of a remote store: one serves all callers that came before it, and they take turns."""

from __future__ import annotations

import asyncio
import threading

import pytest

from dashboard.errors import StoreUnavailable
from dashboard.serve.rpc.exclusion_status import RemoteReads
from dashboard.store.rejections.known_hashes import KnownHashes, LoadedHeads, RejectionReader
from tests.builders import a_hash
from tests.waiting import PATIENCE, eventually_async


class Distant(RejectionReader):
    """A store that is read; a read finds what is there as it begins, and waits."""

    def __init__(self) -> None:
        self.highest = 0
        self.fails = False
        self.reads: list[int] = []
        self.answers = threading.Event()
        self.answers.set()
        self.known = KnownHashes(self)
        self.known.adopt(LoadedHeads(set(), 0))
        self.remote = RemoteReads(self.known)

    def arrivals(self, after: int, limit: int) -> list[tuple[int, bytes]]:
        newest, fails = self.highest, self.fails
        self.reads.append(after)
        assert self.answers.wait(PATIENCE)
        if fails:
            raise StoreUnavailable("no server")
        assert newest - after < limit
        return [(each, bytes(a_hash(each << 224))) for each in range(after + 1, newest + 1)]


async def test_callers_at_once_share_a_read() -> None:
    distant = Distant()

    assert all(await asyncio.gather(*(distant.remote.is_current() for _ in range(50))))

    assert len(distant.reads) == 1


async def test_callers_during_a_read_get_another_that_begins_later() -> None:
    distant = Distant()
    distant.answers.clear()
    first = asyncio.create_task(distant.remote.is_current())
    await eventually_async(lambda: len(distant.reads) == 1)

    distant.highest = 3
    later = [asyncio.create_task(distant.remote.is_current()) for _ in range(3)]
    distant.answers.set()
    await first
    known_to_first = len(distant.known)
    await asyncio.gather(*later)

    assert (known_to_first, len(distant.known), len(distant.reads)) == (0, 3, 2)


async def test_read_that_fails_is_reported_to_those_who_waited_and_to_nobody_later() -> None:
    distant = Distant()
    distant.fails = True
    waiting = (distant.remote.is_current() for _ in range(2))
    failures = await asyncio.gather(*waiting, return_exceptions=True)
    distant.fails = False

    assert await distant.remote.is_current()
    assert [type(each) for each in failures] == [StoreUnavailable] * 2
    with pytest.raises(ZeroDivisionError):
        await distant.remote.run(lambda: 1 // 0)


async def test_caller_that_leaves_takes_the_read_from_nobody_and_keeps_its_turn() -> None:
    distant = Distant()
    distant.answers.clear()
    leaving, staying = (asyncio.create_task(distant.remote.is_current()) for _ in range(2))
    await eventually_async(lambda: len(distant.reads) == 1)
    next_read = asyncio.create_task(distant.remote.run(distant.answers.is_set))

    leaving.cancel()
    await asyncio.wait([leaving])
    distant.answers.set()

    assert await staying
    assert await next_read  # it began after the answer to the first
    assert leaving.cancelled()
