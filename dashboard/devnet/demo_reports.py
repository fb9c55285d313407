"""The demo history of reports: what nodes would have reported before the chain began."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

import numpy as np

from dashboard.devnet.chain import Chain, Genesis
from dashboard.devnet.demo_fee_history import YEAR
from dashboard.devnet.demo_fees import DemoFees
from dashboard.devnet.networks import DEVNET
from dashboard.devnet.seeded_random import between
from dashboard.devnet.traffic import REJECTION_SECONDS, SubmitReport, Traffic
from dashboard.domain.quantity import WEI_PER_GWEI, Wei

_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR
_THOUSAND: Final = 1000
_USUAL_PRICE: Final = 12 * WEI_PER_GWEI
_REJECTIONS_IN_AN_HOUR: Final = 1200  # thousandths, at the usual price
_STORM_CHANCE: Final = 8  # of 256 days
_STORM_HOURS: Final = 5
_STORM: Final = 9


class DemoReports:
    """A sample of the traffic of each hour: more where it is busy, much more in a storm."""

    def __init__(self, seed: int, until: datetime, length: timedelta = YEAR) -> None:
        """Compute nothing yet; the same arguments give the same reports."""
        self._since, self._until = until - length, until
        chain = Chain(Genesis(seed, int(self._since.timestamp())))
        self._random = chain.random
        self._traffic = Traffic(chain)
        self._fees = DemoFees(seed, DEVNET, until)

    def reports(self) -> Iterator[SubmitReport]:
        """Yield the reports, approximately in order of time."""
        first, last = (int(each.timestamp()) // _HOUR for each in (self._since, self._until))
        prices = self._fees.prices(np.arange(first, last + 1) * _HOUR).tolist()
        for hour, price in zip(range(first, last + 1), prices, strict=True):
            for pick in range(self._rejections_in(hour, price)):
                draw = self._random.draw(f"pick {pick}", hour, 4)
                number = (hour * _HOUR + between(0, _HOUR - 1, draw)) // REJECTION_SECONDS
                for action in self._traffic.rejection(number).actions:
                    if isinstance(action, SubmitReport) and self._since < action.at <= self._until:
                        yield action

    def _rejections_in(self, hour: int, price: Wei) -> int:
        """Return how many rejected transactions an hour has."""
        expected = _REJECTIONS_IN_AN_HOUR * price // _USUAL_PRICE
        happens, begins = self._random.draw("storm", hour * _HOUR // _DAY, 2)
        begins %= 24 - _STORM_HOURS
        if happens < _STORM_CHANCE and begins <= hour % 24 < begins + _STORM_HOURS:
            expected *= _STORM
        whole, part = divmod(expected, _THOUSAND)
        draw = self._random.draw("stories", hour, 4)
        return whole + (between(0, _THOUSAND - 1, draw) < part)
