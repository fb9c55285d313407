"""The tables of budgets and of how endpoints are asked, as release 0.2.0 adds them."""

from __future__ import annotations

from alembic import op

from dashboard.store.migrations.revision_columns import (
    big,
    flag,
    integer,
    key,
    needed,
    optional,
    text,
    word_10,
    word_64,
    word_200,
)


def keep_budgets_and_transports() -> None:
    """Create both."""
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
