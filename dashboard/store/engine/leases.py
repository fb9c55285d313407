"""Leases: which process does a job that only one may do, until when, under which token."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, and_, bindparam, select, update

from dashboard.store.engine.engine import lease_time
from dashboard.store.engine.lease_clock import BootMoment
from dashboard.store.engine.upsert import insert_new
from dashboard.store.schema import installation, leases

WORKER_LEASE: Final = "worker"
"""The lease of the active worker."""


class Holder(Struct, frozen=True):
    """Who holds a lease, under which fencing token."""

    name: str
    token: int


def acquire(connection: Connection, name: str, holder: str, duration: timedelta) -> int | None:
    """Take the lease if nobody holds it; return its fencing token, None if somebody does.

    Every grant has a larger token than all grants before it. If `holder` has the lease already, it
    is renewed with the same token. `holder` names one process, never two.
    """
    now = lease_time(connection)
    free = {"name": name, "token": 0, "boot_id": "", "granted_at": 0, "expires_at": 0}
    insert_new(connection, leases, free)
    row = connection.execute(
        select(leases.c.holder, leases.c.token, _is_alive(now).label("is_alive"))
        .where(leases.c.name == name)
        .with_for_update()
    ).one()
    if row.is_alive and row.holder != holder:
        return None
    token: int = row.token if row.is_alive else next_token(connection)
    grant = update(leases).where(leases.c.name == name)
    connection.execute(grant.values(holder=holder, token=token, **_term(now, duration)))
    return token


def renew(connection: Connection, name: str, token: int, duration: timedelta) -> bool:
    """Renew a lease from now; False if it expired or was given to another: stop the job."""
    now = lease_time(connection)
    mine = update(leases).where(leases.c.name == name, leases.c.token == token, _is_alive(now))
    return connection.execute(mine.values(**_term(now, duration))).rowcount == 1


def release(connection: Connection, name: str, token: int) -> None:
    """Give a lease back, if this token still holds it."""
    mine = update(leases).where(leases.c.name == name, leases.c.token == token)
    connection.execute(mine.values(holder=None))


def holder(connection: Connection, name: str) -> Holder | None:
    """Return who holds the lease now, None if nobody does."""
    return holders(connection).get(name)


def holders(connection: Connection) -> dict[str, Holder]:
    """Return who holds each lease that is held now, by the name of the lease."""
    now = lease_time(connection)
    rows = connection.execute(_HELD, {"at_boot": now.boot_id, "now": now.nanoseconds})
    return {row.name: Holder(row.holder, row.token) for row in rows}


def live_tokens(connection: Connection) -> Sequence[int]:
    """Return the fencing tokens of the leases that are held now."""
    return [each.token for each in holders(connection).values()]


def _is_alive(now: BootMoment) -> ColumnElement[bool]:
    return _lasts(now.boot_id, now.nanoseconds)


def _lasts(boot_id: Any, nanoseconds: Any) -> ColumnElement[bool]:  # noqa: ANN401 - values, or places for them
    return and_(
        leases.c.holder.is_not(None),
        leases.c.boot_id == boot_id,
        leases.c.granted_at <= nanoseconds,
        leases.c.expires_at > nanoseconds,
    )


_HELD: Final = select(leases).where(_lasts(bindparam("at_boot"), bindparam("now")))
"""Built once, since every tick of a poll asks this."""


def _term(now: BootMoment, duration: timedelta) -> dict[str, object]:
    length = duration // timedelta(microseconds=1) * 1_000
    return {
        "boot_id": now.boot_id,
        "granted_at": now.nanoseconds,
        "expires_at": now.nanoseconds + length,
    }


def next_token(connection: Connection) -> int:
    """Increase the token, so that whoever caches something sees that another has been at work."""
    counted = update(installation).values(last_token=installation.c.last_token + 1)
    token: int = connection.scalars(counted.returning(installation.c.last_token)).one()
    return token
