"""The feed pushes to each subscription what arrives after its place, whichever others join."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import msgspec
from anyio.lowlevel import checkpoint

from dashboard.domain.people.access import ApiKey
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.domain.secret import Secret
from dashboard.serve.counters import Counters
from dashboard.serve.subscriptions import EncodedArrivals, Feed, Subscription
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from tests.builders import a_hash, a_record
from tests.flaky_store import PassingStore
from tests.integration.running_server import NETWORK, a_store, utc_now
from tests.saved_record import save_record
from tests.waiting import PATIENCE, eventually_async

EVERYTHING = RejectionFilter(network_ids=frozenset({NETWORK}))


class HeldStore(PassingStore):
    """The same store, whose readers can be held up before they read."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.may_read = threading.Event()
        self.may_read.set()
        self.waiting = 0

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Read when that is allowed."""
        self.waiting += 1
        self.may_read.wait(PATIENCE)
        self.waiting -= 1
        with super().read() as connection:
            yield connection


class BrokenFeed(Feed):
    """The same feed, which once cannot read at all."""

    failures = 0

    def _read(self, place: int) -> EncodedArrivals:
        """Fail as a thread does that cannot be started, then read."""
        if not self.failures:
            self.failures = 1
            raise RuntimeError("can't start new thread")
        return super()._read(place)


class BusyFeed(Feed):
    """The same feed, whose searches for what was missed can be held up."""

    may_search = threading.Event()

    def _read_for(self, wanted: RejectionFilter, place: int) -> tuple[EncodedArrivals, int, bool]:
        """Search when that is allowed."""
        self.may_search.wait(PATIENCE)
        return super()._read_for(wanted, place)


class Client:
    """A WebSocket client that takes pushes when it has room."""

    caller = ApiKey.of("tests", Secret("key"))

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.offered = 0
        self.space = asyncio.Event()
        self.space.set()

    def push(self, text: bytes) -> bool:
        """Note which rejection is told."""
        self.offered += 1
        if self.space.is_set():
            told = msgspec.json.decode(text)["params"]["result"]
            self.numbers.append(int(told["txHash"], 16))
        return self.space.is_set()

    async def room(self) -> None:
        """Wait for it."""
        await self.space.wait()

    def when_answered(self, callback: Callable[[], None]) -> None:
        """Answer at once."""
        callback()

    def on_close(self, callback: Callable[[], None]) -> None:
        """Never close."""


def a_subscription(client: Client) -> Subscription:
    return Subscription("0x1", EVERYTHING, client, 0, UUID(int=0), Counters())


def save(store: Store, *numbers: int) -> None:
    with store.write() as connection:
        for number in numbers:
            save_record(connection, NETWORK, a_record(tx_hash=a_hash(number)), utc_now())


async def test_last_listener_leaving_while_news_is_read_costs_a_late_one_nothing(
    tmp_path: Path,
) -> None:
    quick, slow = Client(), Client()
    with a_store(tmp_path) as plain:
        store = HeldStore(plain)
        feed = Feed(store)
        telling = asyncio.create_task(feed.run())
        save(plain, 1, 2, 3)
        slow.space.clear()
        leaving = a_subscription(quick)
        feed.join(leaving)
        feed.join(a_subscription(slow))
        await eventually_async(lambda: quick.numbers == [1, 2, 3], what="what was missed")
        await eventually_async(lambda: slow.offered > 0, what="the look for what was missed")
        save(plain, 4, 5)
        await eventually_async(lambda: quick.numbers == [1, 2, 3, 4, 5], what="the news")

        store.may_read.clear()
        await eventually_async(lambda: store.waiting == 1, what="the next look for news")
        feed.leave(leaving)
        slow.space.set()
        await eventually_async(lambda: slow.numbers == [1, 2, 3], what="what was missed")
        save(plain, 6)
        store.may_read.set()

        await eventually_async(lambda: slow.numbers[-1] == 6, what="the news")
        assert slow.numbers == [1, 2, 3, 4, 5, 6]
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)


async def test_searches_for_what_was_missed_keep_no_news_from_others(tmp_path: Path) -> None:
    quick = Client()
    with a_store(tmp_path) as store:
        feed = BusyFeed(store)
        feed.may_search.set()
        telling = asyncio.create_task(feed.run())
        feed.join(a_subscription(quick))
        save(store, 1)
        await eventually_async(lambda: quick.numbers == [1], what="the first news")

        feed.may_search.clear()
        late = [a_subscription(Client()) for _ in range(4)]
        for each in late:
            feed.join(each)
        save(store, 2)

        await eventually_async(lambda: quick.numbers == [1, 2], what="the news")
        feed.may_search.set()
        await eventually_async(lambda: all(each.place == 2 for each in late), what="the rest")
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)


async def test_news_come_after_no_thread_could_be_started(tmp_path: Path) -> None:
    client = Client()
    with a_store(tmp_path) as store:
        feed = BrokenFeed(store)
        telling = asyncio.create_task(feed.run())
        feed.join(a_subscription(client))
        await eventually_async(lambda: feed.failures > 0, what="the failure")
        save(store, 1)

        await eventually_async(
            lambda: client.numbers == [1] or telling.done(), what="the news after it"
        )
        assert client.numbers == [1]
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)


async def test_listeners_that_come_and_go_start_no_more_threads_than_may_search(
    tmp_path: Path,
) -> None:
    with a_store(tmp_path) as plain:
        store = HeldStore(plain)
        feed = Feed(store)
        store.may_read.clear()
        for _ in range(2):
            held = a_subscription(Client())
            feed.join(held)
            searching = store.waiting + 1
            await eventually_async(lambda: store.waiting == searching, what="a search")  # noqa: B023 - awaited here
            feed.leave(held)
        late, client = [a_subscription(Client()) for _ in range(20)], Client()
        for each in late:
            feed.join(each)
            await checkpoint()
            feed.leave(each)
        feed.join(a_subscription(client))
        for _ in range(20):
            await checkpoint()
        searching = store.waiting
        save(plain, 1)
        store.may_read.set()

        await eventually_async(lambda: client.numbers == [1], what="what was missed")
        assert searching == 2


async def test_client_without_room_has_little_held_for_it(tmp_path: Path) -> None:
    client = Client()
    with a_store(tmp_path) as store:
        with store.write() as connection:
            for number in range(1, 400):
                record = a_record(tx_hash=a_hash(number), reason_message="x" * 1024)
                save_record(connection, NETWORK, record, utc_now())
        feed = Feed(store)
        news, _, is_whole = feed._read_for(EVERYTHING, 0)  # noqa: SLF001 - nothing else tells it

        assert sum(len(item) for _, item in news) <= 100_000
        assert not is_whole
        feed.join(a_subscription(client))
        await eventually_async(lambda: client.numbers == [*range(1, 400)], what="all of it")
