"""Incidents as stored: found by group, changed by one writer at a time, with their story.

`incidents_by_id` and `incident_events_of` read them. Every change goes through `save_incident`,
which compares the version that was read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    case,
    func,
    literal_column,
    not_,
    or_,
    select,
    true,
    update,
)

from dashboard.domain.alerts.condition import Transition
from dashboard.domain.alerts.incident import Incident, IncidentEvent, IncidentState
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.rule import URGENCY, Severity
from dashboard.domain.quantity import NetworkId
from dashboard.errors import StoreError
from dashboard.store.engine.batching import grouped
from dashboard.store.schema import (
    incident_events,
    incident_transitions,
    incidents,
    transitions,
)
from dashboard.store.schema.columns import columns_of, read_as

_MOST_OPENED: Final = 1000
# Written out, so that the planner sees that the partial index fits.
_IS_PENDING: Final = incidents.c.state == literal_column("'pending'")


def read_incidents(connection: Connection, query: Select[Any]) -> list[Incident]:
    """Read every incident that a query selects, with all its columns."""
    return [incident_of(row) for row in connection.execute(query).mappings()]


def incidents_by_id(connection: Connection, ids: Collection[UUID]) -> dict[UUID, Incident]:
    found = read_incidents(connection, select(incidents).where(incidents.c.incident_id.in_(ids)))
    return {each.incident_id: each for each in found}


def open_incident_by_key(connection: Connection, key: str) -> Incident | None:
    """Return the open incident of a rule and group, locked for this transaction to change."""
    query = select(incidents).where(incidents.c.open_key == key).with_for_update()
    return next(iter(read_incidents(connection, query)), None)


def all_open_incidents(connection: Connection, limit: int) -> list[Incident]:
    query = select(incidents).where(incidents.c.open_key.is_not(None)).limit(limit)
    return read_incidents(connection, query)


def open_incidents_of_rule(connection: Connection, rule: str) -> list[Incident]:
    """Return the open incidents of a rule, locked for this transaction to change."""
    column = incidents.c
    query = select(incidents).where(column.open_key.is_not(None), column.rule == rule)
    return read_incidents(connection, query.with_for_update())


def opening_of(connection: Connection, change: Transition) -> UUID | None:
    """Return the transition that opened what another one changes or ends; None if it is unknown."""
    changed, column = transitions.alias(), transitions.c
    query = (
        select(column.transition_id)
        .join(changed, changed.c.opening_id == column.transition_id)
        .where(changed.c.transition_id == change.transition_id)
    )
    found: UUID | None = connection.scalar(query)
    return found


def has_joined(connection: Connection, incident_id: UUID, transition_id: UUID | None) -> bool:
    """Whether a transition is part of an incident."""
    pair = incident_transitions.c
    mine = (pair.incident_id == incident_id, pair.transition_id == transition_id)
    return connection.scalar(select(pair.incident_id).where(*mine)) is not None


def unattended_incidents(
    connection: Connection, limit: int, network_id: NetworkId | None = None, offset: int = 0
) -> list[Incident]:
    """Return the firing incidents without an owner, of a network or all, the most urgent first.

    They are at most `limit` from `offset` on.

    An incident that only informs is left out, and so is one whose rejected transactions are all in
    blocks by now: nobody has to do anything.
    """
    column = incidents.c
    query = select(incidents).where(
        column.open_key.is_not(None),
        column.state == IncidentState.FIRING,
        column.owner == "",
        column.severity != Severity.INFO,
        column.kind != RuleKind.INCLUDED,
    )
    query = of_network(query, network_id).order_by(*most_urgent_first())
    return read_incidents(connection, query.limit(limit).offset(offset))


def most_urgent_first() -> tuple[ColumnElement[Any], ...]:
    """Order by severity, then by whether an owner is missing, then by age."""
    column = incidents.c
    urgency = case(URGENCY, value=column.severity, else_=0).desc()
    return urgency, column.owner != "", column.opened_at, column.incident_id


def count_opened(connection: Connection, since: datetime, until: datetime | None = None) -> int:
    """Count the incidents that opened between two moments, resolved or not."""
    query = select(func.count()).where(incidents.c.opened_at > since)
    if until is not None:
        query = query.where(incidents.c.opened_at <= until)
    return connection.scalar(query) or 0


class OpenCounts(Struct, frozen=True):
    """How many incidents are open, how many of them are unassigned, and since when."""

    many: int = 0
    unassigned: int = 0
    unassigned_since: datetime | None = None


def open_counts(connection: Connection, network_id: NetworkId | None = None) -> OpenCounts:
    """Count the unresolved incidents that concern a network, or all of them."""
    column = incidents.c
    since = case((column.owner == "", column.opened_at))
    query = select(func.count(), func.count(since), func.min(since)).where(
        column.open_key.is_not(None), _concerns(network_id)
    )
    return OpenCounts(*connection.execute(query).one())


def count_open_incidents(connection: Connection, network_ids: Collection[NetworkId]) -> int:
    """Count the unresolved incidents of these networks, and of no network."""
    column = incidents.c
    is_its = or_(column.network_id.in_(network_ids), column.network_id.is_(None))
    query = select(func.count()).where(column.open_key.is_not(None), is_its)
    return connection.scalar(query) or 0


def count_changes(connection: Connection, several: Collection[Incident]) -> int:
    """Count the changes of incidents; what incidents of several rules share counts once."""
    if len({each.rule for each in several}) == 1:
        return sum(each.transitions for each in several)
    pair = incident_transitions.c
    ids = [each.incident_id for each in several]
    query = select(func.count(pair.transition_id.distinct())).where(pair.incident_id.in_(ids))
    return connection.scalar(query) or 0


def of_network(query: Select[Any], network_id: NetworkId | None) -> Select[Any]:
    return query if network_id is None else query.where(_concerns(network_id))


def _concerns(network_id: NetworkId | None) -> ColumnElement[bool]:
    """Whether an incident is of a network, or of all of them; all are if None is given."""
    column = incidents.c.network_id
    return true() if network_id is None else or_(column == network_id, column.is_(None))


def opened_between(
    connection: Connection, network_id: NetworkId, since: datetime, until: datetime
) -> list[datetime]:
    """Return when incidents of a network opened in a period, the latest 1,000 at most."""
    opened = incidents.c.opened_at
    query = select(opened).where(opened.between(since, until)).order_by(opened.desc())
    return list(connection.scalars(of_network(query, network_id).limit(_MOST_OPENED)))


def is_incident_due(connection: Connection, now: datetime) -> bool:
    """Whether an incident is due by now; it locks nothing, so readers may ask."""
    query = select(incidents.c.incident_id).where(incidents.c.next_at <= now).limit(1)
    return connection.scalar(query) is not None


def make_lasting_due(connection: Connection, now: datetime) -> None:
    """Make every open incident of ongoing conditions due now, except those that are pending."""
    column = incidents.c
    lasting = update(incidents).where(
        column.open_key.is_not(None),
        column.troubled > 0,
        column.state.in_([IncidentState.FIRING, IncidentState.NO_DATA]),
    )
    connection.execute(lasting.values(next_at=now, version=column.version + 1))


def due_incidents(connection: Connection, now: datetime, limit: int) -> list[Incident]:
    """Return the incidents that are due by now, pending ones first, then the longest due.

    A pending one that is late begins to wait again. They are locked for this transaction to change.
    """
    column, found = incidents.c, list[Incident]()
    for is_its_turn in (_IS_PENDING, not_(_IS_PENDING)):
        query = select(incidents).where(column.next_at <= now, is_its_turn).order_by(column.next_at)
        found += read_incidents(connection, query.limit(limit - len(found)).with_for_update())
    return found


def make_all_due(connection: Connection, now: datetime) -> None:
    """Make every open incident due, since its timers may have changed.

    A pending one becomes due if the clock was set back to before it opened.
    """
    column = incidents.c
    is_due = or_(column.state != IncidentState.PENDING, column.opened_at > now)
    due = update(incidents).where(column.open_key.is_not(None), is_due)
    connection.execute(due.values(next_at=now))


def insert_incident(connection: Connection, incident: Incident) -> None:
    connection.execute(incidents.insert().values(**_row_of(incident)))


def save_incident(connection: Connection, incident: Incident) -> None:
    """Store a change of an incident, if its stored version is still the one that was read.

    StoreError if another writer changed it since: the caller begins again.
    """
    column = incidents.c
    unchanged = update(incidents).where(
        column.incident_id == incident.incident_id, column.version == incident.version
    )
    changed = unchanged.values(_row_of(incident) | {"version": incident.version + 1})
    if connection.execute(changed).rowcount != 1:
        raise StoreError(f"incident {incident.incident_id} was changed meanwhile; try again")


def add_events(connection: Connection, events: Sequence[tuple[UUID, IncidentEvent]]) -> None:
    rows = [{"incident_id": incident_id, **asdict(event)} for incident_id, event in events]
    if rows:
        connection.execute(incident_events.insert(), rows)


def incident_events_of(
    connection: Connection, ids: Collection[UUID]
) -> defaultdict[UUID, list[IncidentEvent]]:
    """Return the events of each of these incidents, the oldest first."""
    column = incident_events.c
    query = select(incident_events).where(column.incident_id.in_(ids)).order_by(column.event_id)
    return grouped(
        (row.incident_id, read_as(IncidentEvent, row, incident_events))
        for row in connection.execute(query)
    )


def incident_of(row: RowMapping) -> Incident:
    group = tuple((name, value) for name, value in row[incidents.c.grouped_by])
    return read_as(Incident, row, incidents, group=group)


def _row_of(incident: Incident) -> dict[str, Any]:
    return columns_of(
        incidents,
        incident,
        open_key=incident.key if incident.is_open else None,
        network_id=incident.network_id,
        grouped_by=[list(pair) for pair in incident.group],
    )
