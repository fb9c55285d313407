"""The live question."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from dashboard.domain.verdict import Evidence
from dashboard.poll.lookup import LiveQuestion
from dashboard.store.answers import evidence
from dashboard.store.engine import Store
from dashboard.store.outbox import unexpanded
from dashboard.store.transactions import TrackRequest, track
from tests.askers import ScriptedExclusion, SilentExclusion
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, a_record, seconds

pytestmark = pytest.mark.anyio

AMPLE = timedelta(seconds=30)


def a_question(
    store: Store, upstream: ScriptedExclusion, other: ScriptedExclusion | SilentExclusion
) -> LiveQuestion:
    askers = {A_NETWORK: upstream, ANOTHER_NETWORK: other}
    return LiveQuestion(store, askers, lambda: A_MOMENT, uuid4)


def found(store: Store) -> list[Evidence]:
    with store.read() as connection:
        return evidence(connection, None, a_hash())


def owed(store: Store) -> int:
    with store.read() as connection:
        return len(unexpanded(connection, 100))


async def test_every_network_is_asked_and_what_it_said_is_stored(store: Store) -> None:
    upstream, other = ScriptedExclusion(), ScriptedExclusion()
    upstream.reject(a_record())

    await a_question(store, upstream, other).ask([a_hash()], None, AMPLE)

    assert {each.network_id: each.records for each in found(store)} == {
        A_NETWORK: (a_record(),),
        ANOTHER_NETWORK: (),
    }
    assert [each.last_answered_at for each in found(store)] == [A_MOMENT, A_MOMENT]


async def test_one_network_can_be_named(store: Store) -> None:
    upstream, other = ScriptedExclusion(), ScriptedExclusion()

    await a_question(store, upstream, other).ask([a_hash()], A_NETWORK, AMPLE)

    assert (len(upstream.asked), len(other.asked)) == (1, 0)


async def test_silent_network_is_stored_as_a_failure_and_costs_the_others_nothing(
    store: Store,
) -> None:
    question = a_question(store, ScriptedExclusion(), SilentExclusion())

    await question.ask([a_hash()], None, seconds(0.05))

    answered = {each.network_id: each.last_answered_at for each in found(store)}
    assert answered == {A_NETWORK: A_MOMENT, ANOTHER_NETWORK: None}


async def test_rejection_of_a_tracked_hash_is_news(store: Store) -> None:
    upstream = ScriptedExclusion()
    upstream.reject(a_record())
    with store.write() as connection:
        track(connection, TrackRequest(a_hash(), (A_NETWORK,), None, ""), A_MOMENT)

    await a_question(store, upstream, ScriptedExclusion()).ask([a_hash()], A_NETWORK, AMPLE)

    assert owed(store) == 1


async def test_rejection_of_a_hash_that_nobody_tracks_is_no_news(store: Store) -> None:
    upstream = ScriptedExclusion()
    upstream.reject(a_record())

    await a_question(store, upstream, ScriptedExclusion()).ask([a_hash()], A_NETWORK, AMPLE)

    assert owed(store) == 0
