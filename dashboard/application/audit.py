"""The audit log: who did what to this installation."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Final

from dashboard.application.context import ApplicationSubject
from dashboard.application.listing import Column, Json, Listing, time_column
from dashboard.domain.people.access import Action, AuditEntry, Detail
from dashboard.store.access.audit_log import AuditFilter, audit_entries, count_entries


class AuditLog(ApplicationSubject):
    def entries(
        self,
        wanted: AuditFilter,
        limit: int,
        skipped: int = 0,
        before: tuple[datetime, int] | None = None,
    ) -> list[AuditEntry]:
        """Return the latest matching entries, the latest first, after the skipped ones.

        `before` is the moment and the id of an entry that they must precede.
        """
        with self._context.store.read_recent() as connection:
            return audit_entries(connection, wanted, limit, skipped, before)

    def count(self, wanted: AuditFilter) -> int:
        with self._context.store.read_recent() as connection:
            return count_entries(connection, wanted)


def audit_filter(
    action: Action | None,
    since: datetime | None,
    until: datetime | None,
    actor: str = "",
    origin: str = "",
    words: str = "",
) -> AuditFilter:
    """Return a filter: both times are included, and None or empty allows anything."""
    return AuditFilter(action, since, until, actor, origin, words)


def details_in_words(entry: AuditEntry) -> str:
    """Format the details of an entry on one line; they are foreign text."""
    return ", ".join(
        f"{name}: {each if isinstance(each, str) else json.dumps(each)}"
        for name, each in entry.details.items()
    )


def _plain(detail: Detail) -> Json:
    return detail if detail is None or isinstance(detail, str | int | float) else list(detail)


AUDIT: Final[Listing[AuditEntry]] = Listing(
    "entries",
    (
        time_column("at", "at", lambda each: each.at),
        Column("actor", lambda each: each.actor, "actor"),
        Column("action", lambda each: str(each.action), "action"),
        Column("subject", lambda each: each.subject, "subject"),
        Column("from", lambda each: each.origin, "from"),
        Column(
            "details",
            details_in_words,
            "details",
            lambda each: {name: _plain(detail) for name, detail in each.details.items()},
        ),
    ),
    "No such action is on record.",
)
