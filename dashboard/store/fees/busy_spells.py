"""Busy spells as stored: saved as they are concluded, kept for ever, read of any time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import Connection, func, select, update

from dashboard.domain.condition import State, Transition
from dashboard.domain.quantity import NetworkId
from dashboard.domain.spells import Spell
from dashboard.store.engine.upsert import insert_all_new
from dashboard.store.schema import busy_spells


def save_spell(connection: Connection, transition: Transition) -> None:
    """Save the spell that a transition of busyness begins, or the end of the one that it ends."""
    network_id, at = transition.subject.network_id, transition.began_at
    if transition.after is State.BUSY:
        save_spells(connection, network_id, [Spell(at)])
    elif transition.before is State.BUSY:
        column = busy_spells.c
        lasting = update(busy_spells).where(
            column.network_id == network_id, column.ends_at.is_(None)
        )
        is_end_known = transition.after is State.CALM
        connection.execute(lasting.values(ends_at=at, is_end_known=is_end_known))


def save_spells(connection: Connection, network_id: NetworkId, spells: Iterable[Spell]) -> None:
    """Save spells of a network; one that begins when another does is left out."""
    rows = [
        {
            "network_id": network_id,
            "begins_at": each.begins_at,
            "ends_at": each.ends_at,
            "is_end_known": each.is_end_known,
        }
        for each in spells
    ]
    insert_all_new(connection, busy_spells, rows)


def spells_between(
    connection: Connection, network_id: NetworkId, since: datetime, until: datetime
) -> list[Spell]:
    """Return the busy spells of which a part lies in a time, oldest first, each whole."""
    column = busy_spells.c
    last = select(func.max(column.begins_at)).where(
        column.network_id == network_id, column.begins_at <= since
    )
    begins_from = connection.scalar(last) or since
    query = (
        select(column.begins_at, column.ends_at, column.is_end_known)
        .where(column.network_id == network_id, column.begins_at.between(begins_from, until))
        .order_by(column.begins_at)
    )
    found = (Spell(*row) for row in connection.execute(query))
    return [each for each in found if each.ends_at is None or each.ends_at > since]
