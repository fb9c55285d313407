"""What became of questions to sources, by the quarter of an hour: answered, failed, how fast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import BigInteger, ColumnElement, Connection, func, select, type_coerce

from dashboard.domain.answer_counts import AnswerCounts
from dashboard.domain.observation import Operation
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.upsert import upsert_sums
from dashboard.store.schema import answer_counts
from dashboard.store.schema.columns import milliseconds_of
from dashboard.store.schema.monitoring import TIMES

QUARTER: Final = timedelta(minutes=15)
"""The time of one row."""

_TIMES: Final = tuple(answer_counts.c[name] for name in TIMES)


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """What became of a question over some time: all together, and by quarters, oldest first.

    A quarter is None where nothing was asked; its `times` are not read.
    """

    total: AnswerCounts
    quarters: tuple[AnswerCounts | None, ...]


def record_answer_counts(
    connection: Connection,
    network_id: NetworkId,
    at: datetime,
    counts: Mapping[Operation, AnswerCounts],
) -> None:
    """Add what became of questions to the quarter of an hour in which they were asked."""
    rows = [
        {
            "quarter": quarter_of(at),
            "network_id": network_id,
            "operation": operation.value,
            "answered": each.answered,
            "instead": each.instead,
            "failed": each.failed,
            **dict(zip(TIMES, each.times, strict=True)),
        }
        for operation, each in counts.items()
    ]
    upsert_sums(connection, answer_counts, rows)


def quarter_of(at: datetime) -> datetime:
    """Return the quarter of an hour in which a moment lies."""
    return at.replace(minute=at.minute - at.minute % 15, second=0, microsecond=0)


def source_records(
    connection: Connection, until: datetime, quarters: int
) -> dict[tuple[NetworkId, Operation], SourceRecord]:
    """Return of each question what became of it in so many quarters, that of `until` the last.

    A question that was not asked then is left out.
    """
    first = quarter_of(until) - (quarters - 1) * QUARTER
    column = answer_counts.c
    lies_in = (column.quarter >= first, column.quarter <= until)
    began = type_coerce(column.quarter, BigInteger)
    query = select(
        column.network_id, column.operation, began, column.answered, column.instead, column.failed
    ).where(*lies_in)
    zero, length = milliseconds_of(first), QUARTER // timedelta(milliseconds=1)
    found: dict[tuple[NetworkId, str], list[AnswerCounts | None]] = {}
    known: dict[tuple[int, ...], AnswerCounts] = {}  # most quarters are alike
    for network_id, operation, at, *counts in connection.execute(query).all():
        line = found.setdefault((network_id, operation), [None] * quarters)
        alike = tuple(counts)
        if alike not in known:
            known[alike] = AnswerCounts(*alike)
        line[(at - zero) // length] = known[alike]
    totals = _totals(connection, lies_in)
    return {
        (network_id, Operation(operation)): SourceRecord(totals[network_id, operation], tuple(line))
        for (network_id, operation), line in found.items()
    }


def _totals(
    connection: Connection, lies_in: Sequence[ColumnElement[bool]]
) -> dict[tuple[NetworkId, str], AnswerCounts]:
    """Add up what became of each question, and the times of its answers."""
    column = answer_counts.c
    summed = (column.answered, column.instead, column.failed, *_TIMES)
    sums = select(column.network_id, column.operation, *(func.sum(each) for each in summed))
    grouped = sums.where(*lies_in).group_by(column.network_id, column.operation)
    totals = {}
    for network_id, operation, *counts in connection.execute(grouped).all():
        answered, instead, failed, *times = map(int, counts)
        totals[network_id, operation] = AnswerCounts(answered, instead, failed, tuple(times))
    return totals
