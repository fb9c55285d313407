"""The schema of release 0.1.0: every table and index, and the triggers of the audit log.

What was released never changes: a later release changes its schema by a revision of its own.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from dashboard.store.migrations.alerts_0_1_0 import (
    create_alerts,
    create_incidents,
    create_mail_outages,
    create_members,
    create_notifications,
    create_outbox,
    create_rules,
    create_silences,
)
from dashboard.store.migrations.audit_log_triggers import TRIGGERS
from dashboard.store.migrations.revision_columns import (
    add_index,
    address_20,
    big,
    flag,
    hash_32,
    integer,
    json,
    key,
    needed,
    number,
    octets,
    octets_8,
    octets_16,
    optional,
    preset,
    row_id,
    small,
    text,
    uuid,
    word_10,
    word_20,
    word_32,
    word_40,
    word_64,
    word_200,
)

revision = "0.1.0"
down_revision = None


def upgrade() -> None:
    """Create everything."""
    _create_installation()
    _create_fees()
    _create_rejections()
    _create_derived()
    _create_tracking()
    _create_tags()
    _create_look_ups()
    create_alerts()
    create_outbox()
    create_notifications()
    create_incidents()
    create_members()
    create_rules()
    create_silences()
    create_mail_outages()
    _create_coverage()
    _create_api_keys()
    for statement in TRIGGERS[op.get_bind().dialect.name]:
        op.get_bind().exec_driver_sql(statement)


def _create_installation() -> None:
    op.create_table(
        "installation",
        *key(installation_id=uuid),
        *needed(last_token=big),
        preset("api_keys_version", big, "0"),
        *optional(restored_at=big, moved_to=text, audit_log_kept_since=big, link_key=hash_32),
        *optional(heartbeat_at=big, heartbeat_trouble=text, purged_at=big, backed_up_at=big),
    )
    op.create_table(
        "leases",
        *key(name=word_64),
        *needed(token=big, boot_id=word_64, granted_at=big, expires_at=big),
        *optional(holder=word_200),
    )
    op.create_table(
        "audit_log",
        *key(audit_id=row_id),
        *needed(at=big, actor=text, action=word_40, subject=text),
        *optional(details=json),
        sqlite_autoincrement=True,
    )
    add_index("audit_log", "at")


def _create_fees() -> None:
    op.create_table(
        "suggested_gas_fees",
        *key(network_id=big, asked_at=big),
        *needed(low_max_priority_fee=big, low_max_fee=big, low_min_wait=big, low_max_wait=big),
        *needed(medium_max_priority_fee=big, medium_max_fee=big, medium_min_wait=big),
        *needed(medium_max_wait=big, high_max_priority_fee=big, high_max_fee=big),
        *needed(high_min_wait=big, high_max_wait=big, estimated_base_fee=big),
        *needed(network_congestion=number, latest_priority_fee_from=big),
        *needed(latest_priority_fee_to=big, historical_priority_fee_from=big),
        *needed(historical_priority_fee_to=big, historical_base_fee_from=big),
        *needed(historical_base_fee_to=big, priority_fee_trend=text, base_fee_trend=text),
        preset("source", word_20, "gas API"),
        *optional(version=text, is_busy=small),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "estimated_base_fees",
        *key(network_id=big, at=big),
        *needed(base_fee=big),
        *optional(is_busy=small),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "base_fee_histories", *key(network_id=big), *needed(asked_at=big, base_fees=sa.JSON())
    )
    op.create_table(
        "fee_percentiles",
        *key(network_id=big, operation=word_40, asked_at=big),
        *needed(fee=big),
        preset("source", word_20, "gas API"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "standing_failures",
        *key(network_id=big, operation=word_40),
        *needed(failing_since=big, last_failed_at=big, failure_kind=word_20, failure_message=text),
    )


def _create_rejections() -> None:
    op.create_table(
        "rejections",
        *key(rejection_id=row_id),
        *needed(network_id=big, tx_hash=hash_32, sender=address_20, nonce=octets_8),
        *needed(tx_rejection_stage=word_10, reason_message=text, timestamp=big, first_seen_at=big),
        *needed(version_digest=hash_32, source=word_20),
        preset("reason_kind", word_20, "unparsed"),
        *optional(block_number=big, reported_at=big, reported_reason_digest=hash_32),
        *optional(overflows=json, module=word_64, seen_again_at=big),
        sa.UniqueConstraint("tx_hash", "network_id", "reported_reason_digest"),
        sa.UniqueConstraint("tx_hash", "network_id", "version_digest"),
        sqlite_autoincrement=True,
    )
    add_index("rejections", "first_seen_at")
    add_index("rejections", "module", "first_seen_at")
    add_index("rejections", "module", "network_id")
    add_index("rejections", "network_id", "first_seen_at")
    add_index("rejections", "sender", "first_seen_at")
    add_index("rejections", "sender", "network_id")
    add_index("rejections", "tx_hash", "network_id", "timestamp")
    add_index(
        "rejections",
        "first_seen_at",
        name="ix_rejections_unparsed",
        where="reason_kind = 'unparsed'",
    )
    op.create_table(
        "signed_transactions",
        *key(tx_hash=hash_32),
        *needed(raw=octets),
        *optional(recipient=address_20, chain_id=big),
    )


def _create_derived() -> None:
    op.create_table(
        "fee_rollups",
        *key(network_id=big, series=small, level=small, begins_at=big),
        *needed(first_at=big, last_at=big, lowest=big, highest=big, total=octets_16, seen=integer),
        *needed(estimated=integer, median=big, p90=big, last=big, longest_gap=big),
        *needed(histogram=octets),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "rejection_counters",
        *key(level=small, begins_at=big, tx_rejection_stage=word_10, reason_kind=word_20),
        *key(module=word_64, network_id=big),
        *needed(many=big),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "sender_counters",
        *key(sender=address_20, level=small, begins_at=big, tx_rejection_stage=word_10),
        *key(reason_kind=word_20, module=word_64, network_id=big),
        *needed(many=big),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "rejection_senders",
        *key(sender=address_20),
        *needed(many=big),
        preset("has_counters", flag, sa.false()),
        sqlite_with_rowid=False,
    )
    op.create_table("rejection_modules", *key(module=word_64), sqlite_with_rowid=False)


def _create_tracking() -> None:
    op.create_table(
        "cohorts",
        *key(cohort_id=row_id),
        *needed(tracked_at=big, size=integer),
        preset("is_rejected", flag, sa.false()),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "watched_cohorts",
        *key(cohort_id=row_id, network_id=big),
        *needed(watch_id=row_id, watched_at=big, born_at=big, is_rejected=flag),
        *optional(last_asked_at=big, first_answered_at=big, last_answered_at=big),
        *optional(failing_since=big, failure_kind=word_20, failure_message=text),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohorts.cohort_id"]),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tracked_hashes",
        *key(tracked_id=row_id),
        *needed(tx_hash=hash_32, cohort_id=row_id, label=text, note=text),
        *(preset(name, text, "") for name in ("case_id", "owner", "tags")),
        *optional(attempted_at=big),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohorts.cohort_id"]),
        sa.UniqueConstraint("tx_hash"),
    )
    add_index("tracked_hashes", "cohort_id")
    add_index("tracked_hashes", "tracked_id", name="ix_tracked_hashes_noted", where="note != ''")
    for name in ("label", "case_id", "owner"):
        columns, where = (name, "tracked_id", "cohort_id"), f"{name} != ''"
        add_index("tracked_hashes", *columns, name=f"ix_tracked_hashes_{name}", where=where)
    op.create_table("tracked_labels", *key(label=text), *needed(many=big), sqlite_with_rowid=False)


def _create_tags() -> None:
    table = "watched_cohorts"
    unanswered = "failing_since IS NOT NULL OR last_answered_at IS NULL"
    add_index(table, "born_at")
    add_index(table, "born_at", name="ix_watched_cohorts_unanswered", where=unanswered)
    add_index(table, "cohort_id", name="ix_watched_cohorts_rejected", where="is_rejected")
    op.create_table("tracked_tags", *key(tag=word_40, tracked_id=row_id), sqlite_with_rowid=False)
    add_index("tracked_tags", "tracked_id")
    op.create_table(
        "saved_filters",
        *key(name=text),
        *needed(parameters=sa.JSON(), saved_at=big, saved_by=text),
        sqlite_with_rowid=False,
    )


def _create_look_ups() -> None:
    op.create_table(
        "checks",
        *key(tx_hash=hash_32, network_id=big),
        *needed(last_asked_at=big),
        *optional(first_answered_at=big, last_answered_at=big, failing_since=big),
        *optional(failure_kind=word_20, failure_message=text),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "last_answers",
        *key(network_id=big, operation=word_40),
        *needed(answered_at=big),
        sqlite_with_rowid=False,
    )
    op.create_table("saved_lookups", *key(lookup_id=word_32), *needed(hashes=octets, asked_at=big))
    add_index("saved_lookups", "asked_at")
    op.create_table(
        "watched_senders",
        *key(sender=address_20, network_id=big),
        *needed(watched_at=big, label=text),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "follow_ups",
        *key(tx_hash=hash_32, network_id=big),
        *needed(last_asked_at=big),
        *optional(answered_at=big, block_number=big, block_hash=hash_32, is_successful=flag),
        *optional(included_since=big, next_nonce=octets_8, replaced_since=big, settled_at=big),
        *optional(failing_since=big, failure_kind=word_20, failure_message=text),
        sqlite_with_rowid=False,
    )


def _create_coverage() -> None:
    op.create_table(
        "coverage",
        *key(network_id=big, watched=word_20),
        *needed(since=big, until=big),
        *optional(began_at=big),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "coverage_gaps",
        *key(network_id=big, watched=word_20, begins_at=big),
        *needed(cause=word_20, reason=text),
        *optional(ends_at=big),
        sqlite_with_rowid=False,
    )
    add_index("coverage_gaps", "begins_at")
    add_index(
        "coverage_gaps",
        "network_id",
        "watched",
        name="ix_coverage_gaps_open",
        where="ends_at IS NULL",
    )
    op.create_table(
        "credit_ledger",
        *key(hour=big, network_id=big, operation=word_64),
        *needed(calls=big, credits=big),
        sqlite_with_rowid=False,
    )
    counts = ("answered", "instead", "failed", *(f"times_{place}" for place in range(12)))
    op.create_table(
        "answer_counts",
        *key(quarter=big, network_id=big, operation=word_64),
        *needed(**dict.fromkeys(counts, integer)),
        sqlite_with_rowid=False,
    )


def _create_api_keys() -> None:
    op.create_table(
        "api_keys",
        *key(api_key_id=row_id),
        *needed(name=word_64, may_report=flag, created_at=big),
        *optional(network_ids=json, methods=json, requests_per_second=number, burst=integer),
        *optional(revoked_at=big),
        sqlite_autoincrement=True,
    )
    add_index(
        "api_keys", "name", name="ix_api_keys_name_in_use", where="revoked_at IS NULL", unique=True
    )
    op.create_table(
        "api_key_credentials",
        *key(key_digest=hash_32),
        *needed(secret_digest=hash_32, api_key_id=row_id, created_at=big),
        *optional(ends_at=big),
        sa.ForeignKeyConstraint(["api_key_id"], ["api_keys.api_key_id"]),
    )
    add_index("api_key_credentials", "api_key_id")
    op.create_table(
        "api_key_uses", *key(key_digest=hash_32), *needed(last_used_at=big, calls=big, refusals=big)
    )
    op.create_table(
        "store_growth",
        *key(kind=word_20, day=big),
        *needed(measured_at=big, rows=big, bytes=big, is_estimated=flag),
        sqlite_with_rowid=False,
    )
