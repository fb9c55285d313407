"""The newest fees of a network, kept sorted in memory, and its busy spells as stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Lock
from typing import Final, NamedTuple

from sqlalchemy import Connection, update

from dashboard.domain.alerts.condition import State, Transition
from dashboard.domain.fees.busy_spells import Spell
from dashboard.domain.fees.gas import FeeSeries, SavedFee, SavedFees, TimedFee
from dashboard.domain.fees.percentiles import RankedFees, TimedFees
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.driver import read_rows
from dashboard.store.engine.upsert import insert_all_new
from dashboard.store.fees.stored_fees import PLACES
from dashboard.store.schema import busy_spells
from dashboard.store.schema.columns import columns_of, milliseconds_of, moment_of

_FAR: Final = 10
"""If a window moves by more than this part of its length, reading it again costs less."""


_WITHIN: Final = "{0.at} BETWEEN ? AND ?"
_SIGNS_OF: Final = "SELECT last_token, {} FROM installation"
_SIGNS: Final = {
    series: _SIGNS_OF.format(
        ", ".join(f"({place.select('min({0.at})', _WITHIN)})" for place in places)
    )
    for series, places in PLACES.items()
}
_SPELLS: Final = (
    "SELECT begins_at, ends_at, is_end_known FROM busy_spells WHERE network_id = ? "
    "AND begins_at >= coalesce((SELECT max(begins_at) FROM busy_spells "
    "WHERE network_id = ? AND begins_at <= ?), ?) AND begins_at <= ? "
    "AND (ends_at IS NULL OR ends_at > ?) ORDER BY begins_at"
)


class _Held(NamedTuple):
    """Fees in memory up to `horizon` (milliseconds), and what shows that they match the store."""

    last_token: int
    horizon: int
    ranked: RankedFees
    parts: tuple[TimedFees, ...]


class RollingFees:
    """One fee of one network over the last `length`."""

    def __init__(self, network_id: NetworkId, series: FeeSeries, length: timedelta) -> None:
        self._network_id = network_id
        self._series = series
        self._length = length // timedelta(milliseconds=1)
        self._held: _Held | None = None

    def read(self, connection: Connection, now: datetime) -> RankedFees:
        """Return the stored fees from `length` before `now` to now, both inclusive.

        In a transaction that writes, call `note` first with what it saved. The fees are valid until
        the next call.
        """
        until = milliseconds_of(now)
        since = until - self._length
        values = [self._network_id, since, until] * len(PLACES[self._series])
        [(last_token, *oldest)] = read_rows(connection, _SIGNS[self._series], values)
        held = self._held
        if held is not None and _can_advance(held, since, until):
            for part in held.parts:
                part.move(since, until)
            if held.last_token == last_token and oldest == [each.first_at for each in held.parts]:
                return held.ranked
        self._held = held = self._read(connection, since, until, last_token)
        return held.ranked

    def note(self, saved: Sequence[SavedFee]) -> None:
        """Add what the open transaction saved."""
        if self._held is None:
            return
        try:
            for fee, replaced in saved:
                _apply(self._held, fee, replaced)
        except ValueError:
            self.reset()

    def reset(self) -> None:
        """Forget everything, so that the next call reads the store."""
        self._held = None

    def _read(self, connection: Connection, since: int, until: int, last_token: int) -> _Held:
        """Read everything, and as far ahead of `until`, since the clock may have been set back."""
        horizon, ranked = until + self._length, RankedFees()
        parts = []
        for is_estimated, place in enumerate(PLACES[self._series]):
            query = place.select("{0.at}, {0.fee}", _WITHIN)
            rows = read_rows(connection, query, (self._network_id, since, horizon))
            values = [TimedFee(at, fee, bool(is_estimated)) for at, fee in rows]
            parts.append(TimedFees(ranked, values, since, until))
        return _Held(last_token, horizon, ranked, tuple(parts))


def _apply(held: _Held, value: TimedFee, replaced: TimedFee | None) -> None:
    """Add a saved fee, remove the one it replaced; ValueError if memory and store differ."""
    if value.at > held.horizon:
        return
    if replaced is not None:
        held.parts[replaced.is_estimated].remove(replaced)
    held.parts[value.is_estimated].add(value)


def _can_advance(held: _Held, since: int, until: int) -> bool:
    """Whether the time moved forward, not far, and not beyond what is in memory."""
    part = held.parts[0]
    step = since - part.since
    return 0 <= step <= (until - since) // _FAR and until <= held.horizon


class BusyWindow:
    """The fees from which a worker concludes whether a network is busy: base and medium priority.

    The window moves with each poll. Whatever saves fees is enclosed in `transaction`.
    """

    def __init__(
        self, network_id: NetworkId, base_fees: timedelta, priority_fees: timedelta
    ) -> None:
        self._one_at_a_time = Lock()
        self._base_fees = RollingFees(network_id, FeeSeries.ESTIMATED_BASE_FEE, base_fees)
        self._priority_fees = RollingFees(
            network_id, FeeSeries.MEDIUM_MAX_PRIORITY_FEE, priority_fees
        )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Enclose a transaction: unless it ends well, everything in memory is forgotten."""
        with self._one_at_a_time:
            try:
                yield
            except BaseException:
                self._base_fees.reset()
                self._priority_fees.reset()
                raise

    def note(self, saved: SavedFees) -> None:
        """Add what the open transaction saved."""
        self._base_fees.note(saved.get(FeeSeries.ESTIMATED_BASE_FEE, ()))
        self._priority_fees.note(saved.get(FeeSeries.MEDIUM_MAX_PRIORITY_FEE, ()))

    def base_fees(self, connection: Connection, now: datetime) -> RankedFees:
        return self._base_fees.read(connection, now)

    def priority_fees(self, connection: Connection, now: datetime) -> RankedFees:
        """Return the medium suggested priority fees until now."""
        return self._priority_fees.read(connection, now)


def save_spell(connection: Connection, transition: Transition) -> None:
    """Save the busy spell that a transition begins, or the end of the spell that it ends."""
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
    """Save spells of a network; a spell that begins together with a stored one is left out."""
    rows = [columns_of(busy_spells, each, network_id=network_id) for each in spells]
    insert_all_new(connection, busy_spells, rows)


def spells_between(
    connection: Connection, network_id: NetworkId, since: datetime, until: datetime
) -> list[Spell]:
    """Return the busy spells that overlap a period, oldest first, each uncut."""
    begin, end = milliseconds_of(since), milliseconds_of(until)
    return [
        Spell(moment_of(begins_at), None if ends_at is None else moment_of(ends_at), bool(is_known))
        for begins_at, ends_at, is_known in read_rows(
            connection, _SPELLS, (network_id, network_id, begin, begin, end, begin)
        )
    ]
