"""Whose store it is, and who does the jobs that only one may do."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, String, Table, Uuid

from dashboard.store.schema.base import key, metadata, needed

# One row: whose store this is, and the last fencing token that any lease was given.
installation = Table(
    "installation",
    metadata,
    key("installation_id", Uuid),
    needed("last_token", BigInteger),
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
