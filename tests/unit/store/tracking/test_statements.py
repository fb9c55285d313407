"""What endpoints said of a transaction, and how each answers, is kept where there is news of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NoReturn

from sqlalchemy import func, select

from dashboard.domain.health.observation import (
    AnswerShape,
    ExclusionAnswer,
    ExclusionAnswers,
    Failure,
    FailureKind,
)
from dashboard.domain.quantity import TxHashes
from dashboard.domain.rejections.exclusion import StatusClaim
from dashboard.domain.tracking.statements import Said, Statement
from dashboard.domain.tracking.verdict import VerdictKind, conclude
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.maintenance.purge import apply_retention
from dashboard.store.schema import endpoint_statements
from dashboard.store.tracking.statements import (
    EndpointState,
    endpoint_states,
    record_statements,
    statements_among,
)
from tests.builders import A_MOMENT, A_NETWORK, HOUR, a_hash, a_record, seconds
from tests.one_by_one import read_evidence
from tests.saved_record import save_record

DOWN = Failure(FailureKind.UNAVAILABLE, "first: no answer within 3 s")


def ask(store: Store, at: datetime, *answers: ExclusionAnswer) -> None:
    """Record what endpoints answered about a hash, the leading answer first."""
    leading, *beside = answers
    whole = ExclusionAnswer(
        leading.tx_hash,
        leading.record,
        leading.failure,
        leading.claim,
        leading.endpoint,
        tuple(beside),
    )
    with store.write() as connection:
        record_lookup(connection, A_NETWORK, at, [whole])
        if leading.record is not None:
            save_record(connection, A_NETWORK, leading.record, at)


def an_answer(endpoint: str = "", **said: Any) -> ExclusionAnswer:  # noqa: ANN401 - any field
    return ExclusionAnswer(a_hash(), endpoint=endpoint, **said)


def statements(store: Store) -> tuple[Statement, ...]:
    with store.read() as connection:
        return statements_among(connection, [a_hash()]).get((a_hash(), A_NETWORK), ())


def test_nulls_and_the_records_of_a_lone_endpoint_write_nothing(store: Store) -> None:
    ask(store, A_MOMENT, an_answer())
    ask(store, A_MOMENT, an_answer(record=a_record()))
    ask(store, A_MOMENT, an_answer("first"), an_answer("second"))

    assert statements(store) == ()


class PackedHashes(TxHashes):
    """Hashes that nobody may make one by one."""

    def __iter__(self) -> NoReturn:
        raise AssertionError("a poll of thousands of nulls must not make each hash")


def test_nulls_of_a_poll_stay_packed_while_no_endpoint_said_anything(store: Store) -> None:
    nulls = ExclusionAnswers(PackedHashes(b"".join(map(a_hash, range(3)))))

    with store.write() as connection:
        record_statements(connection, A_NETWORK, A_MOMENT, nulls)

    assert statements(store) == ()


def test_disagreement_is_kept_with_who_said_what_and_when_until_they_agree(store: Store) -> None:
    later, at_last = A_MOMENT + seconds(9), A_MOMENT + seconds(18)
    rejected = an_answer("second", record=a_record())
    ask(store, A_MOMENT, rejected, an_answer("first"))
    ask(store, later, rejected, an_answer("first", failure=DOWN))

    disputed = statements(store)
    with store.read() as connection:
        [evidence] = read_evidence(connection, A_NETWORK, a_hash())
    verdict = conclude(evidence)
    ask(store, at_last, rejected, an_answer("first", record=a_record()))

    assert disputed == (
        Statement("first", Said.NOTHING, A_MOMENT, A_MOMENT),
        Statement("second", Said.REJECTED, A_MOMENT, A_MOMENT),
    )
    assert verdict.kind is VerdictKind.REJECTED
    assert verdict.rests_on.endswith(
        "The endpoints disagree, and the rejection takes precedence: first has reported no "
        "rejection since 2026-11-20 12:00:00 UTC; second has reported a rejection since "
        "2026-11-20 12:00:00 UTC."
    )
    assert statements(store)[0] == Statement("first", Said.REJECTED, at_last, at_last)
    with store.read() as connection:
        [agreed] = read_evidence(connection, A_NETWORK, a_hash())
    assert "disagree" not in conclude(agreed).rests_on


def test_status_is_kept_word_for_word_and_replaced_by_the_next(store: Store) -> None:
    hostile = StatusClaim("<b>\0\ud800\u202e", a_hash(), None, '{"a":"\\\\"}')
    included = StatusClaim("INCLUDED", a_hash(), 31)
    ask(store, A_MOMENT, an_answer(claim=hostile))
    ask(store, A_MOMENT + seconds(59), an_answer(claim=hostile))
    said = [statements(store)]
    ask(store, A_MOMENT + HOUR, an_answer(claim=hostile))
    said.append(statements(store))
    ask(store, A_MOMENT + 2 * HOUR, an_answer(claim=included))
    said.append(statements(store))
    with store.read() as connection:
        [evidence] = read_evidence(connection, A_NETWORK, a_hash())
    ask(store, A_MOMENT + 3 * HOUR, an_answer())

    end = A_MOMENT + 2 * HOUR
    assert said == [
        (Statement("", Said.STATUS, A_MOMENT, A_MOMENT, hostile),),
        (Statement("", Said.STATUS, A_MOMENT, A_MOMENT + HOUR, hostile),),
        (Statement("", Said.STATUS, end, end, included),),
    ]
    verdict = conclude(evidence)
    assert verdict.kind is VerdictKind.NO_REJECTION_ON_RECORD
    assert verdict.rests_on.endswith(
        "The exclusion API has reported the transaction as included in block 31 since "
        "2026-11-20 14:00:00 UTC; only a receipt proves an inclusion."
    )
    assert [each.said for each in statements(store)] == [Said.NOTHING]


def test_null_by_all_endpoints_is_told_of_them_and_where_one_of_them_said_more(
    store: Store,
) -> None:
    ask(store, A_MOMENT, an_answer("second", record=a_record()), an_answer("first"))
    both, later = ("first", "second"), A_MOMENT + seconds(9)
    nulls = ExclusionAnswers([a_hash(), a_hash(2)], endpoints=both)
    with store.write() as connection:
        record_lookup(connection, A_NETWORK, later, nulls)
        states = endpoint_states(connection)
        told = statements_among(connection, nulls.hashes)

    assert [states[A_NETWORK, each].answered_at for each in both] == [later, later]
    assert {key: [each.said for each in said] for key, said in told.items()} == {
        (a_hash(), A_NETWORK): [Said.NOTHING, Said.NOTHING]
    }


def test_shape_and_trouble_of_each_endpoint_are_remembered(store: Store) -> None:
    pending = StatusClaim("PENDING")
    ask(store, A_MOMENT, an_answer("first", record=a_record()), an_answer("second", claim=pending))
    ask(store, A_MOMENT + seconds(1), an_answer("second"), an_answer("first", failure=DOWN))
    ask(store, A_MOMENT + seconds(2), an_answer("second"), an_answer("first", failure=DOWN))
    ask(store, A_MOMENT, an_answer(claim=pending))

    with store.read() as connection:
        states = endpoint_states(connection)
    assert states == {
        (A_NETWORK, ""): EndpointState(AnswerShape.STATUS),
        (A_NETWORK, "first"): EndpointState(
            AnswerShape.RECORD, A_MOMENT, A_MOMENT + seconds(1), DOWN
        ),
        (A_NETWORK, "second"): EndpointState(AnswerShape.STATUS, A_MOMENT + seconds(2)),
    }


def test_statements_go_with_the_answers_about_what_nobody_tracks(store: Store) -> None:
    ask(store, A_MOMENT, an_answer(claim=StatusClaim("PENDING")))

    for before, left in ((A_MOMENT, 1), (A_MOMENT + seconds(1), 0)):
        list(apply_retention(store, {"untracked_answers": before}))
        with store.read() as connection:
            many = connection.scalar(select(func.count()).select_from(endpoint_statements))
        assert many == left
