"""An exclusion poll over a real store, and what it recorded."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import uuid4

from dashboard.domain.alerts.condition import State, Subject
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.line_limits import LimitsEnd
from dashboard.domain.tracking.cadence import SELDOM, CadencePolicy
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.domain.tracking.verdict import Evidence
from dashboard.poll.exclusion import ExclusionPoll
from dashboard.poll.exclusion_queue import ExclusionQueue
from dashboard.poll.lease import NetworkStore
from dashboard.store.alerts.conditions import current_state
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.transactions import track, untrack
from tests.builders import A_NETWORK, a_hash
from tests.fake_clock import FakeClock
from tests.one_by_one import read_evidence
from tests.scripted_upstreams import ScriptedExclusion
from tests.unit.poll.condition_scene import a_term, conditions_of

POLICY = CadencePolicy()

NewPoll = Callable[[], ExclusionPoll]


def a_poll(
    store: Store,
    upstream: ScriptedExclusion,
    fake_clock: FakeClock,
    limits_end: LimitsEnd | None = None,
    after_limits: CadencePolicy | None = SELDOM,
) -> ExclusionPoll:
    """Return the poll of `A_NETWORK`, as a start of the worker makes it."""
    term = a_term(store, fake_clock)
    own, schedule = NetworkStore(store, A_NETWORK, term), ExclusionQueue(POLICY, after_limits)
    conditions = conditions_of(fake_clock, limits_end)
    return ExclusionPoll(upstream, own, schedule, fake_clock.clocks, conditions, uuid4)


def watch(
    store: Store,
    fake_clock: FakeClock,
    *numbers: int,
    network_id: NetworkId = A_NETWORK,
    attempted_at: datetime | None = None,
) -> None:
    with store.write() as connection:
        for number in numbers:
            request = TrackRequest(a_hash(number), (network_id,), Remarks(attempted_at))
            track(connection, request, fake_clock.now())


def remove(store: Store, number: int) -> None:
    with store.write() as connection:
        assert untrack(connection, a_hash(number))


def state_of(store: Store, number: int = 1) -> State | None:
    with store.read() as connection:
        return current_state(connection, Subject.transaction(A_NETWORK, a_hash(number)))


def news(store: Store) -> list[tuple[TxHash | None, State]]:
    """Return the rejections that somebody is to be told of."""
    with store.read() as connection:
        entries = pending_expansion(connection, 100_000)
    return [
        (entry.transition.subject.tx_hash, entry.transition.after)
        for entry in entries
        if entry.transition.after is State.REJECTED
    ]


def evidence_of(store: Store) -> Evidence:
    with store.read() as connection:
        [found] = read_evidence(connection, A_NETWORK, a_hash())
    return found


async def let_pass(poll: ExclusionPoll, fake_clock: FakeClock, duration: timedelta) -> None:
    """Let time pass in 30 steps, with a tick after each."""
    for _ in range(30):
        fake_clock.wait(duration / 30)
        await poll.tick()
