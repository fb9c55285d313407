"""Cohorts: tracked hashes that share the results of all polls, until some are split off.

A hash has no row for the results of polls: its cohort has one for each network. If some hashes of a
cohort get another result, they move to a new cohort; no hash ever joins an existing one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    Connection,
    LargeBinary,
    Row,
    Select,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    type_coerce,
    update,
)

from dashboard.domain.health.observation import FailureKind
from dashboard.domain.quantity import NetworkId, TxHash, TxHashes
from dashboard.domain.tracking.cadence import MOST_RENEWALS, RENEWED_FOR
from dashboard.domain.tracking.verdict import WATCHED_FOR
from dashboard.store.engine.batching import grouped, portions, rows_among
from dashboard.store.schema import cohorts, polled_cohorts, tracked_hashes, watched_cohorts
from dashboard.store.schema.columns import Moment, RowId

LARGEST_COHORT: Final = 1000
"""How many hashes one cohort or poll group has at most, so that due hashes can be batched."""


class PollResult(NamedTuple):
    """The result of asking about a hash; hashes must share it to stay in one cohort.

    Failures of one kind that differ in their messages are the same result. `is_included`: a node
    has it in a block; `is_claimed`: the answer itself said so, which proves less.
    """

    failure: FailureKind | None
    is_rejected: bool
    is_included: bool = False
    is_claimed: bool = False

    @property
    def is_answered(self) -> bool:
        return self.failure is None

    @property
    def is_null(self) -> bool:
        """Whether it was answered, there never was a record, and it is in no known block."""
        return self == PollResult(None, is_rejected=False)


class WatchedCohort(Struct, frozen=True):
    """A cohort of at most `size` hashes to ask one network about, and when that was last done.

    `born_at` is when the age of its youngest hash began: with its attempt, if `is_attempt_known`.
    `group_id` is the poll group in which it is asked, None if it is asked alone. `renewed_at` is
    when its age was renewed, if it ever was.
    """

    cohort_id: int
    size: int
    born_at: datetime
    is_attempt_known: bool
    last_asked_at: datetime | None
    last_result: PollResult
    group_id: int | None = None
    renewed_at: datetime | None = None


class Cohort(Struct, frozen=True):
    """Hashes of a cohort; all of them if `is_whole`.

    `is_rejected`: the store has a rejection of each of them on the network that is asked;
    `is_included`: its node has all of them in blocks.
    """

    cohort_id: int
    is_rejected: bool
    hashes: Sequence[TxHash]
    is_whole: bool = True
    is_included: bool = False


def watched_after(connection: Connection, network_id: NetworkId, after: int) -> list[WatchedCohort]:
    """Return the cohorts that are watched on a network, beyond the id `after`, oldest first."""
    return _watched(connection, _WATCHED_AFTER, {"of_network": network_id, "after": after})


def still_watched(
    connection: Connection, network_id: NetworkId, cohort_ids: Sequence[int]
) -> list[WatchedCohort]:
    of_portions = (
        _watched(connection, _WATCHED_AMONG, {"of_network": network_id, "some": some})
        for some in portions(cohort_ids)
    )
    return [each for found in of_portions for each in found]


# Every second a poll asks this: to build a statement takes longer than to run it.
_POLLED: Final = polled_cohorts.c
_WATCHED: Final = (
    select(*_POLLED["born_at", "last_asked_at", "failure_kind", "is_rejected", "watched_at"])
    .add_columns(_POLLED.group_id, _POLLED.included_at)
    .add_columns(*cohorts.c["cohort_id", "size", "renewed_at"])
    .join_from(polled_cohorts, cohorts, cohorts.c.cohort_id == _POLLED.cohort_id)
    .where(_POLLED.network_id == bindparam("of_network"))
    .order_by(_POLLED.cohort_id)
)
_WATCHED_AFTER: Final = _WATCHED.where(_POLLED.cohort_id > bindparam("after"))
_WATCHED_AMONG: Final = _WATCHED.where(_POLLED.cohort_id.in_(bindparam("some", expanding=True)))


def _watched(
    connection: Connection, query: Select[Any], wanted: Mapping[str, Any]
) -> list[WatchedCohort]:
    return [
        WatchedCohort(
            row.cohort_id,
            row.size,
            row.born_at,
            row.born_at < row.watched_at,
            row.last_asked_at,
            PollResult(
                None if row.failure_kind is None else FailureKind(row.failure_kind),
                row.is_rejected,
                row.included_at is not None,
            ),
            row.group_id,
            row.renewed_at,
        )
        for row in connection.execute(query, wanted)
    ]


class KnownHashes:
    """A cache of the hashes of cohorts, or of groups, about which one worker asks repeatedly.

    A cohort of the same size has the same hashes: some may have left, and none joins a cohort. A
    group that was joined has to be forgotten.
    """

    def __init__(self, most: int = 20_000, most_hashes: int = 2_000_000) -> None:
        """Cache so many cohorts, and at most so many hashes of 32 bytes each."""
        self._most, self._most_hashes, self._many = most, most_hashes, 0
        self._hashes: dict[int, TxHashes] = {}

    def forget(self, known_id: int) -> None:
        """Read the hashes of one cohort again next time."""
        self._many -= len(self._hashes.pop(known_id, ()))

    def read(
        self, connection: Connection, sizes: Mapping[int, int], members: Select[Any], **wanted: int
    ) -> Mapping[int, TxHashes]:
        """Return the hashes of all that `sizes` names; `members` selects those of `some`."""
        known = self._hashes
        read: dict[int, list[bytes]] = {
            each: [] for each, size in sizes.items() if len(known.get(each, ())) != size
        }
        for some in portions([*read]):
            for known_id, tx_hash in connection.execute(members, {"some": some, **wanted}):
                read[known_id].append(tx_hash)
        for each, hashes in read.items():
            self._many += len(hashes) - len(known.pop(each, ()))
            known[each] = TxHashes(b"".join(hashes))
        found = {each: known[each] for each in sizes}
        while len(known) > self._most or self._many > self._most_hashes:
            self.forget(next(iter(known)))
        return found


_ASKED: Final = (
    select(*watched_cohorts.c["cohort_id", "is_rejected", "included_at"], cohorts.c.size)
    .join(cohorts, cohorts.c.cohort_id == watched_cohorts.c.cohort_id)
    .where(watched_cohorts.c.cohort_id.in_(bindparam("some", expanding=True)))
    .where(watched_cohorts.c.network_id == bindparam("of_network"))
)
_MEMBERS: Final = select(
    tracked_hashes.c.cohort_id, type_coerce(tracked_hashes.c.tx_hash, LargeBinary)
).where(tracked_hashes.c.cohort_id.in_(bindparam("some", expanding=True)))


def read_cohorts(
    connection: Connection, network_id: NetworkId, cohort_ids: Sequence[int], known: KnownHashes
) -> list[Cohort]:
    """Read cohorts; one that is no longer watched on the network is left out."""
    found: dict[int, Row[Any]] = {}
    for some in portions(cohort_ids):
        rows = connection.execute(_ASKED, {"some": some, "of_network": network_id})
        found |= {row.cohort_id: row for row in rows}
    hashes = known.read(connection, {each: row.size for each, row in found.items()}, _MEMBERS)
    return [
        Cohort(each, row.is_rejected, hashes[each], is_included=row.included_at is not None)
        for each in cohort_ids
        if (row := found.get(each)) is not None
    ]


def insert_cohort(
    connection: Connection, tracked_at: datetime, size: int, watched: Iterable[Mapping[str, Any]]
) -> int:
    """Insert a cohort, watched as these rows say; its hashes are inserted after it."""
    row = insert(cohorts).values(tracked_at=tracked_at, size=size)
    cohort_id: int = connection.execute(row.returning(cohorts.c.cohort_id)).scalar_one()
    watch_on_networks(connection, cohort_id, watched)
    return cohort_id


def watch_on_networks(
    connection: Connection, cohort_id: int, watched: Iterable[Mapping[str, Any]]
) -> None:
    """Watch a cohort of this transaction on further networks."""
    begins = {"cohort_id": cohort_id, "watch_id": cohort_id, "is_rejected": False}
    if rows := [begins | dict(each) for each in watched]:
        connection.execute(insert(watched_cohorts), rows)


def split_cohort(connection: Connection, cohort_id: int, hashes: Sequence[TxHash]) -> int | None:
    """Move hashes from a cohort to a new one with the same results, asked alone; return its id.

    Hashes that have already left the cohort stay where they are; None if all have.
    """
    shared = cohorts.c["tracked_at", "is_rejected", "renewed_at", "renewals"]
    old = select(literal(0), *shared).where(cohorts.c.cohort_id == cohort_id)
    names = ["size", *(column.name for column in shared)]
    begun = insert(cohorts).from_select(names, old).returning(cohorts.c.cohort_id)
    new_id: int | None = connection.execute(begun).scalar_one_or_none()
    if new_id is None:
        return None
    alone = {"cohort_id", "group_id"}
    names = [column.name for column in watched_cohorts.c if column.name not in alone]
    same = select(literal(new_id, RowId), *polled_cohorts.c[tuple(names)])
    same = same.where(polled_cohorts.c.cohort_id == cohort_id)
    connection.execute(insert(watched_cohorts).from_select(["cohort_id", *names], same))
    column, moved = tracked_hashes.c, 0
    for some in portions(hashes):
        leaving = update(tracked_hashes).where(column.tx_hash.in_(some))
        leaving = leaving.where(column.cohort_id == cohort_id)
        moved += connection.execute(leaving.values(cohort_id=new_id)).rowcount
    resize_cohort(connection, new_id, moved)
    resize_cohort(connection, cohort_id, -moved)
    return new_id if moved else None


def resize_cohort(connection: Connection, cohort_id: int, hashes: int) -> None:
    """Update the size of a cohort after hashes were added or removed; delete an empty one."""
    of_cohort = cohorts.c.cohort_id == cohort_id
    counted = update(cohorts).where(of_cohort).values(size=cohorts.c.size + hashes)
    if connection.execute(counted.returning(cohorts.c.size)).scalar_one() == 0:
        of_watched = watched_cohorts.c.cohort_id == cohort_id
        connection.execute(delete(watched_cohorts).where(of_watched))
        connection.execute(delete(cohorts).where(of_cohort))


def restart_watch(
    connection: Connection,
    tx_hash: TxHash,
    attempted_at: datetime | None,
    now: datetime,
    before: datetime | None = None,
) -> int:
    """Give a hash a new cohort with another age, so that polls load it again; return its id.

    The age begins with the attempt, which may be later than the tracking: it was sent again then.
    If only the time `before` is taken back, it begins with the tracking again.
    """
    of_hash = select(tracked_hashes.c.cohort_id).where(tracked_hashes.c.tx_hash == tx_hash)
    cohort_id = split_cohort(connection, connection.scalars(of_hash).one(), [tx_hash])
    assert cohort_id is not None  # noqa: S101 - the hash was just found there
    watched = watched_cohorts.c
    is_later = watched.born_at > watched.watched_at  # tracked again, after the questions had ended
    is_again = is_later if before is None else and_(is_later, watched.born_at != before)
    began: ColumnElement[Any] = case((is_again, watched.born_at), else_=watched.watched_at)
    if attempted_at is not None:
        began = literal(age_starts_at(attempted_at, now), Moment)
    of_cohort = update(watched_cohorts).where(watched.cohort_id == cohort_id)
    connection.execute(of_cohort.values(born_at=began))
    return cohort_id


def mark_rejected(connection: Connection, network_id: NetworkId, hashes: Sequence[TxHash]) -> None:
    """Mark the tracked ones of the hashes as rejected on this network.

    Their cohorts are also marked if they are not watched on the network.
    """
    watched = watched_cohorts.c
    is_new_here = and_(watched.network_id == network_id, watched.is_rejected.is_(False))
    is_unknown = or_(cohorts.c.is_rejected.is_(False), is_new_here)
    for ids in portions(_cohorts_of_only(connection, hashes, is_unknown)):
        of_theirs = update(cohorts).where(cohorts.c.cohort_id.in_(ids))
        connection.execute(of_theirs.values(is_rejected=True))
        of_watch = update(watched_cohorts).where(watched.cohort_id.in_(ids))
        of_network = of_watch.where(watched.network_id == network_id)
        connection.execute(of_network.values(is_rejected=True))


def mark_included(
    connection: Connection, network_id: NetworkId, hashes: Sequence[TxHash], at: datetime
) -> None:
    """Mark the tracked ones of the hashes as in blocks of a network since this time."""
    watched = watched_cohorts.c
    wanted = watched.network_id == network_id, watched.included_at.is_(None)
    for ids in portions(_cohorts_of_only(connection, hashes, *wanted)):
        of_theirs = update(watched_cohorts).where(watched.cohort_id.in_(ids))
        of_network = of_theirs.where(watched.network_id == network_id)
        connection.execute(of_network.values(included_at=at))


def unmark_included(
    connection: Connection, network_id: NetworkId, hashes: Sequence[TxHash]
) -> None:
    """Mark the tracked ones of the hashes as no longer in a block of a network.

    They get new cohorts, which polls load: the old ones are scheduled like included ones.
    """
    watched = watched_cohorts.c
    of_network = watched.network_id == network_id
    for new_id in _in_new_cohorts(connection, hashes, of_network, watched.included_at.is_not(None)):
        of_cohort = update(watched_cohorts).where(watched.cohort_id == new_id, of_network)
        connection.execute(of_cohort.values(included_at=None))


def renew(connection: Connection, hashes: Sequence[TxHash], at: datetime) -> None:
    """Restart the ages of the tracked ones of the hashes, if they are still asked about.

    Not within `RENEWED_FOR` of the last start, nor more than `MOST_RENEWALS` times.
    """
    born_at, renewals = watched_cohorts.c.born_at, cohorts.c.renewals
    begun_at = func.coalesce(cohorts.c.renewed_at, born_at)
    is_open = born_at > at - WATCHED_FOR
    is_old = and_(begun_at <= at - RENEWED_FOR, renewals < MOST_RENEWALS)
    for new_id in _in_new_cohorts(connection, hashes, is_open, is_old):
        of_cohort = update(cohorts).where(cohorts.c.cohort_id == new_id)
        connection.execute(of_cohort.values(renewed_at=at, renewals=renewals + 1))


def watch_again(connection: Connection, hashes: Sequence[TxHash], at: datetime) -> None:
    """Ask about the tracked ones of the hashes again, as about new ones, if that had ended."""
    watched = watched_cohorts.c
    for new_id in _in_new_cohorts(connection, hashes, watched.born_at <= at - WATCHED_FOR):
        of_cohort = update(watched_cohorts).where(watched.cohort_id == new_id)
        connection.execute(of_cohort.values(born_at=at))
        renewed = update(cohorts).where(cohorts.c.cohort_id == new_id)
        connection.execute(renewed.values(renewed_at=None, renewals=0))


def _in_new_cohorts(
    connection: Connection, hashes: Sequence[TxHash], *wanted: ColumnElement[bool]
) -> list[int]:
    """Move the matching tracked ones of the hashes to new cohorts; return these."""
    found = _cohorts_of(connection, hashes, *wanted)
    moved = (split_cohort(connection, cohort_id, some) for (cohort_id, _), some in found.items())
    return [each for each in moved if each is not None]


def _cohorts_of_only(
    connection: Connection, hashes: Sequence[TxHash], *wanted: ColumnElement[bool]
) -> list[int]:
    """Return cohorts of exactly those tracked hashes that meet these conditions."""
    theirs = (
        cohort_id if len(some) == size else split_cohort(connection, cohort_id, some)
        for (cohort_id, size), some in _cohorts_of(connection, hashes, *wanted).items()
    )
    return [each for each in theirs if each is not None]


def _cohorts_of(
    connection: Connection, hashes: Sequence[TxHash], *wanted: ColumnElement[bool]
) -> dict[tuple[int, int], list[TxHash]]:
    """Return the matching tracked ones of the hashes, by the id and size of their cohort."""
    column = tracked_hashes.c.tx_hash
    query = (
        select(column, cohorts.c.cohort_id, cohorts.c.size)
        .distinct()
        .select_from(tracked_hashes)
        .join(cohorts)
        .join(watched_cohorts, watched_cohorts.c.cohort_id == cohorts.c.cohort_id, isouter=True)
        .where(*wanted)
    )
    rows = rows_among(connection, query, column, sorted(set(hashes)))
    return grouped(((cohort_id, size), tx_hash) for tx_hash, cohort_id, size in rows)


def age_starts_at(attempted_at: datetime | None, watched_at: datetime) -> datetime:
    """Return when the age began from which intervals follow; never in the future."""
    return watched_at if attempted_at is None else min(attempted_at, watched_at)
