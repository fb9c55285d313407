"""The tables: every column with its type, every read of a page with its index."""

from __future__ import annotations

from dashboard.store.schema.alerts import conditions, deliveries, notifications, outbox, transitions
from dashboard.store.schema.api_keys import api_key_credentials, api_key_uses, api_keys
from dashboard.store.schema.audit import audit_log
from dashboard.store.schema.base import metadata
from dashboard.store.schema.counters import (
    rejection_counters,
    rejection_modules,
    rejection_senders,
    sender_counters,
)
from dashboard.store.schema.coverage import coverage, coverage_gaps, credit_ledger
from dashboard.store.schema.fee_rollups import fee_rollups
from dashboard.store.schema.fees import (
    base_fee_histories,
    estimated_base_fees,
    fee_marks,
    standing_failures,
    suggested_gas_fees,
)
from dashboard.store.schema.follow_ups import follow_ups
from dashboard.store.schema.installation import installation, leases
from dashboard.store.schema.revisions import REVISION
from dashboard.store.schema.sizes import store_growth
from dashboard.store.schema.tracking import (
    checks,
    cohorts,
    last_answers,
    saved_lookups,
    tracked_hashes,
    tracked_labels,
    watched_cohorts,
    watched_senders,
)
from dashboard.store.schema.transactions import rejections, signed_transactions

__all__ = [
    "REVISION",
    "api_key_credentials",
    "api_key_uses",
    "api_keys",
    "audit_log",
    "base_fee_histories",
    "checks",
    "cohorts",
    "conditions",
    "coverage",
    "coverage_gaps",
    "credit_ledger",
    "deliveries",
    "estimated_base_fees",
    "fee_marks",
    "fee_rollups",
    "follow_ups",
    "installation",
    "last_answers",
    "leases",
    "metadata",
    "notifications",
    "outbox",
    "rejection_counters",
    "rejection_modules",
    "rejection_senders",
    "rejections",
    "saved_lookups",
    "sender_counters",
    "signed_transactions",
    "standing_failures",
    "store_growth",
    "suggested_gas_fees",
    "tracked_hashes",
    "tracked_labels",
    "transitions",
    "watched_cohorts",
    "watched_senders",
]
