"""Silences and maintenance windows, stored: made once for each request, ended, never deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from msgspec.structs import astuple
from sqlalchemy import Connection, Row, func, select, update

from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.silence import Silence, SilenceKind, SilenceRequest
from dashboard.domain.people.access import Actor
from dashboard.domain.people.active_hours import ActiveHours, WeeklyHours, WeekSpan
from dashboard.store.engine.upsert import insert_new
from dashboard.store.schema import silences
from dashboard.store.schema.columns import columns_of, read_as


def add_silence(connection: Connection, request: SilenceRequest, by: Actor) -> tuple[Silence, bool]:
    """Store what a person asked for; return it, and whether it is new.

    If the same request comes again, it finds the first result, even one that is over.
    """
    row = columns_of(
        silences,
        request,
        matchers=[list(astuple(each)) for each in request.matchers],
        weekly=[] if request.weekly is None else list(map(str, request.weekly.hours.spans)),
        zone="" if request.weekly is None else request.weekly.hours.zone,
        author=by.name,
        created_at=by.at,
    )
    is_new = insert_new(connection, silences, row)
    stored = select(silences).where(silences.c.request_id == request.request_id)
    return _silence_of(connection.execute(stored).one()), is_new


def end_silence(
    connection: Connection, kind: SilenceKind, silence_id: int, by: Actor
) -> Silence | None:
    """End one early; None if this number is unknown or over."""
    column = silences.c
    open_one = update(silences).where(
        column.silence_id == silence_id,
        column.kind == kind.value,
        column.ended_at.is_(None),
        column.ends_at > by.at,
    )
    if connection.execute(open_one.values(ended_at=by.at, ended_by=by.name)).rowcount == 0:
        return None
    row = connection.execute(select(silences).where(column.silence_id == silence_id)).one()
    return _silence_of(row)


def unfinished_silences(connection: Connection, at: datetime) -> list[Silence]:
    """Return those that are active or planned at a moment, the first to end first."""
    column = silences.c
    unfinished = select(silences).where(column.ends_at > at, column.ended_at.is_(None))
    rows = connection.execute(unfinished.order_by(column.ends_at, column.silence_id))
    return [_silence_of(row) for row in rows]


def finished_silences(connection: Connection, at: datetime, limit: int) -> list[Silence]:
    """Return those that are over at a moment, the last to end first, at most `limit`."""
    over_at = func.coalesce(silences.c.ended_at, silences.c.ends_at, type_=silences.c.ends_at.type)
    query = select(silences).where(over_at <= at).order_by(over_at.desc(), silences.c.silence_id)
    return [_silence_of(row) for row in connection.execute(query.limit(limit))]


def _weekly_of(row: Row[Any]) -> WeeklyHours | None:
    spans = tuple(map(WeekSpan.parse, row.weekly))
    return WeeklyHours(ActiveHours(spans, row.zone), ZoneInfo(row.zone)) if spans else None


def _silence_of(row: Row[Any]) -> Silence:
    matchers = tuple(
        Matcher(MatchedProperty(about), value, is_equal, is_pattern)
        for about, value, is_equal, is_pattern in row.matchers
    )
    request = read_as(SilenceRequest, row, silences, matchers=matchers, weekly=_weekly_of(row))
    return read_as(Silence, row, silences, request=request, ended_by=row.ended_by or "")
