"""What the exclusion poll makes of answers, from a scripted upstream into a real store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Engine, event

from dashboard.domain.alerts.condition import State
from dashboard.domain.health.observation import ExclusionAnswers
from dashboard.domain.quantity import TxHash
from dashboard.poll.exclusion import ExclusionPoll
from dashboard.store.engine.engine import Store
from tests.builders import ANOTHER_NETWORK, a_hash, a_record, seconds
from tests.fake_clock import FakeClock
from tests.one_by_one import versions
from tests.scripted_upstreams import ScriptedExclusion
from tests.unit.poll.exclusion_poll_scene import (
    a_poll,
    evidence_of,
    let_pass,
    news,
    state_of,
    watch,
)


async def test_tracked_hash_is_asked_within_one_tick(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    await poll.tick()
    watch(store, fake_clock, 1)

    await poll.tick()

    assert upstream.asked == [[a_hash(1)]]


async def test_hash_of_another_network_is_left_to_its_own_poll(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1, network_id=ANOTHER_NETWORK)

    await poll.tick()

    assert upstream.asked == []


async def test_null_is_remembered_and_told_to_nobody(
    store: Store, poll: ExclusionPoll, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)

    await poll.tick()

    assert state_of(store) is None
    assert news(store) == []
    assert evidence_of(store).last_answered_at == fake_clock.now()


async def test_record_is_kept_and_its_news_is_pending(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    upstream.reject(a_record())

    await poll.tick()

    assert state_of(store) is State.REJECTED
    assert news(store) == [(a_hash(1), State.REJECTED)]
    assert evidence_of(store).records == (a_record(),)


async def test_cohorts_are_marked_once_however_many_of_their_hashes_were_rejected(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    upstream.reject(*(a_record(tx_hash=a_hash(number)) for number in range(1, 7)))
    reads: list[list[str]] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("SELECT") and "cohorts" in statement:
            reads[-1].append(statement)

    for numbers in ([1], [2, 3, 4, 5, 6]):
        watch(store, fake_clock, *numbers)
        reads.append([])
        event.listen(Engine, "before_cursor_execute", note)
        await poll.tick()
        event.remove(Engine, "before_cursor_execute", note)

    assert len(news(store)) == 6
    assert len(reads[0]) == len(reads[1])


async def test_changed_record_is_another_version_and_one_that_changes_back_is_not_told_again(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    for reason in ("RPC", "P2P", "RPC", "P2P"):
        upstream.reject(a_record(reason_message=reason))
        await let_pass(poll, fake_clock, timedelta(hours=2))

    with store.read() as connection:
        assert len(versions(connection, a_hash())) == 2
    assert len(news(store)) == 2


class SlowExclusion(ScriptedExclusion):
    """Takes half a second for each hash."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock

    async def ask(self, hashes: Sequence[TxHash]) -> ExclusionAnswers:
        """Answer for each hash in order."""
        self._clock.wait(seconds(0.5) * len(hashes))
        return await super().ask(hashes)


async def test_tick_asks_a_slow_upstream_as_much_as_it_answers_in_ten_seconds(
    store: Store, fake_clock: FakeClock
) -> None:
    upstream = SlowExclusion(fake_clock)
    poll = a_poll(store, upstream, fake_clock)
    watch(store, fake_clock, *range(1, 101))
    await poll.tick()
    watch(store, fake_clock, *range(101, 201))

    for _ in range(2):
        await poll.tick()

    assert [len(hashes) for hashes in upstream.asked] == [100, 20, 20]
