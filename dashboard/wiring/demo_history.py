"""The demo history: a simulated year in the store of the devnet, for trying the pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Final, TypeVar

from dashboard.devnet.chain import DEVNET_ID
from dashboard.devnet.history import History
from dashboard.domain.exclusion import RejectionSource, SaveStatus
from dashboard.errors import InputError
from dashboard.settings import Settings
from dashboard.store.engine import Store
from dashboard.store.history import first_observed_at, keep_gas_history, other_networks
from dashboard.store.reports import save_report
from dashboard.wiring.clock import utc_now
from dashboard.wiring.migration import migrate_store
from dashboard.wiring.store import open_checked_store

T = TypeVar("T")

_OBSERVATIONS_AT_A_TIME: Final = 1000
_REPORTS_AT_A_TIME: Final = 200


@dataclass(frozen=True, slots=True)
class Filled:
    """How much was put into which store; `rejections` counts the new ones only."""

    store: str
    observations: int
    rejections: int


def fill_with_history(settings: Settings, length: timedelta, *, is_store_named: bool) -> Filled:
    """Put the time before the devnet's first observation into the store; twice is once.

    InputError where nothing would say that it is simulated, or where the store holds data of
    other networks and nobody named it. Transactions are short, so that a worker goes on.
    """
    if not settings.has_devnet:
        raise InputError(
            "the simulated network is off, so nothing would mark its history as simulated: "
            "set devnet.mode to on, or use a state folder without networks of your own"
        )
    migrate_store(settings)
    with closing(open_checked_store(settings)) as store:
        with store.read() as connection:
            others = other_networks(connection, DEVNET_ID)
            until = first_observed_at(connection, DEVNET_ID) or utc_now()
        if others and not is_store_named:
            raise InputError(
                f"{store.name} holds data of another network ({others[0]}): choose an empty "
                "folder with --into, or name this one with it to mix them"
            )
        history = History(settings.devnet.seed, until, length)
        return Filled(store.name, _fill_fees(store, history), _fill_rejections(store, history))


def _fill_fees(store: Store, history: History) -> int:
    count = 0
    for some in _batches(history.observations(), _OBSERVATIONS_AT_A_TIME):
        with store.write() as connection:
            keep_gas_history(connection, some)
        count += len(some)
    return count


def _fill_rejections(store: Store, history: History) -> int:
    count, made_up = 0, RejectionSource.DEMO_HISTORY
    for some in _batches(history.reports(), _REPORTS_AT_A_TIME):
        with store.write() as connection:
            saved = [
                save_report(connection, each.report, DEVNET_ID, each.at, made_up) for each in some
            ]
        count += saved.count(SaveStatus.SAVED)
    return count


def _batches(values: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(values)
    while some := list(islice(rest, size)):
        yield some
