"""Groups of tracked transactions, those that need attention, and changes of many at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict, replace
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    update,
)

from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.remarks import Remarks, written_tags
from dashboard.domain.tracking.verdict import ENDS_WITHIN, UNANSWERED_AFTER, WATCHED_FOR, Need
from dashboard.store.engine.upsert import without_index
from dashboard.store.schema import (
    UNANSWERED,
    cohorts,
    follow_ups,
    tracked_hashes,
    tracked_tags,
    watched_cohorts,
)
from dashboard.store.schema.columns import Moment
from dashboard.store.tracking.transactions import (
    TEXTS,
    bounded_tags,
    count_labels,
    edit_tracked,
    index_tags,
    remarks_of,
    rows_of,
    untrack,
)

MOST_COUNTED: Final = 1000
"""How many transactions of a group are counted at most."""


class GroupedBy(StrEnum):
    """What the transactions of a group have in common."""

    LABEL = "Label"
    CASE_ID = "Case id"
    OWNER = "Owner"
    TAG = "Tag"


_COLUMNS: Final[dict[GroupedBy, Column[Any]]] = {
    GroupedBy.LABEL: tracked_hashes.c.label,
    GroupedBy.CASE_ID: tracked_hashes.c.case_id,
    GroupedBy.OWNER: tracked_hashes.c.owner,
    GroupedBy.TAG: tracked_tags.c.tag,
}
_NONE: Final[ColumnElement[str]] = literal_column("''")
"""Written out, so that the planner sees that a partial index matches."""


class TrackedGroup(Struct, frozen=True):
    """A group by its name, which is foreign text; `many` is at most one above `MOST_COUNTED`."""

    name: str
    many: int


def groups_of(connection: Connection, by: GroupedBy, after: str, limit: int) -> list[TrackedGroup]:
    """Return the groups that follow a name in the order of names, one step of the index each."""
    column = _COLUMNS[by]
    first = select(func.min(column).label("name"), literal(1).label("place"))
    first = first.where(column != _NONE, column > after)
    steps = first.cte("steps", recursive=True)
    following = select(func.min(column)).where(column != _NONE, column > steps.c.name)
    steps = steps.union_all(
        select(following.scalar_subquery(), steps.c.place + 1).where(
            steps.c.name.is_not(None), steps.c.place < limit
        )
    )
    names = select(steps.c.name).where(steps.c.name.is_not(None))
    return [
        TrackedGroup(name, _count(connection, column, name)) for name in connection.scalars(names)
    ]


def _count(connection: Connection, column: Column[Any], name: str) -> int:
    some = select(literal(1)).where(column == name, column != _NONE).limit(MOST_COUNTED + 1)
    return connection.scalars(select(func.count()).select_from(some.subquery())).one()


MOST_LOOKED_AT: Final = 1000
"""How many transactions of a kind are read at most, so that a storm slows no page."""

MOST_NETWORKS: Final = 12
"""Networks on which a transaction is watched at most, so that each is named once."""


class NeedNow(Struct, frozen=True):
    """A kind of need at a moment.

    On the networks in `ended`, a transaction first seen after line limits ended needs no answer.
    """

    need: Need
    now: datetime
    ended: tuple[tuple[NetworkId, datetime], ...] = ()


def needing(wanted: NeedNow, network_id: NetworkId | None) -> Select[Any]:
    """Select the ids of transactions that need attention, the most urgent first.

    One that is watched on several networks may occur several times. Of each kind only
    `MOST_LOOKED_AT` are read: rejected ones from the latest, unanswered ones from the longest
    unanswered, ending ones from the soonest.
    """
    watched, column = watched_cohorts.c, tracked_hashes.c
    is_latest_first = wanted.need is Need.REJECTED
    rank = watched.cohort_id if is_latest_first else watched.born_at
    born_at = without_index(watched.born_at) if is_latest_first else watched.born_at
    query = (
        select(column.tracked_id, column.tx_hash, rank.label("rank"))
        .select_from(watched_cohorts.join(tracked_hashes, column.cohort_id == watched.cohort_id))
        .where(born_at > literal(wanted.now - WATCHED_FOR, Moment), *_conditions(wanted))
        .order_by(rank.desc() if is_latest_first else rank)
    )
    if network_id is not None:
        query = query.where(watched.network_id == network_id)
    found = query.limit(MOST_LOOKED_AT).subquery().c
    settled = follow_ups.c
    has_ended = exists().where(
        settled.tx_hash == found.tx_hash,
        or_(settled.block_number.is_not(None), settled.replaced_since < settled.answered_at),
    )
    order = found.rank.desc() if is_latest_first else found.rank
    return select(found.tracked_id).where(~has_ended).order_by(order)


def count_needing(connection: Connection, wanted: NeedNow, network_id: NetworkId | None) -> int:
    """Count the transactions that need attention, among those that are read."""
    found = needing(wanted, network_id).subquery().c.tracked_id
    return connection.scalars(select(func.count(found.distinct()))).one()


def ids_needing(
    connection: Connection, wanted: NeedNow, network_id: NetworkId | None, limit: int
) -> list[int]:
    """Return the ids of the most urgent ones."""
    found = connection.scalars(needing(wanted, network_id).limit(limit * MOST_NETWORKS))
    return list(dict.fromkeys(found))[:limit]


def _conditions(wanted: NeedNow) -> list[ColumnElement[bool]]:
    watched = watched_cohorts.c
    if wanted.need is Need.REJECTED:
        return [watched.is_rejected]
    awaited = [
        or_(watched.network_id != network_id, watched.born_at < literal(ended_at, Moment))
        for network_id, ended_at in wanted.ended
    ]
    return [*_unanswered_conditions(wanted), *awaited]


def _unanswered_conditions(wanted: NeedNow) -> list[ColumnElement[bool]]:
    watched = watched_cohorts.c
    if wanted.need is Need.ENDING:
        ends = wanted.now - WATCHED_FOR + ENDS_WITHIN
        has_record = exists().where(cohorts.c.cohort_id == watched.cohort_id, cohorts.c.is_rejected)
        return [watched.born_at <= literal(ends, Moment), ~has_record]
    since = wanted.now - UNANSWERED_AFTER
    never = and_(watched.last_answered_at.is_(None), watched.watched_at <= since)
    return [UNANSWERED, or_(watched.failing_since <= since, never), ~watched.is_rejected]


class BulkChange(Struct, frozen=True):
    """What to change in the remarks of many transactions; None keeps a text, "" empties it.

    A tag written with # in the label or the note comes and goes with that text.
    """

    label: str | None = None
    note: str | None = None
    case_id: str | None = None
    owner: str | None = None
    with_tags: frozenset[str] = frozenset()
    without_tags: frozenset[str] = frozenset()

    def of(self, before: Remarks) -> Remarks:
        """Return the remarks after the edit; tags without those of the label and the note."""
        said = {name: text for name in TEXTS if (text := getattr(self, name)) is not None}
        tags = (before.own_tags | self.with_tags) - self.without_tags
        return replace(before, **said, tags=written_tags(tags))


class ChangedRemarks(Struct, frozen=True):
    """The remarks on a transaction before a change, and after it."""

    tx_hash: TxHash
    before: Remarks
    after: Remarks


def change_all(
    connection: Connection, hashes: Sequence[TxHash], change: BulkChange
) -> list[ChangedRemarks]:
    """Change the tracked ones of the hashes; return those that changed.

    InputError if one of them would have more than `MOST_TAGS`; then nothing is changed.
    """
    changed: list[tuple[Row[Any], Remarks]] = []
    for row in rows_of(connection, hashes):
        before = remarks_of(row)
        said = change.of(before)
        after = replace(said, tags=bounded_tags(row.tx_hash, said))
        if after != before:
            changed.append((row, after))
    if not changed:
        return []
    of_row = update(tracked_hashes).where(tracked_hashes.c.tracked_id == bindparam("of_row"))
    rows = [asdict(after) | {"of_row": row.tracked_id} for row, after in changed]
    connection.execute(of_row, rows)
    count_labels(
        connection, (after.label for _, after in changed), (row.label for row, _ in changed)
    )
    index_tags(connection, [row.tx_hash for row, after in changed if row.tags != after.tags])
    return [ChangedRemarks(row.tx_hash, remarks_of(row), after) for row, after in changed]


def take_back(
    connection: Connection, changed: Sequence[ChangedRemarks], at: datetime
) -> list[TxHash]:
    """Restore earlier remarks, except of hashes that people changed since or no longer track.

    Return the restored ones.
    """
    by_hash = {each.tx_hash: each for each in changed}
    now = {row.tx_hash: remarks_of(row) for row in rows_of(connection, by_hash)}
    same = [by_hash[each] for each, said in now.items() if said == by_hash[each].after]
    return [
        each.tx_hash for each in same if edit_tracked(connection, each.tx_hash, each.before, at)
    ]


def untrack_all(connection: Connection, hashes: Sequence[TxHash]) -> int:
    """Stop tracking hashes; return how many of them were tracked."""
    return sum(untrack(connection, each) for each in hashes)
