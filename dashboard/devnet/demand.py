"""Demand: the base fee at which blocks would be half full, in days, weeks, calm and bursts."""

from __future__ import annotations

from typing import Final

from dashboard.devnet.chance import Chance, between
from dashboard.domain.quantity import WEI_PER_GWEI, Wei

_USUAL: Final = 12 * WEI_PER_GWEI
_THOUSAND: Final = 1000
_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR

# Thousandths of the usual demand. Nights (UTC) are calm, afternoons busy.
_BY_HOUR: Final = (
    *(920, 890, 860, 840, 820, 810, 820, 840, 880, 920, 970, 1020),
    *(1070, 1110, 1150, 1180, 1190, 1170, 1140, 1100, 1060, 1020, 990, 950),
)
_FROM_THURSDAY: Final = (1050, 1020, 920, 880, 1000, 1040, 1060)  # 1970-01-01 was a Thursday

_MOOD_SECONDS: Final = 1200
_BURST_SECONDS: Final = 360
_BURST_CHANCE: Final = 150  # of 256


class Demand:
    """What senders would pay at any moment, told from a seed alone."""

    def __init__(self, chance: Chance) -> None:
        """Draw moods and bursts from `chance`."""
        self._chance = chance

    def price(self, timestamp: int) -> Wei:
        """Return the base fee in wei at which a block of that Unix second is half full."""
        price = _USUAL * _along(_BY_HOUR, timestamp, _HOUR) // _THOUSAND
        price = price * _along(_FROM_THURSDAY, timestamp, _DAY) // _THOUSAND
        price = price * self._mood(timestamp) // _THOUSAND
        return Wei(price * self._burst(timestamp) // _THOUSAND)

    def _mood(self, timestamp: int) -> int:
        step, passed = divmod(timestamp, _MOOD_SECONDS)
        here, there = (
            between(850, 1150, self._chance.draw("mood", number, 2)) for number in (step, step + 1)
        )
        return here + (there - here) * passed // _MOOD_SECONDS

    def _burst(self, timestamp: int) -> int:
        slot, passed = divmod(timestamp, _BURST_SECONDS)
        happens, begin, length, first, second = self._chance.draw("burst", slot, 5)
        start = begin * 200 // 256
        if happens >= _BURST_CHANCE or not start <= passed < start + 36 + length * 80 // 256:
            return _THOUSAND
        return 1500 + max(0, first + second - 200) * 6 + first


def _along(shape: tuple[int, ...], timestamp: int, step_seconds: int) -> int:
    """Return the value of a repeating shape, straight lines between its points."""
    step, passed = divmod(timestamp, step_seconds)
    here, there = shape[step % len(shape)], shape[(step + 1) % len(shape)]
    return here + (there - here) * passed // step_seconds
