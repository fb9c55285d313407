"""Tables of Linewatch itself: coverage, sources and the cost of asking them, and sizes."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, String

from dashboard.domain.health.observation import LIMITS
from dashboard.store.schema.columns import (
    ForeignText,
    Moment,
    Network,
    key,
    needed,
    partial_index,
    table,
)

# Since when a part of a network is watched without a pause, until when it surely was, and when that
# began for the first time.
coverage = table(
    "coverage",
    key("network_id", Network),
    key("watched", String(20)),
    needed("since", Moment),
    needed("until", Moment),
    Column("began_at", Moment),
    sqlite_with_rowid=False,
)

coverage_gaps = table(
    "coverage_gaps",
    key("network_id", Network),
    key("watched", String(20)),
    key("begins_at", Moment),
    Column("ends_at", Moment),
    needed("cause", String(20)),
    needed("reason", ForeignText),
    Index(None, "begins_at"),
    sqlite_with_rowid=False,
)

partial_index(
    "ix_coverage_gaps_open",
    coverage_gaps.c.network_id,
    coverage_gaps.c.watched,
    where=coverage_gaps.c.ends_at.is_(None),
)

# Calls of each hour, and the credits that they cost where upstream counts them.
credit_ledger = table(
    "credit_ledger",
    key("hour", Moment),
    key("network_id", Network),
    key("operation", String(64)),
    needed("calls", BigInteger),
    needed("credits", BigInteger),
    sqlite_with_rowid=False,
)

# Credits of each budget by day and month, counted before they are spent. `stretch`: polls ask so
# many thousandths as seldom as usual.
budget_spending = table(
    "budget_spending",
    key("begins_at", Moment),
    key("period", String(10)),
    key("budget", String(64)),
    needed("credits", BigInteger),
    Column("stretch", Integer),
    sqlite_with_rowid=False,
)

# How each exclusion endpoint takes questions, as found out by asking.
endpoint_transports = table(
    "endpoint_transports",
    key("network_id", Network),
    key("endpoint", String(200)),
    key("transport", String(10)),
    needed("accepted", Integer),
    needed("refused", Integer),
    needed("is_used", Boolean),
    needed("trouble", ForeignText),
    sqlite_with_rowid=False,
)

TIMES: Final = tuple(f"times_{place}" for place in range(len(LIMITS) + 1))
"""Columns that count answers by how long they took, the fastest first."""

# What became of the questions of each quarter of an hour.
answer_counts = table(
    "answer_counts",
    key("quarter", Moment),
    key("network_id", Network),
    key("operation", String(64)),
    *(needed(name, Integer) for name in ("answered", "instead", "failed", *TIMES)),
    sqlite_with_rowid=False,
)

# How each exclusion endpoint answers: in which `AnswerShape`, and since when not. Of a network's
# only endpoint, which has no name, the shape alone.
exclusion_endpoints = table(
    "exclusion_endpoints",
    key("network_id", Network),
    key("endpoint", String(64)),
    Column("shape", String(10)),
    Column("answered_at", Moment),
    Column("failing_since", Moment),
    Column("failure_kind", String(20)),
    Column("failure_message", ForeignText),
    sqlite_with_rowid=False,
)

store_sizes = table(
    "store_sizes",
    key("day", Moment),
    needed("measured_at", Moment),
    needed("bytes", BigInteger),
    # Bytes that were free on its disk; null where the database does not say.
    Column("free", BigInteger),
)

standing_failures = table(
    "standing_failures",
    key("network_id", Network),
    key("operation", String(40)),
    needed("failing_since", Moment),
    needed("last_failed_at", Moment),
    needed("failure_kind", String(20)),
    needed("failure_message", ForeignText),
)

# When a block comes with which line limits end; until then, when it `is_expected`.
limits_end_blocks = table(
    "limits_end_blocks",
    key("network_id", Network),
    key("block_number", BigInteger),
    needed("at", Moment),
    needed("is_expected", Boolean),
    sqlite_with_rowid=False,
)
