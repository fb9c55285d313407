"""API keys that are made by command line, what they may do, and how much every key did."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

big = sa.BigInteger()
digest = sa.LargeBinary(32)
row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables of keys; `api_keys_version` counts the changes that serve looks out for."""
    version = sa.Column("api_keys_version", big, nullable=False, server_default="0")
    op.add_column("installation", version)
    create_keys()
    create_credentials()
    op.create_table(
        "api_key_uses",
        sa.Column("key_digest", digest, nullable=False),
        sa.Column("last_used_at", big, nullable=False),
        sa.Column("calls", big, nullable=False),
        sa.Column("refusals", big, nullable=False),
        sa.PrimaryKeyConstraint("key_digest"),
    )


def create_keys() -> None:
    op.create_table(
        "api_keys",
        sa.Column("api_key_id", row_id, nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("network_ids", sa.JSON(none_as_null=True)),
        sa.Column("methods", sa.JSON(none_as_null=True)),
        sa.Column("requests_per_second", sa.Float()),
        sa.Column("burst", sa.Integer()),
        sa.Column("may_report", sa.Boolean(), nullable=False),
        sa.Column("created_at", big, nullable=False),
        sa.Column("revoked_at", big),
        sa.PrimaryKeyConstraint("api_key_id"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_api_keys_name_in_use",
        "api_keys",
        ["name"],
        unique=True,
        sqlite_where=sa.text("revoked_at IS NULL"),
        postgresql_where=sa.text("revoked_at IS NULL"),
    )


def create_credentials() -> None:
    op.create_table(
        "api_key_credentials",
        sa.Column("key_digest", digest, nullable=False),
        sa.Column("secret_digest", digest, nullable=False),
        sa.Column("api_key_id", row_id, nullable=False),
        sa.Column("created_at", big, nullable=False),
        sa.Column("ends_at", big),
        sa.ForeignKeyConstraint(["api_key_id"], ["api_keys.api_key_id"]),
        sa.PrimaryKeyConstraint("key_digest"),
    )
    op.create_index("ix_api_key_credentials_api_key_id", "api_key_credentials", ["api_key_id"])
