"""What became of questions is added up by quarters of an hour, on either database."""

from __future__ import annotations

from datetime import timedelta

from dashboard.domain.health.observation import AnswerCounts, Operation, times_of
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.answer_counts import (
    QUARTER,
    SourceRecord,
    quarter_of,
    record_answer_counts,
    source_records,
)
from dashboard.store.monitoring.upkeep import Upkeep, last_upkeep, note_backup, note_purge
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, seconds
from tests.unit.store.old_rows import forget, rows_of

FEES, STATUS = Operation.SUGGESTED_GAS_FEES, Operation.EXCLUSION_STATUS
ONE = AnswerCounts(1, times=times_of(timedelta(milliseconds=7)))
SLOW = AnswerCounts(2, 1, 3, times_of(timedelta(seconds=60)))
BEGAN = quarter_of(A_MOMENT)


def test_answers_of_a_quarter_are_added_up(store: Store) -> None:
    with store.write() as connection:
        record_answer_counts(connection, A_NETWORK, BEGAN, {FEES: ONE})
        record_answer_counts(connection, A_NETWORK, BEGAN + seconds(899), {FEES: SLOW, STATUS: ONE})
        record_answer_counts(connection, ANOTHER_NETWORK, BEGAN, {})

    with store.read() as connection:
        found = source_records(connection, BEGAN + seconds(899), 2)
    assert found == {
        (A_NETWORK, FEES): SourceRecord(ONE + SLOW, (None, AnswerCounts(3, 1, 3))),
        (A_NETWORK, STATUS): SourceRecord(ONE, (None, AnswerCounts(1))),
    }


def test_quarters_in_which_nothing_was_asked_stay_empty(store: Store) -> None:
    with store.write() as connection:
        for back in (0, 2, 3):
            record_answer_counts(connection, A_NETWORK, BEGAN - back * QUARTER, {FEES: ONE})

    with store.read() as connection:
        [found] = source_records(connection, BEGAN, 3).values()
    assert [each is None for each in found.quarters] == [False, True, False]
    assert found.total == ONE + ONE


def test_old_answers_are_purged(store: Store) -> None:
    with store.write() as connection:
        for back in range(4):
            record_answer_counts(connection, A_NETWORK, BEGAN - back * QUARTER, {FEES: ONE})

    assert forget(store, 2, answer_counts=BEGAN - QUARTER) == {"answers of sources": 2}
    assert rows_of(store, "answer_counts") == 2


def test_last_purge_and_backup_are_remembered(store: Store) -> None:
    with store.read() as connection:
        assert last_upkeep(connection) == Upkeep()

    with store.write() as connection:
        note_purge(connection, A_MOMENT)
        note_backup(connection, A_MOMENT + seconds(1))

    with store.read() as connection:
        assert last_upkeep(connection) == Upkeep(A_MOMENT, A_MOMENT + seconds(1))
