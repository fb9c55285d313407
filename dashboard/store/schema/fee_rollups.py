"""What was seen of fees, rolled up by minute, hour and day; kept longer than what was seen."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Integer, LargeBinary, SmallInteger, Table

from dashboard.store.schema.base import key, metadata, needed
from dashboard.store.schema.columns import Exact, Network, WeiAmount

Total: Final = Exact(
    LargeBinary(16),
    lambda total: total.to_bytes((total.bit_length() + 7) // 8, "big"),
    lambda octets: int.from_bytes(octets, "big"),
)
"""A sum of fees, which may need more than 64 bits: its bytes, the most significant one first."""

# Times are bare milliseconds here, since rows are read by the thousand. `median` and `p90` follow
# from the histogram and are kept beside it, so that a year is read without opening histograms.
fee_rollups = Table(
    "fee_rollups",
    metadata,
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
