"""A large store is verified, and what it derives is rebuilt after all of it was lost."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from sqlalchemy import Connection, delete, func, or_, select

from dashboard.domain.fees.rollup import RollupLevel
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.maintenance.rebuild import Rebuilt, rebuild
from dashboard.store.maintenance.verify import verify
from dashboard.store.schema import (
    fee_rollups,
    rejection_days,
)
from dashboard.store.schema.columns import milliseconds_of
from tests.bench.expected_replies import NETWORK
from tests.bench.rounds import WrongAnswerError
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result, number
from tests.bench.tracked_store import Taken, taken_by
from tests.bench.year_of_fees import RAW, keep_year_of_fees

LONGEST: Final = 60.0
"""Seconds that the promise leaves for a million rejections and a year of fees."""

_BY: Final = Actor("bench", datetime(2026, 1, 1, tzinfo=UTC))
_REMARK: Final = (
    "Everything derived is lost first: all counters, all hours and days of fees, and the "
    "minutes whose values are kept. What is rebuilt is verified again, and a second rebuild "
    "writes nothing."
)


def run(scene: Scene) -> Result:
    """Verify, lose all that can be computed again, rebuild, and see that nothing else came."""
    with TemporaryDirectory(dir=scene.folder) as name:
        file = Path(name) / "linewatch.sqlite"
        shutil.copyfile(scene.archive.file, file)
        with open_store(f"sqlite:///{file}") as store:
            rollups = _add_fees(store, scene.day, scene.days)
            taken = {
                "verified": taken_by(lambda: _see_whole(store)),
                "rebuilt, nothing wrong": taken_by(lambda: _see_left_alone(store)),
            }
            _lose(store, scene.day - _raw(scene.days))
            taken["rebuilt, everything lost"] = taken_by(lambda: rebuild(store, _BY))
            _see_left_alone(store)
            _see_whole(store)
            _see_all(store, rollups)
    about = f"{scene.stored:,} rejections and {scene.days} days of fees"
    return Result(
        title=f"Verifying and rebuilding {about}",
        promises=[
            Promise("rebuild", f"{what}, {about}", LONGEST, each.wall, "s", is_floor=False)
            for what, each in taken.items()
            if what.startswith("rebuilt")
        ],
        heads=("what", "seconds", "CPU seconds"),
        lines=[_line(what, each) for what, each in taken.items()],
        remarks=[_REMARK],
    )


def _add_fees(store: Store, until: datetime, days: int) -> int:
    with store.write() as connection:
        since = until - timedelta(days=days)
        keep_year_of_fees(connection, NetworkId(NETWORK), since, until, _raw(days))
        return _count_rollups(connection)


def _raw(days: int) -> timedelta:
    """Return for how long values are kept: never all days, since the older ones matter as well."""
    return min(RAW, timedelta(days=days) * 3 / 4)


def _count_rollups(connection: Connection) -> int:
    return connection.scalar(select(func.count()).select_from(fee_rollups)) or 0


def _lose(store: Store, kept_since: datetime) -> None:
    raw_since = milliseconds_of(kept_since)
    column = fee_rollups.c
    with store.write() as connection:
        connection.execute(delete(rejection_days))
        is_lost = or_(column.level != RollupLevel.MINUTE, column.begins_at >= raw_since)
        connection.execute(delete(fee_rollups).where(is_lost))


def _see_whole(store: Store) -> None:
    with store.read() as connection:
        for finding in verify(connection):
            raise WrongAnswerError(finding.what)


def _see_left_alone(store: Store) -> None:
    again = rebuild(store, _BY)
    if again != Rebuilt([], 0):
        raise WrongAnswerError(f"{again} is rebuilt although nothing is wrong")


def _see_all(store: Store, rollups: int) -> None:
    with store.read() as connection:
        found = _count_rollups(connection)
    if found != rollups:
        raise WrongAnswerError(f"{found:,} of {rollups:,} roll-ups are there again")


def _line(what: str, taken: Taken) -> list[str]:
    return [what, number(taken.wall), number(taken.cpu)]
