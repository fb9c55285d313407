"""Record what networks answered about hashes, cohort by cohort.

Reports are saved here, and their cohorts marked. The caller saves the rejections of a poll.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, select

from dashboard.domain.alerts.condition import State, Subject, SubjectKind, Transition
from dashboard.domain.alerts.kinds.rejections import InclusionGrounds
from dashboard.domain.health.observation import ExclusionAnswer, Operation, not_null
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.exclusion import LocatedReport, RejectionSource, SaveStatus
from dashboard.errors import StoreError, StoreUnavailable
from dashboard.store.alerts.conditions import record_inclusion
from dashboard.store.engine.batching import grouped, rows_among
from dashboard.store.monitoring.answer_counts import note_answered, note_failure
from dashboard.store.rejections import save
from dashboard.store.schema import cohorts, tracked_hashes, watched_cohorts
from dashboard.store.tracking.cohorts import Cohort, PollResult, mark_rejected
from dashboard.store.tracking.follow_ups import follow_ups_among
from dashboard.store.tracking.poll_groups import changed_members, leave_groups
from dashboard.store.tracking.poll_results import record_poll_results, record_untracked_results
from dashboard.store.tracking.statements import record_statements


class UnsavedAnswers(Struct, frozen=True):
    """What a network answered that could not be stored, and why."""

    network_id: NetworkId
    asked_at: datetime
    answers: Sequence[ExclusionAnswer]
    why: StoreError


class AnswersNotSaved(StoreUnavailable):
    """Networks answered, but the store could not save all of their answers."""

    def __init__(self, unsaved: Sequence[UnsavedAnswers]) -> None:
        super().__init__(str(unsaved[0].why))
        self.unsaved = unsaved


def record_poll(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    polled: Sequence[Cohort],
    answers: Sequence[ExclusionAnswer],
) -> dict[int, PollResult]:
    """Record the answers about all hashes of these cohorts; return the result of each cohort.

    Hashes of a cohort that got another result are in a new cohort afterwards.
    """
    by_hash = {answer.tx_hash: answer for answer in not_null(answers)}
    results = record_poll_results(connection, network_id, asked_at, polled, by_hash)
    record_statements(connection, network_id, asked_at, answers)
    _note_network(connection, network_id, asked_at, answers)
    return results


def leave_changed(
    connection: Connection,
    network_id: NetworkId,
    groups: Sequence[Cohort],
    answers: Sequence[ExclusionAnswer],
) -> list[Cohort]:
    """Take cohorts out of their groups if their result differs now; return them, to record alone.

    If only some hashes of a cohort have another result, it is returned with these alone.
    """
    unlike = {
        each.tx_hash
        for each in not_null(answers)
        if (each.record, each.failure) != (None, None) or each.is_claimed_included
    }
    unlike.update(changed_members(connection, network_id, [each.cohort_id for each in groups]))
    changed = [each for group in groups if unlike for each in group.hashes if each in unlike]
    leaving = cohorts_among(connection, network_id, changed)
    leave_groups(connection, network_id, [each.cohort_id for each in leaving if each.is_whole])
    return leaving


def record_lookup(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    answers: Sequence[ExclusionAnswer],
    *,
    is_polled: bool = True,
) -> None:
    """Record answers about any hashes, tracked or not; the caller saves rejections.

    Only a poll asks again, so only failures of a poll show that the network does not answer; any
    answer shows that it does. Hashes to which a look-up got no answer move to new cohorts, since
    the poll loads these and soon asks again.
    """
    by_hash = {answer.tx_hash: answer for answer in answers}
    tracked = cohorts_among(connection, network_id, list(by_hash))
    if not is_polled:
        failed = {answer.tx_hash for answer in answers if answer.failure is not None}
        tracked = [
            replace(each, is_whole=each.is_whole and failed.isdisjoint(each.hashes))
            for each in tracked
        ]
    record_poll_results(connection, network_id, asked_at, tracked, by_hash)
    hashes = {tx_hash for cohort in tracked for tx_hash in cohort.hashes}
    others = [answer for answer in by_hash.values() if answer.tx_hash not in hashes]
    record_untracked_results(connection, network_id, asked_at, others)
    record_statements(connection, network_id, asked_at, answers)
    if is_polled or any(answer.failure is None for answer in answers):
        _note_network(connection, network_id, asked_at, answers)


def cohorts_among(
    connection: Connection, network_id: NetworkId, hashes: Sequence[TxHash]
) -> list[Cohort]:
    """Return the cohorts of these hashes, each with these hashes alone."""
    column, watched = tracked_hashes.c, watched_cohorts.c
    query = (
        select(cohorts.c.cohort_id, watched.is_rejected, cohorts.c.size)
        .add_columns(watched.included_at.is_not(None), column.tx_hash)
        .select_from(tracked_hashes)
        .join(cohorts)
        .join(watched_cohorts, watched.cohort_id == cohorts.c.cohort_id)
        .where(watched.network_id == network_id)
    )
    rows = rows_among(connection, query, column.tx_hash, hashes)
    found = grouped((tuple(cohort), tx_hash) for *cohort, tx_hash in rows)
    return [
        Cohort(cohort_id, is_rejected, some, len(some) == size, is_included)
        for (cohort_id, is_rejected, size, is_included), some in found.items()
    ]


def _note_network(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    answers: Sequence[ExclusionAnswer],
) -> None:
    """Record whether the network answers at all: one answer shows that it does."""
    operation = Operation.EXCLUSION_STATUS
    failures = [each.failure for each in not_null(answers) if each.failure is not None]
    if len(failures) < len(answers):
        note_answered(connection, network_id, [operation], asked_at)
    elif failures:
        note_failure(connection, network_id, asked_at, (operation, failures[0]))


def save_reports(
    connection: Connection,
    located: Sequence[LocatedReport],
    now: datetime,
    source: RejectionSource = RejectionSource.REPORTED,
) -> list[SaveStatus]:
    """Save what nodes report as `save.save_reports` does, and mark the cohorts of new versions."""
    saved = save.save_reports(connection, located, now, source)
    for network_id, hashes in saved.new.items():
        mark_rejected(connection, network_id, hashes)
    return saved.statuses


def record_inclusions(
    connection: Connection,
    network_id: NetworkId,
    hashes: Sequence[TxHash],
    at: datetime,
    new_id: Callable[[], UUID],
) -> None:
    """Record, once for each, which of these hashes were rejected and are known to be in a block.

    Call it whichever of the two became known: a look-up may find a block before the poll does, and
    a node may report a rejection after the block has come.
    """
    for tx_hash, ends in follow_ups_among(connection, hashes).items():
        block = ends[network_id].inclusion if network_id in ends else None
        if block is None:
            continue
        subject = Subject(SubjectKind.INCLUSION, network_id, tx_hash)
        grounds = InclusionGrounds(block.block_number, block.is_successful)
        included = Transition(new_id(), subject, None, State.INCLUDED, at, grounds)
        record_inclusion(connection, included)
