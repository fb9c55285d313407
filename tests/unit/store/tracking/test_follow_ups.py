"""Follow-ups in the store: what is open, what is asked, and what is held of each end."""

from __future__ import annotations

from typing import Final

from dashboard.domain.health.observation import Failure, FailureKind
from dashboard.domain.quantity import TxHash
from dashboard.domain.tracking.inclusion import (
    SETTLES_AFTER,
    FollowUp,
    Inclusion,
    InclusionAnswer,
    InclusionQuestion,
)
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.domain.tracking.verdict import VerdictKind, conclude
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.follow_ups import (
    inclusion_questions,
    open_follow_ups,
    record_inclusion_answers,
)
from dashboard.store.tracking.transactions import track
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_record,
    an_address,
    seconds,
)
from tests.one_by_one import follow_ups_of, read_evidence
from tests.saved_record import save_record

SILENCE: Final = Failure(FailureKind.UNAVAILABLE, "devnet node: no answer")
IN_BLOCK: Final = InclusionAnswer(a_hash(), Inclusion(7, bytes(32), is_successful=True))
USED: Final = InclusionAnswer(a_hash(), next_nonce=6)
SILENT: Final = InclusionAnswer(a_hash(), failure=SILENCE)


def follow(store: Store, *numbers: int) -> None:
    with store.write() as connection:
        for number in numbers:
            networks = (A_NETWORK, ANOTHER_NETWORK)
            track(connection, TrackRequest(a_hash(number), networks), A_MOMENT)


def keep(store: Store, answer: InclusionAnswer, after: float = 0) -> dict[TxHash, FollowUp]:
    """Write one answer down, so many seconds after `A_MOMENT`."""
    question = InclusionQuestion(answer.tx_hash, an_address(), 5)
    at = A_MOMENT + seconds(after)
    with store.write() as connection:
        return record_inclusion_answers(connection, A_NETWORK, at, [(question, answer)])


def held(store: Store) -> FollowUp | None:
    with store.read() as connection:
        return follow_ups_of(connection, a_hash()).get(A_NETWORK)


def open_now(store: Store, after: int = 0) -> list[tuple[int, object]]:
    with store.read() as connection:
        found = open_follow_ups(connection, A_NETWORK, after, after)
    return [(int.from_bytes(each.tx_hash), each.asked_at) for each in found]


def test_tracked_hash_is_open_on_each_of_its_networks(store: Store) -> None:
    follow(store, 1, 2)

    assert open_now(store) == [(1, None), (2, None)]
    assert open_now(store, after=1) == [(2, None)]


def test_hash_that_was_asked_about_stays_open_until_it_is_settled(store: Store) -> None:
    follow(store, 1)

    keep(store, IN_BLOCK)
    assert open_now(store) == [(1, A_MOMENT)]

    keep(store, IN_BLOCK, SETTLES_AFTER.total_seconds())
    assert open_now(store) == []


def test_open_follow_ups_are_read_in_portions_of_whole_cohorts(store: Store) -> None:
    follow(store, 1, 2, 3, 4)
    portions: list[list[TxHash]] = []
    after = 0

    with store.read() as connection:
        while found := open_follow_ups(connection, A_NETWORK, after, known=0, limit=3):
            portions.append([each.tx_hash for each in found])
            after = found[-1].cohort_id

    assert portions == [[a_hash(1), a_hash(2)], [a_hash(3), a_hash(4)]]


def test_question_names_the_nonce_that_a_record_told(store: Store) -> None:
    with store.write() as connection:
        save_record(connection, A_NETWORK, a_record(nonce=2**63), A_MOMENT)
        save_record(connection, ANOTHER_NETWORK, a_record(tx_hash=a_hash(2)), A_MOMENT)

    with store.read() as connection:
        questions = inclusion_questions(connection, A_NETWORK, [a_hash(2), a_hash(1)])

    assert questions == [
        InclusionQuestion(a_hash(2)),
        InclusionQuestion(a_hash(1), an_address(), 2**63),
    ]


def test_questions_about_more_hashes_than_a_statement_names_keep_their_order(store: Store) -> None:
    hashes = [a_hash(number) for number in range(1, 1202)]

    with store.read() as connection:
        questions = inclusion_questions(connection, A_NETWORK, hashes)

    assert [each.tx_hash for each in questions] == hashes


def test_inclusion_comes_back_as_it_was_told(store: Store) -> None:
    for is_successful in (True, False, None):
        inclusion = Inclusion(2**63 - 1, bytes([0xAB, bool(is_successful)]) * 16, is_successful)

        kept = keep(store, InclusionAnswer(a_hash(), inclusion))

        assert held(store) == kept[a_hash()] == FollowUp(A_MOMENT, inclusion, A_MOMENT)


def test_end_is_concluded_from_what_was_held_before(store: Store) -> None:
    keep(store, USED)
    keep(store, USED, after=60)

    now = held(store)
    assert now is not None
    assert now.is_replaced
    assert (now.replaced_since, now.next_nonce) == (A_MOMENT, 6)


def test_silence_changes_nothing_that_is_held(store: Store) -> None:
    keep(store, IN_BLOCK)
    before = held(store)

    keep(store, SILENT, after=60)

    assert held(store) == before
    assert open_now(store) == []
    follow(store, 1)
    assert open_now(store) == [(1, A_MOMENT + seconds(60))]


def test_node_that_never_answered_is_no_evidence(store: Store) -> None:
    keep(store, SILENT)

    assert held(store) is None


def test_evidence_of_a_hash_holds_its_end(store: Store) -> None:
    with store.write() as connection:
        save_record(connection, A_NETWORK, a_record(), A_MOMENT)
    keep(store, IN_BLOCK)

    with store.read() as connection:
        [found] = read_evidence(connection, None, a_hash())

    assert found.follow_up == held(store)
    assert conclude(found).kind is VerdictKind.REJECTED_THEN_INCLUDED


def test_network_whose_node_holds_the_hash_is_evidence_by_itself(store: Store) -> None:
    keep(store, IN_BLOCK)

    with store.read() as connection:
        assert [each.network_id for each in read_evidence(connection, None, a_hash())] == [
            A_NETWORK
        ]
