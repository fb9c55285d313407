"""Series of fees for charts, read in as many steps as a chart can show."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Connection, Select, func, literal, select, type_coerce, union_all

from dashboard.domain.fee_rollup import FeeRollup, SeenFee
from dashboard.domain.observation import Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.columns import milliseconds_of, moment_of
from dashboard.store.observations import Dated
from dashboard.store.schema import estimated_base_fees, fee_marks, suggested_gas_fees


class FeeKind(StrEnum):
    """Which fee a series tells, by the name of its column."""

    BASE_FEE = "estimated_base_fee"
    MEDIUM_PRIORITY_FEE = "medium_max_priority_fee"


class FeeStep(NamedTuple):
    """What was seen of a fee during one step: so many `values`, and when the first and the last.

    `mean` is for drawing only. `estimated` of the values have a time that is only probable.
    `median` and `p90` (the 90th percentile) are at most 1/64 off. `longest_gap` is the longest
    silence that ended in this step, as far as it began in the time that was asked for.
    """

    first_at: datetime
    last_at: datetime
    lowest: Wei
    highest: Wei
    mean: float
    values: int
    estimated: int
    median: Wei
    p90: Wei
    longest_gap: timedelta


class Between(NamedTuple):
    """The time that a series covers, both ends included, and the length of its steps."""

    since: datetime
    until: datetime
    step: timedelta


def fee_steps(
    connection: Connection, network_id: NetworkId, kind: FeeKind, between: Between
) -> list[FeeStep]:
    """Return what was seen of a fee, oldest first; steps in which nothing was seen are left out."""
    length = between.step // timedelta(milliseconds=1)
    query = _values(network_id, kind, between).order_by("at")
    values = (
        SeenFee(milliseconds_of(at), fee, bool(is_estimated))
        for at, fee, is_estimated in connection.execute(query)
    )
    steps: list[FeeStep] = []
    for _, step in groupby(values, lambda value: value.at // length):
        steps.append(_step(FeeRollup.of_all(step), steps))
    return steps


def fee_mark_steps(
    connection: Connection, network_id: NetworkId, operation: Operation, between: Between
) -> list[Dated[Wei]]:
    """Return the last percentile or threshold of each step, oldest first.

    The first one may be older than the time asked for: it still held when that began.
    """
    marks = fee_marks.c
    of_kind = select(marks.asked_at, marks.fee).where(
        marks.network_id == network_id, marks.operation == operation
    )
    before = of_kind.where(marks.asked_at < between.since).order_by(marks.asked_at.desc()).limit(1)
    number = type_coerce(marks.asked_at, BigInteger) // (between.step // timedelta(milliseconds=1))
    last = (
        select(func.max(marks.asked_at))
        .where(marks.network_id == network_id, marks.operation == operation)
        .where(marks.asked_at.between(between.since, between.until))
        .group_by(number)
    )
    since = of_kind.where(marks.asked_at.in_(last)).order_by(marks.asked_at)
    rows = [*connection.execute(before), *connection.execute(since)]
    return [Dated(fee, asked_at) for asked_at, fee in rows]


def first_seen_at(connection: Connection, network_id: NetworkId) -> datetime | None:
    """Return the time of the oldest base fee of a network that is still kept."""
    oldest = (
        connection.scalar(select(func.min(at)).where(table.c.network_id == network_id))
        for table, at in (
            (suggested_gas_fees, suggested_gas_fees.c.asked_at),
            (estimated_base_fees, estimated_base_fees.c.at),
        )
    )
    return min((at for at in oldest if at is not None), default=None)


def _step(rollup: FeeRollup, before: Sequence[FeeStep]) -> FeeStep:
    first_at = moment_of(rollup.first_at)
    gap = timedelta(milliseconds=rollup.longest_gap)
    median, p90 = rollup.percentiles(50, 90)
    return FeeStep(
        first_at,
        moment_of(rollup.last_at),
        rollup.lowest,
        rollup.highest,
        rollup.total / rollup.seen,
        rollup.seen,
        rollup.estimated,
        median,
        p90,
        max(gap, first_at - before[-1].last_at) if before else gap,
    )


def _values(network_id: NetworkId, kind: FeeKind, between: Between) -> Any:  # noqa: ANN401 - a select or a compound one
    observed, estimated = suggested_gas_fees.c, estimated_base_fees.c
    seen: Select[Any] = select(
        observed.asked_at.label("at"),
        observed[kind.value].label("fee"),
        literal(0).label("is_estimated"),
    ).where(
        observed.network_id == network_id,
        observed.asked_at.between(between.since, between.until),
    )
    if kind is not FeeKind.BASE_FEE:
        return seen
    filled = select(estimated.at, estimated.base_fee, literal(1)).where(
        estimated.network_id == network_id, estimated.at.between(between.since, between.until)
    )
    return union_all(seen, filled)
