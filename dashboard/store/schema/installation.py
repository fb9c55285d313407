"""Tables of the installation that owns the store, and of the leases of its processes."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, String, Table, Text, Uuid

from dashboard.store.schema.columns import Digest, Moment, key, metadata, needed

# One row: whose store this is, the last fencing token that any lease was given, how often the API
# keys were changed, when a backup was restored last, how far a move is or where it went, before
# when the audit log may be purged, with what links in messages are signed, when the heartbeat was
# taken, and when the store was last purged and backed up.
installation = Table(
    "installation",
    metadata,
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

leases = Table(
    "leases",
    metadata,
    key("name", String(64)),
    Column("holder", String(200)),
    needed("token", BigInteger),
    needed("boot_id", String(64)),
    needed("granted_at", BigInteger),  # nanoseconds since that boot
    needed("expires_at", BigInteger),
)
