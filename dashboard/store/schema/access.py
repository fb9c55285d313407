"""Tables of the installation and its leases, of API keys, of people, and of what they did."""

from __future__ import annotations

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
