"""Tallies of senders, counts of labels, and cohorts that know of records on any network."""

from __future__ import annotations

from collections import defaultdict

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

big = sa.BigInteger()
account = sa.LargeBinary(20)

_HOUR = 3_600_000
_MANY = 500
_AT_ONCE = 1000

_REJECTED_ELSEWHERE = """
SELECT t.tracked_id, t.cohort_id FROM tracked_hashes AS t JOIN cohorts AS c
ON c.cohort_id = t.cohort_id WHERE NOT c.is_rejected AND t.cohort_id > :after
AND EXISTS (SELECT 1 FROM rejections AS r WHERE r.tx_hash = t.tx_hash)
ORDER BY t.cohort_id LIMIT :most
"""
_NEW_COHORT = """
INSERT INTO cohorts (tracked_at, size, is_rejected)
SELECT tracked_at, :size, :yes FROM cohorts WHERE cohort_id = :old RETURNING cohort_id
"""
_SAME = (
    "network_id, watch_id, watched_at, born_at, is_rejected, last_asked_at, first_answered_at, "
    "last_answered_at, failing_since, failure_kind, failure_message"
)


def upgrade() -> None:
    """Create what is new, and fill it from what is stored."""
    create_tables()
    count_senders()
    count_labels()
    find_rejected()


def create_tables() -> None:
    op.create_table(
        "rejection_senders",
        sa.Column("sender", account, nullable=False),
        sa.Column("many", big, nullable=False),
        sa.Column("is_tallied", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("sender"),
        sqlite_with_rowid=False,
    )
    of_key = ("level", "begins_at", "tx_rejection_stage", "reason_kind", "module", "network_id")
    op.create_table(
        "sender_tallies",
        sa.Column("sender", account, nullable=False),
        sa.Column("level", sa.SmallInteger(), nullable=False),
        sa.Column("begins_at", big, nullable=False),
        sa.Column("tx_rejection_stage", sa.String(10), nullable=False),
        sa.Column("reason_kind", sa.String(20), nullable=False),
        sa.Column("module", sa.String(64), nullable=False),
        sa.Column("network_id", big, nullable=False),
        sa.Column("many", big, nullable=False),
        sa.PrimaryKeyConstraint("sender", *of_key),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tracked_labels",
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("many", big, nullable=False),
        sa.PrimaryKeyConstraint("label"),
        sqlite_with_rowid=False,
    )


def count_senders() -> None:
    op.execute(
        "INSERT INTO rejection_senders (sender, many, is_tallied) "  # noqa: S608 - a number of ours
        f"SELECT sender, count(*), count(*) >= {_MANY} FROM rejections GROUP BY sender"
    )
    op.execute(
        "INSERT INTO sender_tallies "  # noqa: S608 - a number of ours
        f"SELECT r.sender, 4, first_seen_at - first_seen_at % {_HOUR}, tx_rejection_stage, "
        "reason_kind, CASE WHEN r.module IS NULL THEN '' ELSE coalesce(m.module, '*') END, "
        "network_id, count(*) FROM rejections r LEFT JOIN rejection_modules m "
        "ON m.module = r.module "
        "WHERE r.sender IN (SELECT sender FROM rejection_senders WHERE is_tallied) "
        "GROUP BY 1, 3, 4, 5, 6, 7"
    )
    for level, days in ((3, 1), (2, 7), (1, 28)):
        add_up(level, f"begins_at - begins_at % {days * 24 * _HOUR}")
    add_up(0, "0 * level")


def add_up(level: int, step: str) -> None:
    op.execute(
        f"INSERT INTO sender_tallies SELECT sender, {level}, {step}, tx_rejection_stage, "  # noqa: S608 - texts of ours
        "reason_kind, module, network_id, sum(many) FROM sender_tallies "
        f"WHERE level = {level + 1} GROUP BY 1, 3, 4, 5, 6, 7"
    )


def count_labels() -> None:
    op.execute(
        "INSERT INTO tracked_labels (label, many) "
        "SELECT label, count(*) FROM tracked_hashes WHERE label != '' GROUP BY label"
    )
    op.create_index(
        "ix_tracked_hashes_noted",
        "tracked_hashes",
        ["tracked_id"],
        sqlite_where=sa.text("note != ''"),
        postgresql_where=sa.text("note != ''"),
    )


def find_rejected() -> None:
    """Let hashes leave their cohort that have a record where they are not watched."""
    op.add_column(
        "cohorts",
        sa.Column("is_rejected", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    connection = op.get_bind()
    yes = {"yes": True}
    watched = "SELECT cohort_id FROM watched_cohorts WHERE is_rejected"
    whole = f"UPDATE cohorts SET is_rejected = :yes WHERE cohort_id IN ({watched})"  # noqa: S608 - a text of ours
    connection.execute(sa.text(whole), yes)
    query, after = sa.text(_REJECTED_ELSEWHERE), 0
    while rows := connection.execute(query, {"after": after, "most": _AT_ONCE}).all():
        found: defaultdict[int, list[int]] = defaultdict(list)
        for row in rows:
            found[row.cohort_id].append(row.tracked_id)
        if len(rows) == _AT_ONCE and len(found) > 1:
            found.popitem()  # the last one may be cut; one alone has no more hashes than these
        for cohort_id, tracked_ids in found.items():
            leave(cohort_id, tracked_ids)
        after = max(found)


def leave(cohort_id: int, tracked_ids: list[int]) -> None:
    connection = op.get_bind()
    begun = {"size": len(tracked_ids), "yes": True, "old": cohort_id}
    new_id = connection.execute(sa.text(_NEW_COHORT), begun).scalar_one()
    ids = {"new": new_id, "old": cohort_id}
    same = (
        f"INSERT INTO watched_cohorts (cohort_id, {_SAME}) "  # noqa: S608 - names of ours
        f"SELECT :new, {_SAME} FROM watched_cohorts WHERE cohort_id = :old"
    )
    connection.execute(sa.text(same), ids)
    moved = sa.text("UPDATE tracked_hashes SET cohort_id = :new WHERE tracked_id = :one")
    connection.execute(moved, [{"new": new_id, "one": each} for each in tracked_ids])
    fewer = "UPDATE cohorts SET size = size - :size WHERE cohort_id = :old"
    connection.execute(sa.text(fewer), {"size": len(tracked_ids), "old": cohort_id})
    empty = "cohort_id = :old AND :old IN (SELECT cohort_id FROM cohorts WHERE size = 0)"
    connection.execute(sa.text(f"DELETE FROM watched_cohorts WHERE {empty}"), ids)  # noqa: S608 - a text of ours
    connection.execute(sa.text("DELETE FROM cohorts WHERE cohort_id = :old AND size = 0"), ids)
