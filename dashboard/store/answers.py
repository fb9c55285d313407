"""Answers: what came of asking a network about a hash, and the evidence that this makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from dashboard.domain.exclusion import RejectedTransaction
from dashboard.domain.observation import ExclusionAnswer, Failure, FailureKind, Operation
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.verdict import Evidence
from dashboard.store.failing import note_answer, note_failure
from dashboard.store.follow_ups import follow_ups_of
from dashboard.store.rejections import versions
from dashboard.store.schema import checks, tracked_transactions, watches
from dashboard.store.upsert import put


def record_answers(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    answers: Sequence[ExclusionAnswer],
    *,
    is_polled: bool = True,
) -> None:
    """Remember that these hashes were asked about, which were answered, and which not and why.

    Only a poll asks again, so only its failures tell that the network does not answer; any answer
    tells that it does. Records themselves are kept by `save_polled`.
    """
    asked = {"network_id": network_id, "last_asked_at": asked_at}
    answered = [
        asked
        | {"tx_hash": answer.tx_hash, "first_answered_at": asked_at, "last_answered_at": asked_at}
        | {"failing_since": None, "failure_kind": None, "failure_message": None}
        for answer in answers
        if answer.failure is None
    ]
    failed = [
        asked
        | {"tx_hash": answer.tx_hash, "failing_since": asked_at}
        | {"failure_kind": answer.failure.kind, "failure_message": answer.failure.message}
        for answer in answers
        if answer.failure is not None
    ]
    put(connection, checks, answered, keep=frozenset({"first_answered_at"}))
    put(connection, checks, failed, keep=frozenset({"failing_since"}))
    if is_polled or len(failed) < len(answers):
        _note_network(connection, network_id, asked_at, answers)


def evidence(
    connection: Connection, network_id: NetworkId | None, tx_hash: TxHash
) -> list[Evidence]:
    """Return what is held about a hash on one network, or on all: one for each that knows it.

    A network that never watched it, was never asked and holds no record is left out.
    """
    ends = follow_ups_of(connection, tx_hash)
    attempted_at = connection.scalar(
        select(tracked_transactions.c.attempted_at).where(tracked_transactions.c.tx_hash == tx_hash)
    )
    records = _records(connection, tx_hash)
    asked = {
        row.network_id: row
        for row in connection.execute(select(checks).where(checks.c.tx_hash == tx_hash))
    }
    watched = connection.scalars(select(watches.c.network_id).where(watches.c.tx_hash == tx_hash))
    return [
        _evidence(
            Evidence(each, tx_hash, records.get(each, ()), attempted_at, follow_up=ends.get(each)),
            asked.get(each),
        )
        for each in sorted({*records, *asked, *watched, *ends})
        if network_id in {None, each}
    ]


def _records(
    connection: Connection, tx_hash: TxHash
) -> dict[NetworkId, tuple[RejectedTransaction, ...]]:
    records: dict[NetworkId, tuple[RejectedTransaction, ...]] = {}
    for each in versions(connection, tx_hash):
        records[each.network_id] = (*records.get(each.network_id, ()), each.record)
    return records


def _evidence(known: Evidence, check: Row[Any] | None) -> Evidence:
    if check is None:
        return known
    failure = None
    if check.failure_kind is not None:
        failure = Failure(FailureKind(check.failure_kind), check.failure_message)
    return replace(
        known,
        first_answered_at=check.first_answered_at,
        last_answered_at=check.last_answered_at,
        failing_since=check.failing_since,
        failure=failure,
    )


def _note_network(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    answers: Sequence[ExclusionAnswer],
) -> None:
    """Keep whether the network answers at all: one answer shows that it does."""
    operation = Operation.EXCLUSION_STATUS
    failures = [answer.failure for answer in answers if answer.failure is not None]
    if len(failures) < len(answers):
        note_answer(connection, network_id, operation)
    elif failures:
        note_failure(connection, network_id, asked_at, (operation, failures[0]))
