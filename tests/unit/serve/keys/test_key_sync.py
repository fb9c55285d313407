"""Keys of the store reach a running key ring, and their uses reach the store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta

import anyio
import pytest
from structlog.testing import capture_logs

from dashboard.domain.people.access import ApiKey, ConfiguredKeys, KeyLimits, digest
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, StoreUnavailable
from dashboard.serve.keys.key_ring import KeyLimiter
from dashboard.serve.keys.key_sync import KeySync
from dashboard.store.access.api_keys import (
    Credential,
    create_key,
    key_uses,
    limit_key,
    rename_key,
    revoke_key,
    rotate_key,
)
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from tests.builders import A_MOMENT, seconds
from tests.flaky_store import FlakyStore, PassingStore
from tests.waiting import eventually_async

SOON = timedelta(milliseconds=5)
CONFIGURED = ApiKey.of("wallets", Secret("w"), Secret("ws"))


class Day:
    """The time of day, moved by a test."""

    def __init__(self) -> None:
        self.now = A_MOMENT

    def __call__(self) -> datetime:
        return self.now


class DeafStore(PassingStore):
    """The same store, which answers nobody once it is deaf."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.is_deaf = False
        self.trouble: Exception = StoreUnavailable("the disk is gone")
        self.refused = 0

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Refuse, or read."""
        if self.is_deaf:
            self.refused += 1
            raise self.trouble
        with super().read() as connection:
            yield connection


def a_credential(key: str, at: datetime = A_MOMENT) -> Credential:
    return Credential(digest(key), digest(f"secret of {key}"), at)


def a_keeper(store: Store, *keys: ApiKey, day: Day | None = None) -> KeySync:
    configured = ConfiguredKeys(keys, default_rate=50.0)
    return KeySync(store, configured, KeyLimiter(), day or Day(), SOON, SOON)


@asynccontextmanager
async def keeping(key_sync: KeySync) -> AsyncIterator[None]:
    key_sync.load()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(key_sync.run)
        yield
        tasks.cancel_scope.cancel()


def test_ring_holds_the_keys_of_the_settings_and_of_the_store(store: Store) -> None:
    with store.write() as connection:
        create_key(connection, "made", KeyLimits(may_report=False), a_credential("m"))
    key_sync = a_keeper(store, CONFIGURED)

    key_sync.load()

    made = key_sync.ring.find_with_secret("m", "secret of m")
    assert made is not None
    assert (made.name, made.may_report) == ("made", False)
    assert (made.requests_per_second, made.burst) == (50.0, 50)
    assert key_sync.ring.find("w") is CONFIGURED


def test_nobody_who_could_call_is_said_with_the_remedy(store: Store) -> None:
    with capture_logs() as lines:
        a_keeper(store).load()

    assert [line["remedy"] for line in lines] == ["make one: linewatch keys create NAME"]


@pytest.mark.parametrize(
    ("name", "key", "said"),
    [
        ("wallets", "other", "run `linewatch keys rename wallets NEW`"),
        ("other", "w", "other in the store and wallets in the settings are the same API key"),
    ],
)
def test_stored_key_that_clashes_with_the_settings_is_refused_at_the_start(
    store: Store, name: str, key: str, said: str
) -> None:
    with store.write() as connection:
        create_key(connection, name, KeyLimits(), a_credential(key))

    with pytest.raises(InputError, match=said):
        a_keeper(store, CONFIGURED).load()


async def test_key_that_is_made_limited_renamed_and_revoked_changes_while_running(
    store: Store,
) -> None:
    key_sync = a_keeper(store)
    async with keeping(key_sync):
        with store.write() as connection:
            create_key(connection, "made", KeyLimits(), a_credential("m"))
        await eventually_async(lambda: key_sync.ring.find("m") is not None)

        with store.write() as connection:
            limit_key(connection, "made", KeyLimits(burst=3))
            rename_key(connection, "made", "named")
        await eventually_async(lambda: (key_sync.ring.find("m") or CONFIGURED).burst == 3)
        found = key_sync.ring.find("m")
        assert found is not None
        assert found.name == "named"

        with store.write() as connection:
            revoke_key(connection, "named", A_MOMENT)
        await eventually_async(lambda: key_sync.ring.find("m") is None)
        assert key_sync.ring.current(found) is None


async def test_old_key_works_until_its_grace_is_over(store: Store) -> None:
    day = Day()
    key_sync = a_keeper(store, day=day)
    with store.write() as connection:
        create_key(connection, "made", KeyLimits(), a_credential("old"))
        rotate_key(connection, "made", a_credential("new"), A_MOMENT + seconds(60))

    async with keeping(key_sync):
        assert {bool(key_sync.ring.find(key)) for key in ("old", "new")} == {True}
        day.now += seconds(60)
        await eventually_async(lambda: key_sync.ring.find("old") is None)

    assert key_sync.ring.find("new") is not None


async def test_grace_ends_while_the_store_cannot_be_read(store: Store) -> None:
    day = Day()
    with store.write() as connection:
        create_key(connection, "made", KeyLimits(), a_credential("old"))
        rotate_key(connection, "made", a_credential("new"), A_MOMENT + seconds(60))
    deaf = DeafStore(store)
    key_sync = a_keeper(deaf, day=day)

    async with keeping(key_sync):
        deaf.is_deaf = True
        day.now += seconds(60)

        await eventually_async(
            lambda: key_sync.ring.find("old") is None, what="the end of the grace"
        )
        assert key_sync.ring.find("new") is not None


async def test_revoked_key_ends_even_after_no_thread_could_be_started(store: Store) -> None:
    with store.write() as connection:
        create_key(connection, "made", KeyLimits(), a_credential("m"))
    deaf = DeafStore(store)
    deaf.trouble = RuntimeError("can't start new thread")
    key_sync = a_keeper(deaf)

    with capture_logs() as lines:
        async with keeping(key_sync):
            deaf.is_deaf = True
            await eventually_async(lambda: deaf.refused > 1, what="the trouble")
            deaf.is_deaf = False
            with store.write() as connection:
                revoke_key(connection, "made", A_MOMENT)
            await eventually_async(lambda: key_sync.ring.find("m") is None, what="the revocation")

    assert [line["why"] for line in lines if "why" in line] == ["can't start new thread"]


async def test_key_that_clashes_later_is_left_out_and_told(store: Store) -> None:
    key_sync = a_keeper(store, CONFIGURED)
    with capture_logs() as lines:
        async with keeping(key_sync):
            with store.write() as connection:
                create_key(connection, "wallets", KeyLimits(), a_credential("m"))
                create_key(connection, "fine", KeyLimits(), a_credential("f"))
            await eventually_async(lambda: key_sync.ring.find("f") is not None)

    assert key_sync.ring.find("m") is None
    assert key_sync.ring.find("w") is CONFIGURED
    assert any("keys rename wallets NEW" in line.get("why", "") for line in lines)


async def test_listener_hears_of_a_change_until_it_asks_no_more(store: Store) -> None:
    key_sync = a_keeper(store)
    heard: list[str] = []
    forget = key_sync.ring.on_change(lambda: heard.append("changed"))
    key_sync.ring.replace([CONFIGURED])
    forget()
    key_sync.ring.replace([])

    assert heard == ["changed"]


async def test_counts_are_written_while_running_and_added_up(store: Store) -> None:
    keepers = [a_keeper(store, CONFIGURED), a_keeper(store, CONFIGURED)]
    async with keeping(keepers[0]), keeping(keepers[1]):
        for key_sync in keepers:
            key_sync.key_limiter.admit(CONFIGURED, 3)

        def calls() -> int:
            with store.read() as connection:
                return sum(use.calls for use in key_uses(connection).values())

        await eventually_async(lambda: calls() == 6)

    with store.read() as connection:
        assert list(key_uses(connection)) == [CONFIGURED.key_digest]


async def test_counts_wait_for_a_store_that_refuses_them(store: Store) -> None:
    flaky_store = FlakyStore(store)
    key_sync = a_keeper(flaky_store, CONFIGURED)
    key_sync.load()
    key_sync.key_limiter.admit(CONFIGURED, 3)

    flaky_store.fail_after(0)
    await key_sync.write_counts()
    assert flaky_store.is_calm
    key_sync.key_limiter.admit(CONFIGURED, 1)
    await key_sync.write_counts()

    with store.read() as connection:
        assert key_uses(connection)[CONFIGURED.key_digest].calls == 4
