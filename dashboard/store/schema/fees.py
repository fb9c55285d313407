"""Tables of a network's fees: as polls saw them, and rolled up by minute, hour and day."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
)

from dashboard.domain.fees.gas import GasSource
from dashboard.store.schema.columns import (
    Duration,
    Exact,
    ForeignText,
    Moment,
    Network,
    WeiAmount,
    key,
    needed,
    table,
)

_LEVELS: Final = tuple(
    column
    for level in ("low", "medium", "high")
    for column in (
        needed(f"{level}_max_priority_fee", WeiAmount),
        needed(f"{level}_max_fee", WeiAmount),
        needed(f"{level}_min_wait", Duration),
        needed(f"{level}_max_wait", Duration),
    )
)


def source() -> Column[Any]:
    """Return the column that says who answered: a `GasSource`."""
    return Column("source", String(20), nullable=False, server_default=GasSource.GAS_API)


suggested_gas_fees = table(
    "suggested_gas_fees",
    key("network_id", Network),
    key("asked_at", Moment),
    *_LEVELS,
    needed("estimated_base_fee", WeiAmount),
    needed("network_congestion", Float(53)),
    needed("latest_priority_fee_from", WeiAmount),
    needed("latest_priority_fee_to", WeiAmount),
    needed("historical_priority_fee_from", WeiAmount),
    needed("historical_priority_fee_to", WeiAmount),
    needed("historical_base_fee_from", WeiAmount),
    needed("historical_base_fee_to", WeiAmount),
    needed("priority_fee_trend", ForeignText),
    needed("base_fee_trend", ForeignText),
    Column("version", ForeignText),
    source(),
    sqlite_with_rowid=False,
)

# Base fees from before we watched, or from a gap, with the time they probably had.
estimated_base_fees = table(
    "estimated_base_fees",
    key("network_id", Network),
    key("at", Moment),
    needed("base_fee", WeiAmount),
    sqlite_with_rowid=False,
)

base_fee_histories = table(
    "base_fee_histories",
    key("network_id", Network),
    needed("asked_at", Moment),
    needed("base_fees", JSON),
)

# Since when a network was busy and until when, as far as somebody watched; without an end it is.
busy_spells = table(
    "busy_spells",
    key("network_id", Network),
    key("begins_at", Moment),
    Column("ends_at", Moment),
    needed("is_end_known", Boolean),
    sqlite_with_rowid=False,
)

# baseFeePercentile and busyThreshold.
fee_percentiles = table(
    "fee_percentiles",
    key("network_id", Network),
    key("operation", String(40)),
    key("asked_at", Moment),
    needed("fee", WeiAmount),
    source(),
    sqlite_with_rowid=False,
)


Total: Final = Exact(
    LargeBinary(16),
    lambda total: total.to_bytes((total.bit_length() + 7) // 8, "big"),
    lambda octets: int.from_bytes(octets, "big"),
)
"""A sum of fees, which may need more than 64 bits: its bytes, the most significant one first."""

# Times are bare milliseconds here, since rows are read by the thousand. `median` and `p90` follow
# from the histogram and are kept beside it, so that a year is read without opening histograms.
fee_rollups = table(
    "fee_rollups",
    key("network_id", Network),
    key("series", SmallInteger),
    key("level", SmallInteger),
    key("begins_at", BigInteger),
    needed("first_at", BigInteger),
    needed("last_at", BigInteger),
    needed("lowest", WeiAmount),
    needed("highest", WeiAmount),
    needed("total", Total),
    needed("seen", Integer),
    needed("estimated", Integer),
    needed("median", WeiAmount),
    needed("p90", WeiAmount),
    needed("last", WeiAmount),
    needed("longest_gap", BigInteger),
    needed("histogram", LargeBinary),
    sqlite_with_rowid=False,
)
