"""Record what networks answered to polls and look-ups about hashes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from dashboard.domain.observation import ExclusionAnswer, Operation
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.errors import StoreError, StoreUnavailable
from dashboard.store.engine.portions import portions
from dashboard.store.engine.upsert import put
from dashboard.store.monitoring.upstream_failures import note_answer, note_failure
from dashboard.store.schema import (
    checks,
    cohorts,
    tracked_hashes,
    watched_cohorts,
)
from dashboard.store.tracking.cohorts import Cohort
from dashboard.store.tracking.poll_results import (
    NO_FAILURE,
    Asked,
    PollResult,
    record_cohort_results,
    row_of_failure,
)


@dataclass(frozen=True, slots=True)
class UnsavedAnswers:
    """What a network said that could not be stored, and why."""

    network_id: NetworkId
    asked_at: datetime
    answers: Sequence[ExclusionAnswer]
    why: StoreError


class AnswersNotSaved(StoreUnavailable):
    """Networks answered, and the store could not keep all that they said."""

    def __init__(self, unsaved: Sequence[UnsavedAnswers]) -> None:
        """Hand the answers on; the text is that of the store."""
        super().__init__(str(unsaved[0].why))
        self.unsaved = unsaved


def record_lookup(
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
    of_hash = {answer.tx_hash: answer for answer in answers}
    asked = []
    for cohort, size in _cohorts_among(connection, network_id, list(of_hash)):
        theirs = [of_hash.pop(each) for each in cohort.hashes]
        asked.append(Asked(cohort, theirs, is_whole=len(theirs) == size))
    record_cohort_results(connection, network_id, asked_at, asked)
    _record_unwatched(connection, network_id, asked_at, of_hash.values())
    if is_polled or any(answer.failure is None for answer in answers):
        _note_network(connection, network_id, asked_at, answers)


def record_poll(
    connection: Connection, network_id: NetworkId, asked_at: datetime, asked: Sequence[Asked]
) -> dict[int, PollResult]:
    """Remember what came of polling cohorts; return of each what came of those who stay in it.

    The others left for new cohorts. Of a cohort about which there is no news one row is written,
    however many its hashes are.
    """
    stayed = record_cohort_results(connection, network_id, asked_at, asked)
    _note_network(connection, network_id, asked_at, [a for each in asked for a in each.answers])
    return stayed


def _cohorts_among(
    connection: Connection, network_id: NetworkId, hashes: Sequence[TxHash]
) -> list[tuple[Cohort, int]]:
    """Return cohorts with those of the hashes that are in them, and how many all of them are."""
    column, watched = tracked_hashes.c, watched_cohorts.c
    found: defaultdict[tuple[int, bool, int], list[TxHash]] = defaultdict(list)
    for some in portions(hashes):
        query = (
            select(cohorts.c.cohort_id, watched.is_rejected, cohorts.c.size, column.tx_hash)
            .select_from(tracked_hashes)
            .join(cohorts)
            .join(watched_cohorts, watched.cohort_id == cohorts.c.cohort_id)
            .where(column.tx_hash.in_(some), watched.network_id == network_id)
        )
        for *cohort, tx_hash in connection.execute(query):
            found[tuple(cohort)].append(tx_hash)
    return [(Cohort(*key[:2], each), key[2]) for key, each in found.items()]


def _record_unwatched(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    answers: Iterable[ExclusionAnswer],
) -> None:
    """Write a row for each hash that nobody watches on the network."""
    answered, failed = [], []
    for answer in answers:
        asked = {"tx_hash": answer.tx_hash, "network_id": network_id, "last_asked_at": asked_at}
        if answer.failure is None:
            at = {"first_answered_at": asked_at, "last_answered_at": asked_at}
            answered.append(asked | at | NO_FAILURE)
        else:
            failed.append(asked | {"failing_since": asked_at} | row_of_failure(answer.failure))
    put(connection, checks, answered, keep=frozenset({"first_answered_at"}))
    put(connection, checks, failed, keep=frozenset({"failing_since"}))


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
        note_answer(connection, network_id, operation, asked_at)
    elif failures:
        note_failure(connection, network_id, asked_at, (operation, failures[0]))
