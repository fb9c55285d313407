"""Tracked hashes in cohorts: what came of asking is held once for all that share it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, groupby, islice, starmap
from typing import Any, Final

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

big = sa.BigInteger()
word = sa.LargeBinary(32)
row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

_CAME: Final[dict[str, sa.types.TypeEngine[Any]]] = {
    "last_asked_at": big,
    "first_answered_at": big,
    "last_answered_at": big,
    "failing_since": big,
    "failure_kind": sa.String(20),
    "failure_message": sa.Text(),
}
_LARGEST: Final = 1000
_FINEST_SHARE: Final = 6

_EVERY_WATCH: Final = f"""
SELECT t.tx_hash, t.tracked_at, t.attempted_at, t.label, t.note,
       w.network_id, w.tracked_at AS watched_at, {", ".join(f"c.{name}" for name in _CAME)},
       EXISTS (SELECT 1 FROM rejections AS r
               WHERE r.tx_hash = t.tx_hash AND r.network_id = w.network_id) AS is_rejected
FROM tracked_transactions AS t
LEFT JOIN watches AS w ON w.tx_hash = t.tx_hash
LEFT JOIN checks AS c ON c.tx_hash = w.tx_hash AND c.network_id = w.network_id
ORDER BY t.tracked_at, t.tx_hash, w.network_id
"""  # noqa: S608 - names of ours
_LAST_ANSWERS: Final = """
INSERT INTO last_answers (network_id, operation, answered_at)
SELECT network_id, 'getTransactionExclusionStatusV1', max(last_answered_at) FROM checks
WHERE last_answered_at IS NOT NULL GROUP BY network_id
"""
_CHECKS_OF_WATCHES: Final = """
DELETE FROM checks WHERE EXISTS (SELECT 1 FROM watches AS w
WHERE w.tx_hash = checks.tx_hash AND w.network_id = checks.network_id)
"""
_NULLS: Final = """
SELECT transition_id FROM transitions AS t
WHERE t.kind = 'transaction' AND t.before IS NULL AND t.after = 'unreported'
AND NOT EXISTS (SELECT 1 FROM notifications AS n WHERE n.transition_id = t.transition_id)
"""


def upgrade() -> None:
    """Move all that is tracked; a thousand hashes at a time."""
    create_cohorts()
    create_hashes()
    move()
    op.execute(_LAST_ANSWERS)
    op.execute(_CHECKS_OF_WATCHES)
    op.drop_table("watches")
    op.drop_table("tracked_transactions")
    forget_nulls()


def create_cohorts() -> None:
    op.create_table(
        "cohorts",
        sa.Column("cohort_id", row_id, nullable=False),
        sa.Column("tracked_at", big, nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("cohort_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "watched_cohorts",
        sa.Column("cohort_id", row_id, nullable=False),
        sa.Column("network_id", big, nullable=False),
        sa.Column("watch_id", row_id, nullable=False),
        sa.Column("watched_at", big, nullable=False),
        sa.Column("born_at", big, nullable=False),
        sa.Column("is_rejected", sa.Boolean(), nullable=False),
        *(sa.Column(name, kind) for name, kind in _CAME.items()),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohorts.cohort_id"]),
        sa.PrimaryKeyConstraint("cohort_id", "network_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "last_answers",
        sa.Column("network_id", big, nullable=False),
        sa.Column("operation", sa.String(40), nullable=False),
        sa.Column("answered_at", big, nullable=False),
        sa.PrimaryKeyConstraint("network_id", "operation"),
        sqlite_with_rowid=False,
    )


def create_hashes() -> None:
    op.create_table(
        "tracked_hashes",
        sa.Column("tracked_id", row_id, nullable=False),
        sa.Column("tx_hash", word, nullable=False),
        sa.Column("cohort_id", row_id, nullable=False),
        sa.Column("attempted_at", big),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohorts.cohort_id"]),
        sa.PrimaryKeyConstraint("tracked_id"),
        sa.UniqueConstraint("tx_hash"),
    )
    op.create_index("ix_tracked_hashes_cohort_id", "tracked_hashes", ["cohort_id"])
    op.create_index(
        "ix_tracked_hashes_label",
        "tracked_hashes",
        ["label"],
        sqlite_where=sa.text("label != ''"),
        postgresql_where=sa.text("label != ''"),
    )


def move() -> None:
    """Insert the hashes in the order of their tracking, which is that of their lists."""
    connection, cohort_id = op.get_bind(), 0
    rows = connection.execute(sa.text(_EVERY_WATCH), execution_options={"yield_per": _LARGEST})
    each_hash = (list(found) for _, found in groupby(rows.mappings(), lambda row: row["tx_hash"]))
    while some := list(islice(each_hash, _LARGEST)):
        made = list(enumerate(alike(some), start=cohort_id + 1))
        insert("cohorts", starmap(cohort_of, made))
        insert("watched_cohorts", chain.from_iterable(starmap(watches_of, made)))
        insert("tracked_hashes", chain.from_iterable(starmap(hashes_of, made)))
        cohort_id = made[-1][0]
    if cohort_id and connection.dialect.name == "postgresql":
        op.execute(f"SELECT setval(pg_get_serial_sequence('cohorts', 'cohort_id'), {cohort_id})")


def alike(hashes: Iterable[list[sa.RowMapping]]) -> Iterable[list[list[sa.RowMapping]]]:
    """Sort hashes, each a row for every network, by all that a cohort shares."""
    groups: defaultdict[tuple[Any, ...], list[list[sa.RowMapping]]] = defaultdict(list)
    for rows in hashes:
        came = tuple(
            (
                *(row[name] for name in ("network_id", "watched_at", "is_rejected", *_CAME)),
                age_of(row),
            )
            for row in rows
        )
        groups[rows[0]["tracked_at"], came].append(rows)
    return groups.values()


def age_of(row: sa.RowMapping) -> tuple[int, int] | None:
    """Return an age that is shared by those that are as good as of one age, in seconds."""
    if row["network_id"] is None:
        return None
    age = (row["watched_at"] - born(row)) // 1000
    coarse = max(0, age.bit_length() - _FINEST_SHARE)
    return coarse, age >> coarse


def born(row: sa.RowMapping) -> int:
    watched: int = row["watched_at"]
    return watched if row["attempted_at"] is None else min(row["attempted_at"], watched)


def cohort_of(cohort_id: int, group: list[list[sa.RowMapping]]) -> dict[str, Any]:
    return {
        "cohort_id": cohort_id,
        "tracked_at": group[0][0]["tracked_at"],
        "size": len(group),
    }


def watches_of(cohort_id: int, group: list[list[sa.RowMapping]]) -> Iterator[dict[str, Any]]:
    for same in zip(*group, strict=True):
        if same[0]["network_id"] is not None:
            yield {
                "cohort_id": cohort_id,
                "network_id": same[0]["network_id"],
                "watch_id": cohort_id,
                "watched_at": same[0]["watched_at"],
                "born_at": max(map(born, same)),
                "is_rejected": bool(same[0]["is_rejected"]),
                **{name: same[0][name] for name in _CAME},
            }


def hashes_of(cohort_id: int, group: list[list[sa.RowMapping]]) -> Iterator[dict[str, Any]]:
    names = ("tx_hash", "attempted_at", "label", "note")
    return ({"cohort_id": cohort_id, **{name: rows[0][name] for name in names}} for rows in group)


def insert(name: str, rows: Iterable[dict[str, Any]]) -> None:
    given = list(rows)
    if not given:
        return
    table = sa.table(name, *(sa.column(each) for each in given[0]))
    op.get_bind().execute(sa.insert(table), given)


def forget_nulls() -> None:
    """Hold of no single hash any more that its first answer was null; nobody was told of it."""
    op.execute(f"DELETE FROM outbox WHERE transition_id IN ({_NULLS})")  # noqa: S608 - names of ours
    op.execute(f"DELETE FROM transitions WHERE transition_id IN ({_NULLS})")  # noqa: S608 - names of ours
    op.execute("DELETE FROM conditions WHERE kind = 'transaction' AND state = 'unreported'")
