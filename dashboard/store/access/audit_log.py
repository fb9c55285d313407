"""The audit log: each action is logged in the transaction that does it, and never changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Text, cast, func, or_, select, tuple_, update

from dashboard.domain.people.access import Action, Actor, AuditEntry, Detail
from dashboard.errors import NotAllowed
from dashboard.store.access.tokens import token_of_id
from dashboard.store.engine.batching import equal, within
from dashboard.store.engine.upsert import holds_text
from dashboard.store.schema import audit_log, installation
from dashboard.store.schema.columns import read_as

_LOOKED_BACK: Final = 10_000
"""How many of the latest actions are searched for the last one of a kind."""


_MOST_WORDS: Final = 40
"""How many words are searched for at most; SQLite refuses many more."""


class AuditFilter(Struct, frozen=True):
    """Which entries to find; an empty field matches everything. Both times are inclusive.

    `actor` and `origin` are parts of who acted and from where, in either case. Each of the `words`
    occurs in the action, its subject or its details.
    """

    action: Action | None = None
    since: datetime | None = None
    until: datetime | None = None
    actor: str = ""
    origin: str = ""
    words: str = ""


def note_action(
    connection: Connection,
    by: Actor,
    action: Action,
    subject: str,
    details: Mapping[str, Detail] | None = None,
) -> None:
    """Log who does what to what, in the transaction that does it.

    NotAllowed undoes that transaction if the role of `by` does not allow the action, or if the
    token was revoked or lost rights since it was presented. Whatever people do is logged here, so
    nothing gets past this check.
    """
    by.require(action)
    if by.token_id is not None:
        token = token_of_id(connection, by.token_id, by.at)
        if token is None:
            raise NotAllowed(f"{by.name} has just ended: use another token")
        replace(by, role=token.role).require(action)
    row = {
        "at": by.at,
        "actor": by.name,
        "origin": by.origin,
        "action": action.value,
        "subject": subject,
        "details": dict(details or {}),
    }
    connection.execute(audit_log.insert().values(**row))


def audit_entries(
    connection: Connection,
    wanted: AuditFilter,
    limit: int | None = None,
    skipped: int = 0,
    before: tuple[datetime, int] | None = None,
) -> list[AuditEntry]:
    """Return the matching entries, the latest first: at most `limit` after those skipped.

    `before`: moment and id of the entry that they follow.
    """
    column = audit_log.c
    query = select(audit_log).where(*_conditions(wanted)).limit(limit).offset(skipped or None)
    if before is not None:
        query = query.where(tuple_(column.at, column.audit_id) < before)
    rows = connection.execute(query.order_by(column.at.desc(), column.audit_id.desc()))
    return [
        read_as(AuditEntry, row, audit_log, details=row.details or {}, origin=row.origin or "")
        for row in rows
    ]


def count_entries(connection: Connection, wanted: AuditFilter) -> int:
    query = select(func.count()).select_from(audit_log).where(*_conditions(wanted))
    return connection.scalar(query) or 0


def last_details(
    connection: Connection, action: Action, among: int = _LOOKED_BACK
) -> Mapping[str, Detail] | None:
    """Return the details of the last action of this kind, `among` the latest actions.

    None if none of these is of this kind: no index covers kinds, and the log may be long.
    """
    by_age = (audit_log.c.at.desc(), audit_log.c.audit_id.desc())
    late = select(audit_log).order_by(*by_age).limit(among).subquery()
    column = late.c
    of_kind = select(column.details).where(column.action == action.value)
    latest = of_kind.order_by(column.at.desc(), column.audit_id.desc()).limit(1)
    found = connection.execute(latest).first()
    return None if found is None else found.details or {}


def allow_purge_before(connection: Connection, moment: datetime) -> bool:
    """Allow entries older than this to be purged, permanently; False if that was allowed before.

    A trigger of the database logs that.
    """
    kept_since = installation.c.audit_log_kept_since
    is_later = or_(kept_since.is_(None), kept_since < moment)
    allowed = update(installation).where(is_later).values(audit_log_kept_since=moment)
    return connection.execute(allowed).rowcount == 1


def _conditions(wanted: AuditFilter) -> Iterator[ColumnElement[bool]]:
    column = audit_log.c
    yield from equal((column.action, wanted.action))
    yield from within(column.at, wanted.since, wanted.until)
    if wanted.actor:
        yield holds_text(column.actor, wanted.actor)
    if wanted.origin:
        yield holds_text(column.origin, wanted.origin)
    for word in wanted.words.split()[:_MOST_WORDS]:
        places = (column.action, column.subject, cast(column.details, Text))
        yield or_(*(holds_text(each, word) for each in places))
