"""Follow-ups: what nodes answered about the inclusion of each transaction, and what is open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, Row, and_, case, func, or_, select

from dashboard.domain.health.observation import Failure, FailureKind
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.inclusion import (
    FollowUp,
    Inclusion,
    InclusionAnswer,
    InclusionQuestion,
    conclude_follow_up,
)
from dashboard.store.engine.batching import rows_among
from dashboard.store.engine.upsert import upsert
from dashboard.store.schema import follow_ups, rejections, tracked_hashes, watched_cohorts
from dashboard.store.schema.columns import columns_of, read_as
from dashboard.store.tracking.cohorts import LARGEST_COHORT, mark_included, unmark_included


class OpenFollowUp(Struct, frozen=True):
    """A tracked hash whose outcome is open; `asked_at` is None if no node was asked yet.

    `begun_at` is when it was tracked, or tracked again after polls had ended. `is_answered`: the
    last question was; `end` says when an end was seen that is not final yet, None if there is none.
    """

    cohort_id: int
    watch_id: int
    tx_hash: TxHash
    tracked_at: datetime
    begun_at: datetime
    asked_at: datetime | None
    is_answered: bool
    end: FollowUp | None


_AT_ONCE: Final = 5 * LARGEST_COHORT


def open_follow_ups(
    connection: Connection, network_id: NetworkId, after: int, known: int, limit: int = _AT_ONCE
) -> list[OpenFollowUp]:
    """Return the next open follow-ups on a network, of whole cohorts with larger ids than `after`.

    Only those that began in a cohort with a larger id than `known`: a hash keeps its watch id when
    its cohort is split. If it is tracked again after polls had ended, it begins anew. `limit` is
    larger than any cohort.
    """
    watched, tx_hash = watched_cohorts.c, tracked_hashes.c.tx_hash
    of_watch = and_(follow_ups.c.tx_hash == tx_hash, follow_ups.c.network_id == watched.network_id)
    column = follow_ups.c
    begins_anew = watched.born_at > column.last_asked_at
    query = (
        select(*watched["cohort_id", "watch_id", "watched_at", "born_at"], tx_hash)
        .add_columns(*column["last_asked_at", "failing_since", "answered_at"])
        .add_columns(*column["included_since", "replaced_since"])
        .join_from(watched_cohorts, tracked_hashes, tracked_hashes.c.cohort_id == watched.cohort_id)
        .outerjoin(follow_ups, of_watch)
        .where(watched.cohort_id > after, or_(watched.watch_id > known, begins_anew))
        .where(watched.network_id == network_id, column.settled_at.is_(None))
        .order_by(watched.cohort_id)
        .limit(limit)
    )
    rows = connection.execute(query).all()
    cut = rows[-1].cohort_id if len(rows) == limit else None
    return [_open_follow_up(row) for row in rows if row.cohort_id != cut]


def _open_follow_up(row: Row[Any]) -> OpenFollowUp:
    end = None
    if row.included_since is not None or row.replaced_since is not None:
        end = FollowUp(row.answered_at, None, row.included_since, row.replaced_since)
    return OpenFollowUp(
        row.cohort_id,
        row.watch_id,
        row.tx_hash,
        row.watched_at,
        max(row.watched_at, row.born_at),
        row.last_asked_at,
        row.failing_since is None,
        end,
    )


def count_ends(connection: Connection) -> tuple[int, int]:
    """Count the included transactions, and those replaced by another with the same nonce.

    It reads every follow-up.
    """
    column = follow_ups.c
    is_replaced = column.replaced_since < column.answered_at
    query = select(func.count(column.block_number), func.count(case((is_replaced, 1))))
    included, replaced = connection.execute(query).one()
    return included, replaced


def inclusion_questions(
    connection: Connection, network_id: NetworkId, hashes: Sequence[TxHash]
) -> list[InclusionQuestion]:
    """Return the question about each hash, in order, with sender and nonce if a record names them.

    All rejections of a hash name the same ones, which follow from its signature.
    """
    column = rejections.c
    query = select(column.tx_hash, column.sender, column.nonce).where(
        column.network_id == network_id, column.sender.is_not(None), column.nonce.is_not(None)
    )
    rows = rows_among(connection, query, column.tx_hash, hashes)
    known = {row.tx_hash: tuple(row)[1:] for row in rows}
    return [InclusionQuestion(each, *known.get(each, ())) for each in hashes]


def record_inclusion_answers(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    answers: Iterable[tuple[InclusionQuestion, InclusionAnswer]],
) -> dict[TxHash, FollowUp]:
    """Record a node's answers; return the follow-up of each hash that was answered.

    Cohorts are marked if a hash came into a block, or left one, as the exclusion poll asks less
    often about included hashes.
    """
    pairs = list(answers)
    stored = follow_ups_among(connection, [question.tx_hash for question, _ in pairs])
    held = {each: ends[network_id] for each, ends in stored.items() if network_id in ends}
    concluded = {
        answer.tx_hash: conclude_follow_up(
            held.get(answer.tx_hash), answer, question.nonce, asked_at
        )
        for question, answer in pairs
        if answer.failure is None
    }
    asked = {"network_id": network_id, "last_asked_at": asked_at}
    upsert(connection, follow_ups, [asked | _row(*each) for each in concluded.items()])
    failed = [
        asked
        | {"tx_hash": answer.tx_hash, "failing_since": asked_at}
        | {"failure_kind": answer.failure.kind, "failure_message": answer.failure.message}
        for _, answer in pairs
        if answer.failure is not None
    ]
    upsert(connection, follow_ups, failed, keep=frozenset({"failing_since"}))
    was = {each for each, before in held.items() if before.inclusion is not None}
    now = {each for each, after in concluded.items() if after.inclusion is not None}
    mark_included(connection, network_id, [*(now - was)], asked_at)
    unmark_included(connection, network_id, [*((was & concluded.keys()) - now)])
    return concluded


def follow_ups_among(
    connection: Connection, hashes: Sequence[TxHash]
) -> dict[TxHash, dict[NetworkId, FollowUp]]:
    """Return what nodes answered about each of these hashes, by network; only networks that did."""
    found: dict[TxHash, dict[NetworkId, FollowUp]] = {each: {} for each in hashes}
    answered = select(follow_ups).where(follow_ups.c.answered_at.is_not(None))
    for row in rows_among(connection, answered, follow_ups.c.tx_hash, hashes):
        found[row.tx_hash][row.network_id] = _follow_up(row)
    return found


def receipt_failures_among(
    connection: Connection, hashes: Sequence[TxHash]
) -> dict[tuple[TxHash, NetworkId], tuple[datetime, Failure]]:
    """Return since when, and why, nodes do not answer about some of these hashes."""
    query = select(*_FAILED).where(follow_ups.c.tx_hash.in_(hashes))
    return {
        (row.tx_hash, row.network_id): (
            row.failing_since,
            Failure(FailureKind(row.failure_kind), row.failure_message),
        )
        for row in connection.execute(query.where(follow_ups.c.failing_since.is_not(None)))
    }


_FAILED: Final = follow_ups.c[
    "tx_hash", "network_id", "failing_since", "failure_kind", "failure_message"
]


def _row(tx_hash: TxHash, held: FollowUp) -> dict[str, Any]:
    row = columns_of(follow_ups, held, tx_hash=tx_hash) | _UNKNOWN
    return row if held.inclusion is None else row | columns_of(follow_ups, held.inclusion)


_UNKNOWN: Final = dict.fromkeys(
    (
        *("block_number", "block_hash", "is_successful"),
        *("failing_since", "failure_kind", "failure_message"),
    )
)
"""The block of a transaction that is in none, and the failure of a question that was answered."""


def _follow_up(row: Row[Any]) -> FollowUp:
    inclusion = None
    if row.block_number is not None:
        inclusion = read_as(Inclusion, row, follow_ups)
    return read_as(FollowUp, row, follow_ups, inclusion=inclusion)
