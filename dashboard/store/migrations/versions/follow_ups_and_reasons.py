"""Follow-ups by receipt, and what each stored reason says, so that it can be counted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from dashboard.domain.reason import parse_reason
from dashboard.store.schema.columns import ForeignText

revision = "0002"
down_revision = "0001"

big = sa.BigInteger()
word = sa.LargeBinary(32)

_STEP = 1000


def upgrade() -> None:
    """Create the table of follow-ups and read every reason that is stored."""
    create_follow_ups()
    add_reason_columns()
    read_stored_reasons()
    index_unparsed()


def create_follow_ups() -> None:
    op.create_table(
        "follow_ups",
        sa.Column("tx_hash", word, nullable=False),
        sa.Column("network_id", big, nullable=False),
        sa.Column("last_asked_at", big, nullable=False),
        sa.Column("answered_at", big),
        sa.Column("block_number", big),
        sa.Column("block_hash", word),
        sa.Column("is_successful", sa.Boolean()),
        sa.Column("included_since", big),
        sa.Column("next_nonce", sa.LargeBinary(8)),
        sa.Column("replaced_since", big),
        sa.Column("settled_at", big),
        sa.Column("failing_since", big),
        sa.Column("failure_kind", sa.String(20)),
        sa.Column("failure_message", sa.Text()),
        sa.PrimaryKeyConstraint("tx_hash", "network_id"),
        sqlite_with_rowid=False,
    )


def add_reason_columns() -> None:
    kind = sa.Column("reason_kind", sa.String(20), nullable=False, server_default="unparsed")
    op.add_column("rejections", kind)
    op.add_column("rejections", sa.Column("module", sa.String(64)))


def read_stored_reasons() -> None:
    """Go through the table in steps, since a store may hold years of rejections."""
    table = sa.table(
        "rejections",
        sa.column("rejection_id", big),
        sa.column("reason_message", ForeignText),
        sa.column("reason_kind", sa.String(20)),
        sa.column("module", sa.String(64)),
    )
    query = sa.select(table.c.rejection_id, table.c.reason_message).order_by(table.c.rejection_id)
    write = (
        sa.update(table)
        .where(table.c.rejection_id == sa.bindparam("of_row"))
        .values(reason_kind=sa.bindparam("kind"), module=sa.bindparam("named"))
    )
    connection, last = op.get_bind(), 0
    while rows := connection.execute(query.where(table.c.rejection_id > last).limit(_STEP)).all():
        reasons = [(row.rejection_id, parse_reason(row.reason_message)) for row in rows]
        connection.execute(
            write,
            [
                {"of_row": each, "kind": reason.kind, "named": reason.module}
                for each, reason in reasons
            ],
        )
        last = rows[-1].rejection_id


def index_unparsed() -> None:
    op.create_index(
        "ix_rejections_unparsed",
        "rejections",
        ["first_seen_at"],
        sqlite_where=sa.text("reason_kind = 'unparsed'"),
        postgresql_where=sa.text("reason_kind = 'unparsed'"),
    )
