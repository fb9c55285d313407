"""The worker's window of fees, in a store of its own, brought on block by block."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from sqlalchemy import insert

from dashboard.domain.fees.gas import FeeSeries, GasObservation
from dashboard.domain.fees.percentiles import RankedFees
from dashboard.domain.quantity import Wei
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.fees.busy_window import RollingFees
from dashboard.store.fees.save import save_gas, suggested_row
from dashboard.store.fees.stored_fees import priority_fee_window
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.schema import suggested_gas_fees
from tests.bench.rounds import WrongAnswerError
from tests.builders import A_MOMENT, A_NETWORK, a_suggestion
from tests.builders import suggested_gas_fees as some_fees

PERCENTS: Final = (50, 90)
_BLOCK: Final = timedelta(seconds=2)
_BLOCKS: Final = 200
_TIMES_WHOLE: Final = 10


class Took(NamedTuple):
    """Microseconds of CPU time for one block."""

    rolling: float
    whole: float


class WorkerWindow:
    """A store that holds as many blocks as the window is long; the next one is of `A_MOMENT`."""

    def __init__(self, store: Store, length: int) -> None:
        self._store = store
        self._length = (length - 1) * _BLOCK
        self._saved = 0

    def follow(self, fees: Sequence[Wei], told: Sequence[tuple[Wei, ...]]) -> Took:
        """Save the next blocks; after each one the window must tell these percentiles."""
        rolling = RollingFees(A_NETWORK, FeeSeries.MEDIUM_MAX_PRIORITY_FEE, self._length)
        with self._store.read() as connection:
            rolling.read(connection, _time_of(self._saved - 1))
        took = [self._next(rolling, fees, told) for _ in range(_BLOCKS)]
        whole = [self._whole(told) for _ in range(_TIMES_WHOLE)]
        return Took(mean(took) * 1e6, mean(whole) * 1e6)

    def _next(
        self, rolling: RollingFees, fees: Sequence[Wei], told: Sequence[tuple[Wei, ...]]
    ) -> float:
        at, expected = _time_of(self._saved), told[self._saved]
        with self._store.write() as connection:
            arrivals = save_gas(connection, _observation(at, fees[self._saved]))
            begun = time.process_time()
            rolling.note(arrivals[FeeSeries.MEDIUM_MAX_PRIORITY_FEE])
            found = _percentiles(rolling.read(connection, at))
            took = time.process_time() - begun
        self._saved += 1
        _compare(found, expected)
        return took

    def _whole(self, told: Sequence[tuple[Wei, ...]]) -> float:
        until = _time_of(self._saved - 1)
        with self._store.read() as connection:
            begun = time.process_time()
            window = priority_fee_window(connection, A_NETWORK, until - self._length, until)
            found = _percentiles(window)
            took = time.process_time() - begun
        _compare(found, told[self._saved - 1])
        return took


@contextmanager
def worker_window(fees: Sequence[Wei]) -> Iterator[WorkerWindow]:
    """Make a store that holds these fees, one a block."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'linewatch.sqlite'}"
        migrate(url)
        with closing(open_store(url)) as store:
            seen = (_observation(_time_of(n - len(fees)), fee) for n, fee in enumerate(fees))
            rows = [row for row in map(suggested_row, seen) if row is not None]
            with store.write() as connection:
                connection.execute(insert(suggested_gas_fees), rows)
            yield WorkerWindow(store, len(fees))


def _observation(at: datetime, fee: Wei) -> GasObservation:
    return GasObservation(A_NETWORK, at, some_fees(medium=a_suggestion(fee, fee)))


def _time_of(block: int) -> datetime:
    return A_MOMENT + block * _BLOCK


def _percentiles(window: RankedFees) -> tuple[Wei, ...]:
    return tuple(window.percentile(percent) for percent in PERCENTS)


def _compare(found: tuple[Wei, ...], expected: tuple[Wei, ...]) -> None:
    if found != expected:
        raise WrongAnswerError("the window of the worker and that of serve tell different things")
