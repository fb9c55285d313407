"""A year of one network's fees, one value for each block: in our store, and raw for its peers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple, TypeVar

import numpy as np

from dashboard.application.context import ApplicationContext
from dashboard.application.fees import Fees, FeeView
from dashboard.application.network_status import (
    NetworkFigures,
    NetworkProfile,
    NetworkStatus,
    conclude_status,
)
from dashboard.application.time_ranges import TIME_RANGES, TimeRange
from dashboard.devnet.chain import Int64Array
from dashboard.devnet.demo import DemoFeeHistory
from dashboard.devnet.genesis import DEVNET
from dashboard.domain.fees.gas import FeeSeries
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.fees.import_history import import_fee_years
from dashboard.store.maintenance.migrate import migrate

T = TypeVar("T")

UNTIL: Final = datetime(2026, 11, 21, tzinfo=UTC)
SEED: Final = 7
YEAR: Final = next(span for span in TIME_RANGES if span.length == timedelta(days=365))
CARD: Final = NetworkProfile(
    DEVNET.network_id,
    DEVNET.title,
    is_simulated=True,
    gas_period=timedelta(seconds=2),
    threshold_period=timedelta(minutes=10),
)


class PastYear(NamedTuple):
    """The store, and the raw base fees that it was filled from."""

    store: Store
    at: Int64Array
    fees: Int64Array


@contextmanager
def past_year(days: int) -> Iterator[PastYear]:
    """Fill a new store with base fees and levels, in roll-ups alone, and keep the raw values."""
    history = DemoFeeHistory(SEED, UNTIL + timedelta(hours=26), timedelta(days=days, hours=26))
    at: list[Int64Array] = []
    fees: list[Int64Array] = []
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'linewatch.sqlite'}"
        migrate(url)
        with closing(open_store(url)) as store:
            for some in history.days():
                with store.write() as connection:
                    import_fee_years(connection, CARD.network_id, *some)
                if some.series is FeeSeries.ESTIMATED_BASE_FEE:
                    at.append(some.at)
                    fees.append(some.fees)
            yield PastYear(store, np.concatenate(at), np.concatenate(fees))


def status() -> NetworkStatus:
    """Return the status under which the page shows base fees."""
    return conclude_status(NetworkFigures(CARD), UNTIL)


def asked_anew(store: Store, span: TimeRange = YEAR) -> FeeView:
    """Ask what the page asks, with nothing kept from before."""
    questions = Fees(ApplicationContext(store, (CARD,), lambda: UNTIL))
    view = questions.view(status(), span)
    if view is None:
        raise ValueError(f"no fees in the last {span.name}")
    return view


class Took(NamedTuple):
    """The milliseconds of a task: by the clock, and of our threads."""

    clock: float
    cpu: float


def measured(task: Callable[[], object], times: int) -> Took:
    """Run a task so many times, once more before it counts; return the middle ones."""
    task()
    took = [measured_once(task)[0] for _ in range(times)]
    return Took(median(each.clock for each in took), median(each.cpu for each in took))


def measured_once(task: Callable[[], T]) -> tuple[Took, T]:
    """Run a task that takes long."""
    clock, cpu = time.perf_counter(), time.process_time()
    done = task()
    cpu = time.process_time() - cpu
    return Took((time.perf_counter() - clock) * 1000, cpu * 1000), done
