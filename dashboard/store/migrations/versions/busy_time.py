"""Whether each base fee that is stored was busy, judged by the thresholds that are stored."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import sqlalchemy as sa
from alembic import op

from dashboard.domain.fee_rollup import FeeSeries, TimedFee, roll_up
from dashboard.store.migrations.versions.fee_rollups import row_of

revision = "0023"
down_revision = "0022"

_STEP = 1000
_PLACES = (
    ("suggested_gas_fees", "asked_at", "estimated_base_fee", 0),
    ("estimated_base_fees", "at", "base_fee", 1),
)
_NETWORKS = (
    "SELECT DISTINCT network_id FROM suggested_gas_fees "
    "UNION SELECT DISTINCT network_id FROM estimated_base_fees"
)


def upgrade() -> None:
    """Judge what is still stored value by value, and roll it up; of the rest nothing is known."""
    for table, at, fee, _ in _PLACES:
        op.add_column(table, sa.Column("is_busy", sa.SmallInteger()))
        op.execute(
            f"UPDATE {table} SET is_busy = (SELECT CASE WHEN {table}.{fee} > held.fee "  # noqa: S608 - names of ours
            "THEN 1 ELSE 0 END FROM fee_marks AS held "
            f"WHERE held.network_id = {table}.network_id AND held.operation = 'busyThreshold' "
            f"AND held.asked_at <= {table}.{at} ORDER BY held.asked_at DESC LIMIT 1)"
        )
    connection = op.get_bind()
    rollups = sa.Table("fee_rollups", sa.MetaData(), autoload_with=connection)
    for network_id in sorted(connection.scalars(sa.text(_NETWORKS))):
        rolled_up = roll_up(_judged(connection, network_id))
        rows = (row_of(network_id, FeeSeries.IS_BUSY, each) for each in rolled_up)
        while some := list(islice(rows, _STEP)):
            connection.execute(rollups.insert(), some)


def _judged(connection: sa.Connection, network_id: int) -> Iterator[TimedFee]:
    parts = (
        f"SELECT {at} AS at, is_busy, {is_estimated} FROM {table} "  # noqa: S608 - names of ours
        "WHERE network_id = :network_id AND is_busy IS NOT NULL"
        for table, at, _, is_estimated in _PLACES
    )
    query = sa.text(f"{' UNION ALL '.join(parts)} ORDER BY at").execution_options(yield_per=_STEP)
    for at, is_busy, is_estimated in connection.execute(query, {"network_id": network_id}):
        yield TimedFee(at, is_busy, bool(is_estimated))
