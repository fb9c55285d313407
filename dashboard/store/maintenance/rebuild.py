"""Rebuild what a store derives from its own data, while everybody goes on using it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from sqlalchemy import Connection, Table

from dashboard.domain.people.access import Action, Actor
from dashboard.store.access.audit_log import note_action
from dashboard.store.engine.engine import Store
from dashboard.store.maintenance.derived_counts import (
    rebuild_cohorts,
    rebuild_labels,
    rebuild_tags,
    wrong_cohorts,
    wrong_counters,
    wrong_labels,
    wrong_tags,
)
from dashboard.store.maintenance.derived_rollups import (
    days_with_fees,
    rebuild_days,
    wrong_in_days,
    wrong_rollups,
)
from dashboard.store.maintenance.findings import Finding, rebuildable, unreadable_values
from dashboard.store.rejections.counts import rebuild_counters
from dashboard.store.schema import rejection_days, tracked_labels, tracked_tags

Progress: TypeAlias = Callable[[str], None]
"""Called with the name of the next check."""

_VALUES: Final = "the form of values"
_ROLLUPS: Final = "roll-ups of fees"


class _Derived(NamedTuple):
    """Data that one transaction rebuilds; `tables` contain nothing else and are replaced whole."""

    name: str
    tables: Sequence[Table]
    find_wrong: Callable[[Connection], Iterator[Finding]]
    rebuild: Callable[[Connection], None]


_DERIVED: Final = (
    _Derived(
        "counters of rejections",
        (rejection_days,),
        wrong_counters,
        rebuild_counters,
    ),
    _Derived("counters of labels", (tracked_labels,), wrong_labels, rebuild_labels),
    _Derived("tags of tracked hashes", (tracked_tags,), wrong_tags, rebuild_tags),
    _Derived("cohorts of tracked hashes", (), wrong_cohorts, rebuild_cohorts),
)


_REPLACED: Final = frozenset(table for each in _DERIVED for table in each.tables)


class Rebuilt(NamedTuple):
    """What was wrong and was rebuilt, and how much is wrong that cannot be computed again."""

    names: list[str]
    left: int


def no_report(_what: str) -> None:
    """Report no progress."""


def unreadable(connection: Connection, report: Progress = no_report) -> Iterator[Finding]:
    """Yield the values that cannot be read; what is derived from values is not checked then."""
    report(_VALUES)
    for table, finding in unreadable_values(connection):
        yield rebuildable(finding.what) if table in _REPLACED else finding


def wrong_derived(connection: Connection, report: Progress = no_report) -> Iterator[Finding]:
    """Yield what differs from the data that it is derived from."""
    for each in _DERIVED:
        report(each.name)
        yield from each.find_wrong(connection)
    report(_ROLLUPS)
    yield from wrong_rollups(connection)


def rebuild(store: Store, by: Actor, report: Progress = no_report) -> Rebuilt:
    """Rebuild what is wrong; what is right is not written, so a second call changes nothing.

    Each kind is replaced in one transaction, roll-ups some days at a time: a process that is killed
    leaves the old or the new. If values that are not derived cannot be read, nothing is rebuilt,
    since it would rest on them. Each transaction is logged and waits for the disk, since the
    numbers that it gives to cohorts must not be given again.
    """
    report(_VALUES)
    with store.read() as connection:
        unread = [table for table, _ in unreadable_values(connection)]
    if left := sum(table not in _REPLACED for table in unread):
        return Rebuilt([], left)
    names = []
    for each in _DERIVED:
        report(each.name)
        with store.read() as connection:
            is_wrong = not set(unread).isdisjoint(each.tables) or any(each.find_wrong(connection))
        if is_wrong:
            with store.write() as connection:
                each.rebuild(connection)
                note_action(connection, by, Action.REBUILD, each.name, {})
            names.append(each.name)
    report(_ROLLUPS)
    written, left = _rebuild_rollups(store, by)
    return Rebuilt([*names, _ROLLUPS] if written else names, left)


def _rebuild_rollups(store: Store, by: Actor) -> tuple[int, int]:
    """Return how many roll-ups were written, and how many wrong ones cannot be computed.

    Days are compared while others may write, and again by the transaction that writes.
    """
    with store.read() as connection:
        all_days = list(days_with_fees(connection))
    written = left = 0
    for days in all_days:
        with store.read() as connection:
            wrong = wrong_in_days(connection, days)
        left += sum(each.row is None for each in wrong)
        if any(each.row is not None for each in wrong):
            with store.write() as connection:
                rows = rebuild_days(connection, days)
                note_action(connection, by, Action.REBUILD, _ROLLUPS, {"rows": rows})
            written += rows
    return written, left
