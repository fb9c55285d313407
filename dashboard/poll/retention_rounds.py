"""Rounds of retention: purge what is old, a little at a time, and measure the size of the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from anyio.to_thread import run_sync

from dashboard.domain.health.retention import Retention
from dashboard.domain.people.access import Action, Actor
from dashboard.logs import get_logger
from dashboard.poll.lease import Clocks
from dashboard.store.access.audit_log import last_details, note_action
from dashboard.store.engine.engine import Store
from dashboard.store.maintenance.purge import Check, PurgeBatch, allow, apply_retention
from dashboard.store.monitoring.upkeep import (
    clock_jump,
    last_measured,
    measure,
    note_purge,
    record_size,
)

Rest = Callable[[float], Awaitable[object]]

ROUND_EVERY: Final = timedelta(hours=1)
_AT_A_TIME: Final = timedelta(seconds=5)
"""How long one run works, so that the worker stops within seconds."""

_RESTS: Final = 3
"""A rest is this many times as long as the batch before it took, its commit included."""

_SHORTEST_REST: Final = 0.005

_log = get_logger("housekeeping")


class RetentionRounds:
    """Goes through the store once an hour; a long round continues with the next run."""

    def __init__(
        self,
        store: Store,
        retention: Retention,
        clocks: Clocks,
        rest: Rest,
        check: Check = allow,
    ) -> None:
        """Start with the first run; `rest` waits for so many seconds.

        `check` is called in each transaction that writes, and raises if the lease is over.
        """
        self._store = store
        self._retention = retention
        self._clocks = clocks
        self._rest = rest
        self._check = check
        self._round: Iterator[PurgeBatch] | None = None
        self._next_round = timedelta()
        self._purged: Counter[str] = Counter()

    async def run(self) -> None:
        """Work for a moment, if there is anything to do. Raises StoreError."""
        await run_sync(self._store.checkpoint)
        began = self._clocks.elapsed()
        if self._round is None and began < self._next_round:
            return
        while self._clocks.elapsed() - began < _AT_A_TIME:
            before = self._clocks.elapsed()
            batch = await run_sync(self._next_batch)
            if batch is None:
                await self._end_round()
                return
            self._purged[batch.kind] += batch.rows
            took = (self._clocks.elapsed() - before).total_seconds()
            await self._rest(max(_RESTS * took, _SHORTEST_REST))

    def _next_batch(self) -> PurgeBatch | None:
        if self._round is None:
            self._begin_round()
            before = self._retention.before(self._trusted_now())
            self._round = apply_retention(self._store, before, check=self._check)
        try:
            return next(self._round, None)
        except BaseException:
            self._round = None  # an iterator that raised is spent: start again
            raise

    def _trusted_now(self) -> datetime:
        """Return the time by which something counts as old: that before a jump of the clock."""
        now = self._clocks.now()
        with self._store.read() as connection:
            jump = clock_jump(connection, now)
        if jump is None:
            return now
        _log.warning(
            "the clock jumped ahead: what is old only because of that is not purged yet",
            before=jump.before.isoformat(),
            after=jump.after.isoformat(),
        )
        return jump.before

    def _begin_round(self) -> None:
        """Record the retention of the audit log, if that has changed."""
        kept: Mapping[str, str] = self._retention.in_words()
        with self._store.read() as connection:
            if last_details(connection, Action.CHANGE_RETENTION) == kept:
                return
        with self._store.write() as connection:
            self._check(connection)
            worker = Actor("worker", self._clocks.now())
            note_action(connection, worker, Action.CHANGE_RETENTION, "store", kept)

    def _note_purge(self) -> None:
        with self._store.write() as connection:
            self._check(connection)
            note_purge(connection, self._clocks.now())

    def _measure(self) -> None:
        """Measure the store once a day."""
        now = self._clocks.now()
        with self._store.read() as connection:
            last = last_measured(connection)
            if last is not None and last.measured_at.date() == now.date():
                return
            measured = measure(connection, now)
        with self._store.write() as connection:
            self._check(connection)
            record_size(connection, measured)

    async def _end_round(self) -> None:
        self._round = None
        self._next_round = self._clocks.elapsed() + ROUND_EVERY
        purged = +self._purged
        if purged:
            _log.info("purged old data", counts=dict(purged))
        self._purged.clear()
        await run_sync(self._note_purge)
        await run_sync(self._measure)  # last: if it fails, no purge is repeated
