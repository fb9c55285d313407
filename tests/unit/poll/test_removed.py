"""What people remove is not asked about any more, without a restart."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.poll.exclusion import ExclusionPoll
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.transactions import untrack
from tests.builders import a_hash, a_record
from tests.fake_clock import FakeClock
from tests.scripted_upstreams import ScriptedExclusion
from tests.unit.poll.exclusion_poll_scene import let_pass, news, watch

pytestmark = pytest.mark.anyio


async def test_removed_hash_leaves_the_schedule_and_its_neighbours_stay(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1, 2)
    await poll.tick()
    remove(store, 1)

    await let_pass(poll, fake_clock, timedelta(minutes=1))

    assert upstream.asked[0] == [a_hash(1), a_hash(2)]
    assert {tx_hash for hashes in upstream.asked[1:] for tx_hash in hashes} == {a_hash(2)}


async def test_rejection_of_a_removed_hash_is_told_to_nobody(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    await poll.tick()
    remove(store, 1)
    upstream.reject(a_record())

    await let_pass(poll, fake_clock, timedelta(minutes=1))

    assert news(store) == []
    assert len(upstream.asked) == 1


async def test_hash_that_is_tracked_again_is_asked_about_again(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    await poll.tick()
    remove(store, 1)
    await let_pass(poll, fake_clock, timedelta(minutes=1))
    watch(store, fake_clock, 1)

    await poll.tick()

    assert len(upstream.asked) == 2


def remove(store: Store, number: int) -> None:
    with store.write() as connection:
        assert untrack(connection, a_hash(number))
