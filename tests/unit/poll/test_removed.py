"""What people remove is not asked about any more, without a restart."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.kinds.upstream import UnaskedGrounds
from dashboard.poll.exclusion import ExclusionPoll
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.answer_counts import read_standing_failures
from tests.builders import A_NETWORK, a_hash, a_record
from tests.fake_clock import FakeClock
from tests.scripted_upstreams import ScriptedExclusion
from tests.unit.poll.condition_scene import told
from tests.unit.poll.exclusion_poll_scene import NewPoll, let_pass, news, remove, watch


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


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_outage_ends_once_nothing_is_tracked_and_is_not_said_to_be_answered(
    store: Store,
    new_poll: NewPoll,
    upstream: ScriptedExclusion,
    fake_clock: FakeClock,
    *,
    is_restarted: bool,
) -> None:
    watch(store, fake_clock, 1, 2)
    upstream.is_down, poll = True, new_poll()
    await let_pass(poll, fake_clock, timedelta(minutes=10))
    remove(store, 1)
    await let_pass(poll, fake_clock, timedelta(minutes=10))
    assert [each.after for each in told(store)] == [State.SILENT]

    remove(store, 2)
    await let_pass(new_poll() if is_restarted else poll, fake_clock, timedelta(hours=2))

    over = told(store)[-1]
    assert (over.after, over.grounds) == (State.ANSWERING, UnaskedGrounds(over.at))
    with store.read() as connection:
        assert read_standing_failures(connection, A_NETWORK) == ()
