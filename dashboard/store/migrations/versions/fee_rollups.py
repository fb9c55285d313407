"""Roll-ups of fees by minute, hour and day, made of what is stored so far."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import sqlalchemy as sa
from alembic import op

from dashboard.domain.fee_rollup import FeeSeries, RolledUp, TimedFee, roll_up
from dashboard.domain.quantity import Wei

revision = "0009"
down_revision = "0008"

big = sa.BigInteger()
small = sa.SmallInteger()

_STEP = 1000

_seen = sa.table(
    "suggested_gas_fees",
    sa.column("network_id", big),
    sa.column("asked_at", big),
    sa.column("estimated_base_fee", big),
    sa.column("medium_max_priority_fee", big),
)
_estimated = sa.table(
    "estimated_base_fees",
    sa.column("network_id", big),
    sa.column("at", big),
    sa.column("base_fee", big),
)
_marks = sa.table(
    "fee_marks",
    sa.column("network_id", big),
    sa.column("operation", sa.String(40)),
    sa.column("asked_at", big),
    sa.column("fee", big),
)


def upgrade() -> None:
    """Create the table and fill it series by series, holding few values at a time."""
    table = create_table()
    forget_estimates_of_what_was_seen()
    connection = op.get_bind()
    for network_id in stored_networks(connection):
        for series in _QUERIES:
            values = stored_values(connection, network_id, series)
            rest = (row_of(network_id, series, each) for each in roll_up(values))
            while rows := list(islice(rest, _STEP)):
                connection.execute(table.insert(), rows)


def create_table() -> sa.Table:
    return op.create_table(
        "fee_rollups",
        sa.Column("network_id", big, nullable=False),
        sa.Column("series", small, nullable=False),
        sa.Column("level", small, nullable=False),
        sa.Column("begins_at", big, nullable=False),
        sa.Column("first_at", big, nullable=False),
        sa.Column("last_at", big, nullable=False),
        sa.Column("lowest", big, nullable=False),
        sa.Column("highest", big, nullable=False),
        sa.Column("total", sa.LargeBinary(16), nullable=False),
        sa.Column("seen", sa.Integer(), nullable=False),
        sa.Column("estimated", sa.Integer(), nullable=False),
        sa.Column("median", big, nullable=False),
        sa.Column("p90", big, nullable=False),
        sa.Column("last", big, nullable=False),
        sa.Column("longest_gap", big, nullable=False),
        sa.Column("histogram", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("network_id", "series", "level", "begins_at"),
        sqlite_with_rowid=False,
    )


def forget_estimates_of_what_was_seen() -> None:
    """Keep one base fee of one moment: what was seen stands above what was filled in."""
    was_seen = sa.exists().where(
        _seen.c.network_id == _estimated.c.network_id, _seen.c.asked_at == _estimated.c.at
    )
    op.get_bind().execute(sa.delete(_estimated).where(was_seen))


def stored_networks(connection: sa.Connection) -> list[int]:
    networks = sa.union(*(sa.select(each.c.network_id) for each in (_seen, _estimated, _marks)))
    return sorted(connection.scalars(networks))


def stored_values(
    connection: sa.Connection, network_id: int, series: FeeSeries
) -> Iterator[TimedFee]:
    query = _QUERIES[series](network_id).order_by("at").execution_options(yield_per=_STEP)
    for at, fee, is_estimated in connection.execute(query):
        yield TimedFee(at, Wei(fee), bool(is_estimated))


def row_of(network_id: int, series: FeeSeries, rolled_up: RolledUp) -> dict[str, Any]:
    level, begins_at, rollup = rolled_up
    median, p90 = rollup.percentiles(50, 90)
    return {
        "network_id": network_id,
        "series": series,
        "level": level,
        "begins_at": begins_at,
        "first_at": rollup.first_at,
        "last_at": rollup.last_at,
        "lowest": rollup.lowest,
        "highest": rollup.highest,
        "total": rollup.total.to_bytes((rollup.total.bit_length() + 7) // 8, "big"),
        "seen": rollup.seen,
        "estimated": rollup.estimated,
        "median": median,
        "p90": p90,
        "last": rollup.last,
        "longest_gap": rollup.longest_gap,
        "histogram": rollup.histogram.encode(),
    }


def _base_fees(network_id: int) -> Any:  # noqa: ANN401 - a compound select
    seen = sa.select(_seen.c.asked_at.label("at"), _seen.c.estimated_base_fee, sa.literal(0))
    filled = sa.select(_estimated.c.at, _estimated.c.base_fee, sa.literal(1))
    return sa.union_all(
        seen.where(_seen.c.network_id == network_id),
        filled.where(_estimated.c.network_id == network_id),
    )


def _priority_fees(network_id: int) -> Any:  # noqa: ANN401 - as the other one
    column = _seen.c
    query = sa.select(column.asked_at.label("at"), column.medium_max_priority_fee, sa.literal(0))
    return query.where(column.network_id == network_id)


def _marks_of(operation: str) -> Any:  # noqa: ANN401 - as the others
    query = sa.select(_marks.c.asked_at.label("at"), _marks.c.fee, sa.literal(0))
    of_kind = query.where(_marks.c.operation == operation)
    return lambda network_id: of_kind.where(_marks.c.network_id == network_id)


_QUERIES = {
    FeeSeries.ESTIMATED_BASE_FEE: _base_fees,
    FeeSeries.MEDIUM_MAX_PRIORITY_FEE: _priority_fees,
    FeeSeries.BASE_FEE_PERCENTILE: _marks_of("baseFeePercentile"),
    FeeSeries.BUSY_THRESHOLD: _marks_of("busyThreshold"),
}
