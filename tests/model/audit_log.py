"""What the audit log is to remember, in plain Python: it grows, and forgets by whole days only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Final

from dashboard.domain.people.access import Action, AuditEntry
from dashboard.store.access.audit_log import AuditFilter, audit_entries, last_details
from dashboard.store.engine.connection import Connection
from dashboard.store.schema.columns import milliseconds_of
from tests.model.kills import Turn

ACTIONS: Final = (Action.TRACK, Action.CHANGE_RETENTION, Action.REVOKE_KEY)
_FEW: Final = 3


@dataclass
class Log:
    """Every act in the order in which it was written down, and since when all are kept.

    `let_go` is by whom and when more was let go: the database says so itself, by the clock of its
    machine.
    """

    acts: list[AuditEntry] = field(default_factory=list)
    kept_since: datetime | None = None
    let_go: list[AuditEntry] = field(default_factory=list)

    def note(self, entry: AuditEntry) -> None:
        """Write down."""
        self.acts.append(entry)

    def forget(self, before: datetime, at: datetime) -> None:
        """Let go of what is older, and of no less than ever before."""
        is_any_old = any(each.at < before for each in (*self.acts, *self.let_go))
        if is_any_old and (self.kept_since is None or before > self.kept_since):
            self.kept_since = before
            told = {"before": milliseconds_of(before)}
            self.let_go.append(AuditEntry(at, "database", Action.PURGE, "audit log", told))
        self.acts = [each for each in self.acts if each.at >= before]
        self.let_go = [each for each in self.let_go if each.at >= before]

    @property
    def is_guarded(self) -> bool:
        """Whether there are entries that nobody may delete."""
        since = self.kept_since
        return any(since is None or each.at >= since for each in self.acts)


def check_log(connection: Connection, held: Log, now: datetime, turn: Turn) -> None:
    """Read the log, and look some acts up; see that they are what is held."""
    found = audit_entries(connection, AuditFilter())
    let_go = [each for each in found if each.action is Action.PURGE]
    assert list(map(_undated, let_go)) == list(map(_undated, reversed(held.let_go)))
    expected = sorted([*reversed(held.acts), *let_go], key=attrgetter("at"), reverse=True)
    assert found == expected
    for wanted in turn.some_of(list(_wishes(now))):
        fitting = [each for each in expected if _fits(wanted, each)]
        assert audit_entries(connection, wanted) == fitting
        assert audit_entries(connection, wanted, _FEW) == fitting[:_FEW]
    for action in turn.some_of(ACTIONS):
        assert last_details(connection, action) == _last(expected, action)
        assert last_details(connection, action, _FEW) == _last(expected[:_FEW], action)


def _wishes(now: datetime) -> Iterator[AuditFilter]:
    a_day = timedelta(days=1)
    yield AuditFilter(Action.TRACK)
    yield AuditFilter(since=now - a_day)
    yield AuditFilter(until=now)
    yield AuditFilter(Action.CHANGE_RETENTION, now - a_day, now - timedelta(hours=1))


def _fits(wanted: AuditFilter, entry: AuditEntry) -> bool:
    return (
        wanted.action in {None, entry.action}
        and (wanted.since is None or entry.at >= wanted.since)
        and (wanted.until is None or entry.at <= wanted.until)
    )


def _last(entries: Sequence[AuditEntry], action: Action) -> object:
    return next((each.details for each in entries if each.action is action), None)


def _undated(entry: AuditEntry) -> tuple[str, str, object]:
    return entry.actor, entry.subject, entry.details
