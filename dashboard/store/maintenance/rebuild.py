"""Mend what a store derives from other data of its own, while everybody goes on using it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from sqlalchemy import Connection

from dashboard.domain.audit import Actor
from dashboard.store.engine.engine import Store
from dashboard.store.maintenance.finding import Finding
from dashboard.store.maintenance.rebuilder import Mender
from dashboard.store.maintenance.verify_cohorts import mend_cohorts, wrong_cohorts
from dashboard.store.maintenance.verify_counters import mend_tallies, wrong_tallies
from dashboard.store.maintenance.verify_counters_of_ids import mend_numbers, wrong_numbers
from dashboard.store.maintenance.verify_fees import mend_rollups, wrong_rollups
from dashboard.store.maintenance.verify_senders import mend_senders, wrong_senders
from dashboard.store.maintenance.verify_values import mend_values, wrong_values

Look: TypeAlias = Callable[[Connection], Iterator[Finding]]
Tell: TypeAlias = Callable[[str], None]
"""Hears what is looked at now."""

_VALUES: Final = "values that cannot be read"
_DERIVED: Final[dict[str, tuple[Look, Callable[[Mender], int]]]] = {
    "numbers that rows are given": (wrong_numbers, mend_numbers),
    "tallies of rejections": (wrong_tallies, mend_tallies),
    "counts of senders and labels": (wrong_senders, mend_senders),
    "cohorts of tracked hashes": (wrong_cohorts, mend_cohorts),
    "roll-ups of fees": (wrong_rollups, mend_rollups),
}


def be_silent(_what: str) -> None:
    """Tell nobody."""


def unreadable(connection: Connection, tell: Tell = be_silent) -> Iterator[Finding]:
    """Tell what values cannot be read; while there are such, look at nothing made of values."""
    tell(_VALUES)
    yield from wrong_values(connection)


def wrong_derived(connection: Connection, tell: Tell = be_silent) -> Iterator[Finding]:
    """Tell what does not say what it is derived from."""
    for name, (look, _) in _DERIVED.items():
        tell(name)
        yield from look(connection)


def mend(store: Store, by: Actor, tell: Tell = be_silent) -> dict[str, int]:
    """Make anew what can be; return how many rows, or steps, of each kind that were.

    Nothing is open in between, and each transaction looks again before it writes, so that
    everybody may go on using the store. The same again finds nothing left. Where values that
    cannot be made anew cannot be read either, nothing that rests on them is mended.
    """
    mender, mended = Mender(store, by), {}
    tell(_VALUES)
    if many := mend_values(mender):
        mended[_VALUES] = many
    with mender.looking() as connection:
        if any(wrong_values(connection)):
            return mended
    for name, (_, make_anew) in _DERIVED.items():
        tell(name)
        if many := make_anew(mender):
            mended[name] = many
    return mended
