"""The blocks with which line limits end: when they came, or are expected."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace
from sqlalchemy import Connection, select

from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.line_limits import LimitsEnd, LineLimits
from dashboard.store.engine.upsert import upsert
from dashboard.store.schema import limits_end_blocks
from dashboard.store.schema.columns import columns_of


def save_end_block(connection: Connection, network_id: NetworkId, end: LimitsEnd) -> None:
    """Store the time of the block of an end, in place of the expected one."""
    row = columns_of(limits_end_blocks, end, network_id=network_id)
    upsert(connection, limits_end_blocks, [row])


def known_end(
    connection: Connection, network_id: NetworkId, end: LimitsEnd | None
) -> LimitsEnd | None:
    """Return the end; one with a block has its time, if a worker knows it."""
    if end is None or end.block_number is None:
        return end
    column = limits_end_blocks.c
    query = select(column.at, column.is_expected).where(
        column.network_id == network_id, column.block_number == end.block_number
    )
    row = connection.execute(query).one_or_none()
    return end if row is None else replace(end, at=row.at, is_expected=row.is_expected)


def known_limits(
    connection: Connection, limits: Mapping[NetworkId, LineLimits]
) -> dict[NetworkId, LineLimits]:
    """Return the line limits of networks, with ends as they are known."""
    return {
        key: replace(each, end=known_end(connection, key, each.end)) for key, each in limits.items()
    }
