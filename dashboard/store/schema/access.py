"""The tables of people, keys and leases; and of the audit log, which triggers keep unchanged.

Rows older than `audit_log_kept_since` of the installation may be deleted. A trigger logs each move
of that moment; such entries are never deleted, and it never moves back.

The owner of a table can disable its triggers. On PostgreSQL the log may therefore belong to a role
other than ours (deploy/postgresql/protect-audit-log.sql), which gives the trigger an argument: how
old a row must be to be deleted, whatever the installation says.
"""

from __future__ import annotations

import re
from typing import Final

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
    Uuid,
)

from dashboard.store.schema.columns import (
    Digest,
    ForeignText,
    Moment,
    RowId,
    key,
    needed,
    partial_index,
    table,
)

# One row: whose store this is, the last fencing token that any lease was given, how often the API
# keys were changed, when a backup was restored last, how far a move is or where it went, before
# when the audit log may be purged, with what links in messages are signed, when the heartbeat was
# taken, and when the store was last purged and backed up.
installation = table(
    "installation",
    key("installation_id", Uuid),
    needed("last_token", BigInteger),
    needed("api_keys_version", BigInteger, server_default="0"),
    Column("restored_at", Moment),
    Column("moved_to", Text),
    Column("audit_log_kept_since", Moment),
    Column("link_key", Digest),
    Column("heartbeat_at", Moment),
    Column("heartbeat_trouble", Text),
    Column("purged_at", Moment),
    Column("backed_up_at", Moment),
)

# What people chose on the page Settings, by the name of the setting. The password of the mail
# server must be stored as it is, since the server wants it so. `value` is a list of one value, for
# SQLite makes a number of the JSON of a number.
chosen_settings = table(
    "chosen_settings",
    key("name", ForeignText),
    needed("value", JSON(none_as_null=True)),
    needed("changed_at", Moment),
    needed("changed_by", ForeignText),
)

leases = table(
    "leases",
    key("name", String(64)),
    Column("holder", String(200)),
    needed("token", BigInteger),
    needed("boot_id", String(64)),
    needed("granted_at", BigInteger),  # nanoseconds since that boot
    needed("expires_at", BigInteger),
)


api_keys = table(
    "api_keys",
    key("api_key_id", RowId),
    needed("name", String(64)),
    Column("network_ids", JSON(none_as_null=True)),
    Column("methods", JSON(none_as_null=True)),
    Column("requests_per_second", Float),
    Column("burst", Integer),
    needed("may_report", Boolean),
    needed("created_at", Moment),
    Column("revoked_at", Moment),
    sqlite_autoincrement=True,
)

# A name is free again when its key was revoked; the row stays and says who could call until then.
partial_index(
    "ix_api_keys_name_in_use",
    api_keys.c.name,
    unique=True,
    where=api_keys.c.revoked_at.is_(None),
)

# What a caller presents; a key has two of them while one takes over from the other.
api_key_credentials = table(
    "api_key_credentials",
    key("key_digest", Digest),
    needed("secret_digest", Digest),
    needed("api_key_id", RowId, ForeignKey("api_keys.api_key_id"), index=True),
    needed("created_at", Moment),
    Column("ends_at", Moment),
)

# Counts what keys of settings files did as well, which have no other row.
api_key_uses = table(
    "api_key_uses",
    key("key_digest", Digest),
    needed("last_used_at", Moment),
    needed("calls", BigInteger),
    needed("refusals", BigInteger),
)


# `totp_key` is what an authenticator app computes codes with, for which it must be stored as it is.
# `totp_step` is the half minute of Unix time whose code was used last.
people = table(
    "people",
    key("person_id", RowId),
    needed("name", ForeignText),
    needed("role", String(16)),
    Column("password_hash", String(200)),
    Column("issuer", Text),
    Column("subject", ForeignText),
    Column("totp_key", String(64)),
    Column("totp_step", BigInteger),
    needed("created_at", Moment),
    Column("removed_at", Moment),
    Column("disabled_at", Moment),
    sqlite_autoincrement=True,
)

# A name is free again when its person was removed; the row stays, since sessions refer to it.
partial_index(
    "ix_people_name_in_use",
    people.c.name,
    unique=True,
    where=people.c.removed_at.is_(None),
)

# Whom an issuer knows by this subject; names of people at issuers may change.
partial_index(
    "ix_people_subject_in_use",
    people.c.issuer,
    people.c.subject,
    unique=True,
    where=people.c.removed_at.is_(None),
)

# A link with which a person sets a password; it is deleted when it is used.
invitations = table(
    "invitations",
    key("token_digest", Digest),
    needed("person_id", RowId, ForeignKey("people.person_id"), index=True),
    needed("ends_at", Moment),
)

# `ends_at` is the absolute end, or when the session was ended; `sid` is how an issuer calls its own
# session, which ends this one as well. `confirmed_at` is when its person last proved who they are,
# `second_factor` whether with more than a password, `label` what they call it.
sessions = table(
    "sessions",
    key("session_id", Uuid),
    needed("secret_digest", Digest, unique=True),
    needed("person_id", RowId, ForeignKey("people.person_id"), index=True),
    needed("device", ForeignText),
    needed("address", String(64)),
    needed("created_at", Moment),
    needed("last_used_at", Moment),
    needed("ends_at", Moment),
    needed("confirmed_at", Moment),
    needed("second_factor", Boolean),
    Column("sid", ForeignText),
    Column("label", ForeignText),
)

# Each stands in for one code of the app; it is deleted when it is used.
recovery_codes = table(
    "recovery_codes",
    key("person_id", RowId, ForeignKey("people.person_id")),
    key("code_digest", Digest),
)

passkeys = table(
    "passkeys",
    key("passkey_id", RowId),
    needed("credential_id", LargeBinary, unique=True),
    needed("person_id", RowId, ForeignKey("people.person_id"), index=True),
    needed("name", ForeignText),
    needed("public_key", LargeBinary),
    needed("sign_count", BigInteger),
    needed("created_at", Moment),
    Column("last_used_at", Moment),
    sqlite_autoincrement=True,
)

# What was begun and waits for its second half: a password for its code, or a browser that was asked
# for a passkey. A row is deleted when it is used.
sign_in_steps = table(
    "sign_in_steps",
    key("token_digest", Digest),
    needed("purpose", String(16)),
    Column("person_id", RowId, ForeignKey("people.person_id"), index=True),
    needed("ends_at", Moment),
)

# What programs present to the management API; `subjects` are those that it opens, null is all.
# `person_id` is whose it is, and `made_with` the token that made it, both null for none.
api_tokens = table(
    "api_tokens",
    key("token_id", RowId),
    needed("token_digest", Digest, unique=True),
    needed("name", String(64)),
    needed("role", String(16)),
    Column("subjects", JSON(none_as_null=True)),
    needed("created_at", Moment),
    needed("created_by", ForeignText),
    needed("ends_at", Moment),
    Column("last_used_at", Moment),
    Column("person_id", RowId, ForeignKey("people.person_id"), index=True),
    Column("made_with", RowId),
    sqlite_autoincrement=True,
)

# What was answered to a request with an Idempotency-Key, saved in the transaction of its act.
api_replies = table(
    "api_replies",
    key("token_id", RowId, ForeignKey("api_tokens.token_id")),
    key("request_key", Text),
    needed("request_digest", Digest),
    needed("at", Moment),
    needed("status", Integer),
    needed("body", Text),
    Index(None, "at"),
)

# Triggers allow to delete only rows older than `audit_log_kept_since` of the installation, and
# log by themselves that this moment was moved.
audit_log = table(
    "audit_log",
    key("audit_id", RowId),
    needed("at", Moment),
    needed("actor", ForeignText),
    needed("action", String(40)),
    needed("subject", ForeignText),
    Column("details", JSON(none_as_null=True)),
    Column("origin", ForeignText),
    Index(None, "at"),
    sqlite_autoincrement=True,
)


# One statement each. A REPLACE of SQLite would delete without a word, so it is refused as well.
_SQLITE: Final = (
    """
CREATE TRIGGER audit_log_unchanged BEFORE UPDATE ON audit_log BEGIN
    SELECT RAISE(ABORT, 'the audit log only grows: its rows are neither changed nor deleted');
END
""",
    """
CREATE TRIGGER audit_log_not_replaced BEFORE INSERT ON audit_log
WHEN EXISTS (SELECT 1 FROM audit_log WHERE audit_id = NEW.audit_id) BEGIN
    SELECT RAISE(ABORT, 'the audit log only grows: its rows are neither changed nor deleted');
END
""",
    """
CREATE TRIGGER audit_log_kept BEFORE DELETE ON audit_log
WHEN OLD.action = 'purge'
    OR NOT EXISTS (SELECT 1 FROM installation WHERE audit_log_kept_since > OLD.at) BEGIN
    SELECT RAISE(ABORT, 'the audit log only grows: its rows are neither changed nor deleted');
END
""",
    """
CREATE TRIGGER audit_log_not_kept_longer
BEFORE UPDATE OF audit_log_kept_since ON installation
WHEN OLD.audit_log_kept_since IS NOT NULL AND
    (NEW.audit_log_kept_since IS NULL OR NEW.audit_log_kept_since < OLD.audit_log_kept_since) BEGIN
    SELECT RAISE(ABORT, 'audit_log_kept_since never goes back');
END
""",
    """
CREATE TRIGGER audit_log_purged AFTER UPDATE OF audit_log_kept_since ON installation
WHEN NEW.audit_log_kept_since IS NOT OLD.audit_log_kept_since BEGIN
    INSERT INTO audit_log (at, actor, action, subject, details) VALUES (
        CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'database', 'purge',
        'audit log', json_object('before', NEW.audit_log_kept_since));
END
""",
)

_POSTGRESQL: Final = (
    """
CREATE FUNCTION audit_log_refuses() RETURNS trigger LANGUAGE plpgsql AS $$
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
    """
CREATE TRIGGER audit_log_unchanged BEFORE UPDATE OR DELETE ON audit_log
FOR EACH ROW EXECUTE FUNCTION audit_log_refuses()
""",
    """
CREATE TRIGGER audit_log_not_emptied BEFORE TRUNCATE ON audit_log
FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuses()
""",
    """
CREATE FUNCTION audit_log_purged() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.audit_log_kept_since IS NOT DISTINCT FROM OLD.audit_log_kept_since THEN
        RETURN NEW;
    END IF;
    IF NEW.audit_log_kept_since IS NULL OR NEW.audit_log_kept_since < OLD.audit_log_kept_since THEN
        RAISE EXCEPTION 'audit_log_kept_since never goes back';
    END IF;
    INSERT INTO audit_log (at, actor, action, subject, details) VALUES (
        (extract(epoch FROM clock_timestamp()) * 1000)::bigint, 'database', 'purge',
        'audit log', json_build_object('before', NEW.audit_log_kept_since));
    RETURN NEW;
END $$
""",
    """
CREATE TRIGGER audit_log_purged AFTER UPDATE OF audit_log_kept_since ON installation
FOR EACH ROW EXECUTE FUNCTION audit_log_purged()
""",
)

TRIGGERS: Final = {"sqlite": _SQLITE, "postgresql": _POSTGRESQL}
"""The statements that create them, by the name of the dialect."""

_NAME: Final = re.compile(r"CREATE TRIGGER (\w+)")


def trigger_names(dialect: str) -> set[str]:
    """Return the triggers that a store must have."""
    return set(_NAME.findall("".join(TRIGGERS[dialect])))
