"""What release 0.2.0 changes for polling: groups, inclusion, renewed ages, budgets, transports."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from dashboard.store.migrations.revision_columns import (
    add_index,
    big,
    flag,
    integer,
    key,
    needed,
    optional,
    preset,
    row_id,
    text,
    word_10,
    word_64,
    word_200,
)


def change_polling() -> None:
    """Change one subject after the other."""
    _ask_in_groups()
    op.add_column("cohorts", sa.Column("renewed_at", big))
    op.add_column("cohorts", preset("renewals", integer, "0"))
    _keep_budgets_and_transports()


def _ask_in_groups() -> None:
    """Let cohorts share the row that says when they were asked; at first each is asked alone."""
    op.create_table(
        "poll_groups",
        *key(group_id=row_id),
        *needed(asked_at=big),
        *optional(within_id=row_id),
        sqlite_autoincrement=True,
    )
    add_index("poll_groups", "within_id")
    number = {"sqlite": "INTEGER", "postgresql": "BIGINT"}[op.get_bind().dialect.name]
    op.execute(  # in one statement, since SQLite adds no reference to a column afterwards
        f"ALTER TABLE watched_cohorts ADD COLUMN group_id {number} "
        "CONSTRAINT fk_watched_cohorts_group_id REFERENCES poll_groups (group_id)"
    )
    op.add_column("watched_cohorts", sa.Column("included_at", big))
    add_index(
        "watched_cohorts",
        *("group_id", "failing_since", "is_rejected", "included_at"),
        name="ix_watched_cohorts_group_id",
        where="group_id IS NOT NULL",
    )


def _keep_budgets_and_transports() -> None:
    op.create_table(
        "budget_spending",
        *key(begins_at=big, period=word_10, budget=word_64),
        *needed(credits=big),
        *optional(stretch=integer),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "endpoint_transports",
        *key(network_id=big, endpoint=word_200, transport=word_10),
        *needed(accepted=integer, refused=integer, is_used=flag, trouble=text),
        sqlite_with_rowid=False,
    )
