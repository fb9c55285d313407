"""What came of asking makes the evidence of a verdict."""

from __future__ import annotations

from datetime import datetime

from dashboard.domain.health.observation import ExclusionAnswer, Failure, FailureKind, Operation
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.domain.tracking.verdict import Evidence
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.monitoring.answer_counts import read_standing_failures
from dashboard.store.tracking.transactions import track
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    a_hash,
    a_record,
    seconds,
)
from tests.one_by_one import read_evidence
from tests.saved_record import save_record

SILENCE = Failure(FailureKind.UNAVAILABLE, "devnet exclusion endpoint: no answer")
REFUSAL = Failure(FailureKind.REFUSED, "devnet exclusion endpoint: key refused")


def failed(failure: Failure = SILENCE, number: int = 1) -> ExclusionAnswer:
    """Return the answer that there was none."""
    return ExclusionAnswer(a_hash(number), failure=failure)


def record(store: Store, minute: int, *answers: ExclusionAnswer) -> datetime:
    """Ask at that minute, and record the answers."""
    asked_at = A_MOMENT + seconds(60 * minute)
    with store.write() as connection:
        record_lookup(connection, A_NETWORK, asked_at, answers)
    return asked_at


def the_evidence(store: Store) -> Evidence:
    """Return what is known of the hash on the network."""
    with store.read() as connection:
        (found,) = read_evidence(connection, A_NETWORK, a_hash())
    return found


def test_nothing_is_known_of_a_hash_that_nobody_asked_about(store: Store) -> None:
    with store.read() as connection:
        assert read_evidence(connection, None, a_hash()) == []
        assert read_evidence(connection, A_NETWORK, a_hash()) == []


def test_hash_that_is_only_tracked_has_blank_evidence(store: Store) -> None:
    with store.write() as connection:
        track(connection, TrackRequest(a_hash(), (A_NETWORK,), Remarks(A_MOMENT)), A_MOMENT)

    assert the_evidence(store) == (
        Evidence(A_NETWORK, a_hash(), attempted_at=A_MOMENT, tracked_at=A_MOMENT)
    )


def test_evidence_holds_every_version_newest_claimed_time_first(store: Store) -> None:
    old, new = a_record(), a_record(timestamp=A_MOMENT + seconds(9))
    with store.write() as connection:
        for each in (new, old):
            save_record(connection, A_NETWORK, each, A_MOMENT)

    assert the_evidence(store).records == (new, old)


def test_network_is_failing_when_no_hash_gets_an_answer(store: Store) -> None:
    since = record(store, 1, failed(), failed(number=2))
    record(store, 2, failed(REFUSAL))

    with store.read() as connection:
        (standing,) = read_standing_failures(connection, A_NETWORK)

    assert (standing.operation, standing.failing_since) == (Operation.EXCLUSION_STATUS, since)
    assert standing.failure == REFUSAL


def test_network_that_answers_one_hash_is_not_failing(store: Store) -> None:
    record(store, 1, failed())
    record(store, 2, failed(), ExclusionAnswer(a_hash(2)))

    with store.read() as connection:
        assert read_standing_failures(connection, A_NETWORK) == ()


def test_recording_no_answers_changes_nothing(store: Store) -> None:
    record(store, 1, failed())
    record(store, 2)

    with store.read() as connection:
        assert len(read_standing_failures(connection, A_NETWORK)) == 1
