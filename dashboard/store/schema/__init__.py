"""The tables: every column with its type, every read with its index; and their revisions."""

from __future__ import annotations

import re
from typing import Final

from dashboard.errors import SchemaMismatch
from dashboard.store.schema.access import (
    api_key_credentials,
    api_key_uses,
    api_keys,
    api_replies,
    api_tokens,
    audit_log,
    chosen_settings,
    installation,
    invitations,
    leases,
    passkeys,
    people,
    recovery_codes,
    sessions,
    sign_in_steps,
)
from dashboard.store.schema.alerts import (
    addresses_off,
    conditions,
    deliveries,
    incident_events,
    incident_transitions,
    incidents,
    mail_outages,
    notification_incidents,
    notification_members,
    notifications,
    outbox,
    recipients,
    removed_rules,
    rules,
    silences,
    suspect_addresses,
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
from dashboard.store.schema.monitoring import (
    answer_counts,
    budget_spending,
    coverage,
    coverage_gaps,
    credit_ledger,
    endpoint_transports,
    exclusion_endpoints,
    limits_end_blocks,
    standing_failures,
    store_sizes,
)
from dashboard.store.schema.rejections import (
    rejection_days,
    rejections,
    signed_transactions,
)
from dashboard.store.schema.tracking import (
    UNANSWERED,
    checks,
    cohorts,
    endpoint_statements,
    follow_ups,
    last_answers,
    poll_groups,
    polled_cohorts,
    saved_filters,
    saved_lookups,
    share_links,
    tracked_hashes,
    tracked_labels,
    tracked_tags,
    watched_cohorts,
    watched_senders,
)

REVISIONS: Final = ("0.1.0", "0.2.0")
"""Every released schema, the oldest first. A release that changes the schema adds its own."""

REVISION: Final = REVISIONS[-1]
"""The schema that this code reads and writes."""

_BEFORE_RELEASE: Final = re.compile(r"\d{4}")
"""Schemas were numbered from 0001 to 0023, until the first release merged all of them."""


def refuse_unknown_schema(name: str, found: str) -> None:
    """Raise SchemaMismatch, naming the remedy, if this version cannot upgrade the store."""
    if found in REVISIONS:
        return
    if _BEFORE_RELEASE.fullmatch(found):
        raise SchemaMismatch(
            f"{name} has schema {found}, which is older than the first release ({REVISIONS[0]}) "
            "and cannot be upgraded: put it aside, and run `linewatch migrate` for a new one"
        )
    raise SchemaMismatch(
        f"{name} has schema {found}, this version of Linewatch knows up to {REVISION}: "
        "upgrade Linewatch"
    )
