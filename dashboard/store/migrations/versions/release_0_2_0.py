"""What release 0.2.0 changes in the schema of 0.1.0."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from dashboard.store.migrations.polling_tables import change_polling
from dashboard.store.migrations.revision_columns import (
    add_index,
    big,
    flag,
    hash_32,
    integer,
    json,
    key,
    needed,
    octets,
    optional,
    preset,
    row_id,
    small,
    text,
    uuid,
    word_10,
    word_16,
    word_20,
    word_40,
    word_64,
    word_200,
)

revision = "0.2.0"
down_revision = "0.1.0"


def upgrade() -> None:
    """Change one subject after the other."""
    _store_busy_spells()
    _count_rejections_by_day()
    _suspect_addresses()
    _digests()
    _say_which_notification_goes()
    _leave_no_move_half_way()
    _measure_the_store_as_a_whole()
    _say_from_where_people_act()
    _let_people_sign_in()
    _let_people_prove_more()
    _let_programs_manage()
    _share_cases()
    _say_where_rules_were_changed()
    _keep_what_is_said_of_purges()
    _end_line_limits()
    _let_records_leave_something_out()
    _let_endpoints_disagree()
    _let_people_choose_settings()
    change_polling()


def _store_busy_spells() -> None:
    """Store busy spells, taken from the transitions of busyness so far.

    Release 0.1.0 recorded when it was sure that a spell had begun or ended: a minute and five
    minutes late, unless settings said otherwise.
    """
    op.create_table(
        "busy_spells",
        *key(network_id=big, begins_at=big),
        *optional(ends_at=big),
        *needed(is_end_known=flag),
        sqlite_with_rowid=False,
    )
    op.add_column("transitions", sa.Column("since", big))
    op.add_column("conditions", sa.Column("seen_at", big))
    op.execute(
        "INSERT INTO busy_spells (network_id, begins_at, ends_at, is_end_known) "
        "SELECT network_id, opened_at - 60000, "
        "CASE WHEN max(at) - 300000 > opened_at THEN max(at) - 300000 ELSE opened_at END, true "
        "FROM transitions WHERE kind = 'busyness' AND after = 'calm' AND opened_at IS NOT NULL "
        "GROUP BY network_id, opened_at"
    )
    op.execute(
        "INSERT INTO busy_spells (network_id, begins_at, is_end_known) "
        "SELECT network_id, since - 60000, true FROM conditions "
        "WHERE kind = 'busyness' AND state = 'busy'"
    )
    op.execute("DELETE FROM fee_rollups WHERE series = 5")  # which counted busy values
    op.drop_column("suggested_gas_fees", "is_busy")
    op.drop_column("estimated_base_fees", "is_busy")


def _count_rejections_by_day() -> None:
    """Count rejections by day alone, and index what is counted row by row.

    Release 0.1.0 had counters of five lengths of time, and the same again for some senders.
    """
    for each in ("rejection_counters", "rejection_modules", "rejection_senders", "sender_counters"):
        op.drop_table(each)
    op.create_table(
        "rejection_days",
        *key(day=big, module=word_64, reason_kind=word_20, tx_rejection_stage=word_10),
        *key(network_id=big),
        *needed(many=big),
        sqlite_with_rowid=False,
    )
    op.execute(
        "INSERT INTO rejection_days "
        "(day, module, reason_kind, tx_rejection_stage, network_id, many) "
        "SELECT first_seen_at - first_seen_at % 86400000, coalesce(module, ''), reason_kind, "
        "tx_rejection_stage, network_id, count(*) FROM rejections GROUP BY 1, 2, 3, 4, 5"
    )
    counted = (
        *("first_seen_at", "rejection_id", "network_id", "tx_rejection_stage"),
        *("reason_kind", "module"),
    )
    op.drop_index("ix_rejections_first_seen_at", "rejections")
    op.drop_index("ix_rejections_sender_first_seen_at", "rejections")
    add_index("rejections", *counted, name="ix_rejections_arrival")
    add_index("rejections", "sender", *counted, name="ix_rejections_sender")


def _suspect_addresses() -> None:
    op.create_table(
        "suspect_addresses",
        *key(channel=word_40, address=text),
        *needed(since=big, message_id=word_200, note=text),
        sqlite_with_rowid=False,
    )


def _say_which_notification_goes() -> None:
    """Record which notification goes first, and what holds it.

    Waiting notifications of 0.1.0 go in the order in which they came. The window that holds one is
    not known: it gets one that is over, so that the worker finds out at its start what holds it.
    """
    op.add_column("notifications", preset("precedence", small, "3"))
    op.execute("UPDATE notifications SET precedence = 5 WHERE kind = 'reminder'")
    op.add_column("notification_incidents", preset("is_escalation", flag, sa.false()))
    op.execute(
        "UPDATE notification_incidents SET is_escalation = true WHERE notification_id IN "
        "(SELECT notification_id FROM notifications WHERE kind = 'escalation')"
    )
    op.add_column("incidents", sa.Column("notified_at", big))
    add_index("incidents", "next_at", name="ix_incidents_pending", where="state = 'pending'")
    op.add_column("notifications", preset("held_by", text, ""))
    op.execute(
        "UPDATE notifications SET held_by = 'window-0' WHERE state = 'pending' "
        "AND closed_at IS NULL AND held_for LIKE 'maintenance window %'"
    )


def _digests() -> None:
    op.add_column("recipients", preset("digest", word_20, ""))
    op.add_column("recipients", sa.Column("digested_until", big))


def _leave_no_move_half_way() -> None:
    """Keep a store whose move was killed; its copy still counts as one, which a new move replaces.

    Release 0.1.0 marked both, with the id of the move between the word and the place.
    """
    op.execute(
        "UPDATE installation SET moved_to = NULL "
        "WHERE moved_to LIKE 'source ________-____-____-____-____________ %'"
    )
    op.execute(
        "UPDATE installation SET moved_to = 'copy of ' || substr(moved_to, 45) "
        "WHERE moved_to LIKE 'target ________-____-____-____-____________ %'"
    )


def _measure_the_store_as_a_whole() -> None:
    """Add up the measurements of each kind of data."""
    columns = *needed(measured_at=big, bytes=big), *optional(free=big)
    op.create_table("store_sizes", *key(day=big), *columns)
    op.execute(
        "INSERT INTO store_sizes (day, measured_at, bytes) "
        "SELECT day, max(measured_at), sum(bytes) FROM store_growth GROUP BY day"
    )
    op.drop_table("store_growth")


def _say_from_where_people_act() -> None:
    op.add_column("audit_log", sa.Column("origin", text))


def _let_people_sign_in() -> None:
    op.create_table(
        "people",
        *key(person_id=row_id),
        *needed(name=text, role=word_16),
        *optional(password_hash=word_200, issuer=text, subject=text),
        *optional(totp_key=word_64, totp_step=big),
        *needed(created_at=big),
        *optional(removed_at=big, disabled_at=big),
        sqlite_autoincrement=True,
    )
    add_index(
        "people",
        "issuer",
        "subject",
        name="ix_people_subject_in_use",
        where="removed_at IS NULL",
        unique=True,
    )
    add_index(
        "people", "name", name="ix_people_name_in_use", where="removed_at IS NULL", unique=True
    )
    op.create_table(
        "invitations",
        *key(token_digest=hash_32),
        *needed(person_id=row_id, ends_at=big),
        sa.ForeignKeyConstraint(["person_id"], ["people.person_id"]),
    )
    add_index("invitations", "person_id")
    op.create_table(
        "sessions",
        *key(session_id=uuid),
        *needed(secret_digest=hash_32, person_id=row_id, device=text, address=word_64),
        *needed(created_at=big, last_used_at=big, ends_at=big, confirmed_at=big),
        *needed(second_factor=flag),
        *optional(sid=text, label=text),
        sa.ForeignKeyConstraint(["person_id"], ["people.person_id"]),
        sa.UniqueConstraint("secret_digest"),
    )
    add_index("sessions", "person_id")


def _let_people_prove_more() -> None:
    """Create the tables of second factors and passkeys."""
    of_person = ["person_id"], ["people.person_id"]
    op.create_table(
        "recovery_codes",
        *key(person_id=row_id, code_digest=hash_32),
        sa.ForeignKeyConstraint(*of_person),
    )
    op.create_table(
        "passkeys",
        *key(passkey_id=row_id),
        *needed(credential_id=octets, person_id=row_id, name=text, public_key=octets),
        *needed(sign_count=big, created_at=big),
        *optional(last_used_at=big),
        sa.ForeignKeyConstraint(*of_person),
        sa.UniqueConstraint("credential_id"),
        sqlite_autoincrement=True,
    )
    add_index("passkeys", "person_id")
    op.create_table(
        "sign_in_steps",
        *key(token_digest=hash_32),
        *needed(purpose=word_16),
        *optional(person_id=row_id),
        *needed(ends_at=big),
        sa.ForeignKeyConstraint(*of_person),
    )
    add_index("sign_in_steps", "person_id")


def _let_programs_manage() -> None:
    op.create_table(
        "api_tokens",
        *key(token_id=row_id),
        *needed(token_digest=hash_32, name=word_64, role=word_16),
        *optional(subjects=json),
        *needed(created_at=big, created_by=text, ends_at=big),
        *optional(last_used_at=big, person_id=row_id, made_with=row_id),
        sa.ForeignKeyConstraint(["person_id"], ["people.person_id"]),
        sa.UniqueConstraint("token_digest"),
        sqlite_autoincrement=True,
    )
    add_index("api_tokens", "person_id")
    op.create_table(
        "api_replies",
        *key(token_id=row_id, request_key=text),
        *needed(request_digest=hash_32, at=big, status=integer, body=text),
        sa.ForeignKeyConstraint(["token_id"], ["api_tokens.token_id"]),
    )
    add_index("api_replies", "at")


def _share_cases() -> None:
    op.create_table(
        "share_links",
        *key(link_id=row_id),
        *needed(secret_digest=hash_32, tx_hash=hash_32, case_id=text),
        *needed(created_at=big, created_by=text, ends_at=big),
        sa.UniqueConstraint("secret_digest"),
        sqlite_autoincrement=True,
    )
    add_index("share_links", "ends_at")


def _say_where_rules_were_changed() -> None:
    op.add_column("rules", sa.Column("source", word_16))
    op.create_table("removed_rules", *key(name=word_64), *needed(removed_at=big, removed_by=text))


def _keep_what_is_said_of_purges() -> None:
    """Let no purge of the audit log delete the entries about purges."""
    for statement in _REPLACED[op.get_bind().dialect.name]:
        op.execute(sa.text(statement))


def _end_line_limits() -> None:
    op.create_table(
        "limits_end_blocks",
        *key(network_id=big, block_number=big),
        *needed(at=big, is_expected=flag),
        sqlite_with_rowid=False,
    )


def _let_records_leave_something_out() -> None:
    """Let a rejection lack what upstream did not say.

    SQLite's documentation describes this way for constraints ("Making Other Kinds Of Table Schema
    Changes"): no row changes, where otherwise a million would be copied, with those that refer to
    them.
    """
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        for each in ("sender", "nonce", "timestamp"):
            op.alter_column("rejections", each, nullable=True)
    else:
        version = connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
        op.execute("PRAGMA writable_schema = ON")
        for each in ("sender BLOB", "nonce BLOB", "timestamp BIGINT"):
            op.execute(
                f"UPDATE sqlite_schema SET sql = replace(sql, '{each} NOT NULL', '{each}') "  # noqa: S608 - names of ours
                "WHERE type = 'table' AND name = 'rejections'"
            )
        op.execute(f"PRAGMA schema_version = {version + 1}")
        op.execute("PRAGMA writable_schema = RESET")
    op.add_column("rejections", preset("added", text, ""))


def _let_endpoints_disagree() -> None:
    op.create_table(
        "endpoint_statements",
        *key(tx_hash=hash_32, network_id=big, endpoint=word_64),
        *needed(said=word_10, status=text),
        *optional(block_number=big),
        *needed(added=text, said_at=big, last_said_at=big),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "exclusion_endpoints",
        *key(network_id=big, endpoint=word_64),
        *optional(shape=word_10, answered_at=big, failing_since=big),
        *optional(failure_kind=word_20, failure_message=text),
        sqlite_with_rowid=False,
    )


def _let_people_choose_settings() -> None:
    op.create_table(
        "chosen_settings", *key(name=text), *needed(value=json, changed_at=big, changed_by=text)
    )


_REPLACED = {
    "sqlite": (
        "DROP TRIGGER audit_log_kept",
        """
CREATE TRIGGER audit_log_kept BEFORE DELETE ON audit_log
WHEN OLD.action = 'purge'
    OR NOT EXISTS (SELECT 1 FROM installation WHERE audit_log_kept_since > OLD.at) BEGIN
    SELECT RAISE(ABORT, 'the audit log only grows: its rows are neither changed nor deleted');
END
""",
    ),
    "postgresql": (
        """
CREATE OR REPLACE FUNCTION audit_log_refuses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.action <> 'purge'
            AND EXISTS (SELECT 1 FROM installation WHERE audit_log_kept_since > OLD.at)
            AND (TG_NARGS = 0 OR OLD.at <
                extract(epoch FROM clock_timestamp() - TG_ARGV[0]::interval) * 1000) THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'the audit log only grows: its rows are neither changed nor deleted';
END $$
""",
    ),
}
