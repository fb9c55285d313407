"""The tables: every column with its type, every read of a page with its index."""

from __future__ import annotations

from dashboard.store.schema.access import api_key_credentials, api_key_uses, api_keys, audit_log
from dashboard.store.schema.alerts import (
    conditions,
    deliveries,
    incident_events,
    incident_transitions,
    incidents,
    notification_incidents,
    notification_members,
    notifications,
    outbox,
    transitions,
)
from dashboard.store.schema.columns import metadata
from dashboard.store.schema.fees import (
    base_fee_histories,
    busy_spells,
    estimated_base_fees,
    fee_percentiles,
    fee_rollups,
    suggested_gas_fees,
)
from dashboard.store.schema.installation import installation, leases
from dashboard.store.schema.mail_outages import mail_outages
from dashboard.store.schema.monitoring import (
    answer_counts,
    coverage,
    coverage_gaps,
    credit_ledger,
    standing_failures,
    store_sizes,
)
from dashboard.store.schema.recipients import addresses_off, recipients, suspect_addresses
from dashboard.store.schema.rejections import (
    rejection_days,
    rejections,
    signed_transactions,
)
from dashboard.store.schema.revisions import REVISION
from dashboard.store.schema.rules import rules
from dashboard.store.schema.silences import silences
from dashboard.store.schema.tracking import (
    UNANSWERED,
    checks,
    cohorts,
    follow_ups,
    last_answers,
    saved_filters,
    saved_lookups,
    tracked_hashes,
    tracked_labels,
    tracked_tags,
    watched_cohorts,
    watched_senders,
)

__all__ = [
    "REVISION",
    "UNANSWERED",
    "addresses_off",
    "answer_counts",
    "api_key_credentials",
    "api_key_uses",
    "api_keys",
    "audit_log",
    "base_fee_histories",
    "busy_spells",
    "checks",
    "cohorts",
    "conditions",
    "coverage",
    "coverage_gaps",
    "credit_ledger",
    "deliveries",
    "estimated_base_fees",
    "fee_percentiles",
    "fee_rollups",
    "follow_ups",
    "incident_events",
    "incident_transitions",
    "incidents",
    "installation",
    "last_answers",
    "leases",
    "mail_outages",
    "metadata",
    "notification_incidents",
    "notification_members",
    "notifications",
    "outbox",
    "recipients",
    "rejection_days",
    "rejections",
    "rules",
    "saved_filters",
    "saved_lookups",
    "signed_transactions",
    "silences",
    "standing_failures",
    "store_sizes",
    "suggested_gas_fees",
    "suspect_addresses",
    "tracked_hashes",
    "tracked_labels",
    "tracked_tags",
    "transitions",
    "watched_cohorts",
    "watched_senders",
]
