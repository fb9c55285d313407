"""How the installation fares: what was tried last, how large the store is, who answered when."""

from __future__ import annotations

from dashboard.domain.alerts.notification import DeliveryResult, Recipient
from dashboard.domain.health.observation import ExclusionAnswer, Failure, FailureKind, Operation
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.notification_claims import reschedule
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import Holder, acquire, holders
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.health import (
    mail_state,
    store_contents,
)
from dashboard.store.monitoring.answer_counts import last_answers_of
from dashboard.store.tracking.transactions import track
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, a_transition, seconds
from tests.delivery_checks import claim_for_all
from tests.routes import expand_alone
from tests.unit.store.fake_machine import Machine

SILENCE = Failure(FailureKind.UNAVAILABLE, "no answer within 5 s")
OPERATOR = Recipient("mail", "ops@example.org")


def test_last_attempt_is_told_with_the_word_of_the_server(store: Store) -> None:
    with store.write() as connection:
        token = acquire(connection, "worker", "a", seconds(60)) or 0
        record_transition(connection, a_transition(), None)
        expand_alone(connection, pending_expansion(connection, 1)[0], [OPERATOR], A_MOMENT)
        (notification,) = claim_for_all(connection, token, A_MOMENT, 1)
        reschedule(connection, notification, "451 come back later", A_MOMENT + seconds(60))

    with store.read() as connection:
        state = mail_state(connection)
    assert state.last_attempt is not None
    assert state.last_attempt.result is DeliveryResult.DEFERRED
    assert state.last_attempt.outcome == "451 come back later"
    assert (state.counts.pending_changes, state.counts.pending) == (0, 1)
    assert state.failing == ("mail",)


def test_store_tells_its_size_and_contents(store: Store) -> None:
    with store.write() as connection:
        track(connection, TrackRequest(a_hash(), (A_NETWORK,)), A_MOMENT)

    with store.read() as connection:
        state = store_contents(connection)
    assert (state.tracked, state.rejections) == (1, 0)
    assert state.size > 10_000


def test_network_answers_when_it_last_did_not_when_it_was_last_asked(store: Store) -> None:
    with store.write() as connection:
        answers = [ExclusionAnswer(a_hash(1))]
        record_lookup(connection, A_NETWORK, A_MOMENT, answers)
        failed = [ExclusionAnswer(a_hash(2), failure=SILENCE)]
        record_lookup(connection, A_NETWORK, A_MOMENT + seconds(9), failed)

    with store.read() as connection:
        answered = last_answers_of(connection, [A_NETWORK, ANOTHER_NETWORK])

    assert answered == {(A_NETWORK, Operation.EXCLUSION_STATUS): A_MOMENT}


def test_holders_are_those_of_living_leases(store: Store, machine: Machine) -> None:
    with store.write() as connection:
        acquire(connection, "worker", "a", seconds(20))
        acquire(connection, "reports", "b", seconds(60))
    machine.wait(seconds(30))

    with store.read() as connection:
        assert holders(connection) == {"reports": Holder("b", 2)}
