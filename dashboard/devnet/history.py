"""A past for the devnet: what polls would have seen, and nodes reported, before it was started.

Fees follow the same demand as the chain's, and rejections are stories of the same traffic, but
both are sampled: one block stands for all of its step, and few stories for an hour's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Final

from dashboard.devnet.blockspace import Blockspace
from dashboard.devnet.chain import DEVNET_ID, GAS_LIMIT, Block, Chain, Genesis
from dashboard.devnet.chance import between
from dashboard.devnet.demand import Demand
from dashboard.devnet.rewards import gas_weighted
from dashboard.devnet.traffic import STORY_SECONDS, HandIn, Traffic
from dashboard.domain.fees import FeePolicy, FeeWindow, suggest
from dashboard.domain.gas import BlockFees
from dashboard.domain.observation import GasObservation, GasSource, Operation
from dashboard.domain.quantity import WEI_PER_GWEI, Wei

YEAR: Final = timedelta(days=365)

_MARK_STEP: Final = timedelta(minutes=10)
_STEPS: Final = (
    (YEAR, _MARK_STEP),
    (timedelta(days=14), timedelta(minutes=2)),
    (timedelta(hours=26), timedelta(seconds=12)),
)
"""How old a time is at most, and how often a poll looked then: the present is looked at closely."""

_WINDOW: Final = 67  # marks in eleven hours, as long as 20,000 blocks take
_POLICY: Final = FeePolicy(historical_blocks=60)
_PERCENTILES: Final = tuple(Fraction(each) for each in _POLICY.reward_percentiles)
_GAS_OF_A_TRANSACTION: Final = 300_000
_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR
_THOUSAND: Final = 1000
_USUAL_PRICE: Final = 12 * WEI_PER_GWEI
_STORIES_IN_AN_HOUR: Final = 1200  # thousandths, at the usual price
_STORM_CHANCE: Final = 8  # of 256 days
_STORM_HOURS: Final = 5
_STORM: Final = 9
_SEASON: Final = 16 * _DAY


class History:
    """The time, a year at most, that ends at a moment; the same arguments tell the same."""

    def __init__(self, seed: int, until: datetime, length: timedelta = YEAR) -> None:
        """Compute nothing yet."""
        self._since = until - min(length, YEAR)
        self._until = until
        chain = Chain(Genesis(seed, int(self._since.timestamp())))
        self._chain = chain
        self._demand = Demand(chain.chance)
        self._blockspace = Blockspace(chain)
        self._traffic = Traffic(chain)

    def observations(self) -> Iterator[GasObservation]:
        """Yield what gas polls would have seen, oldest first."""
        window = FeeWindow(_WINDOW)
        blocks: deque[BlockFees] = deque(maxlen=_POLICY.historical_blocks)
        for at, is_mark in self._moments():
            fees = self._fees(at)
            blocks.append(fees)
            if is_mark:
                window.append(fees.base_fee_per_gas)
            following = self._price(int(at.timestamp()) + 2)
            yield GasObservation(
                DEVNET_ID,
                at,
                suggest(tuple(blocks), following, window, _POLICY),
                base_fee_percentile=window.percentile(50) if is_mark else None,
                busy_threshold=window.percentile(90) if is_mark else None,
                sources=dict.fromkeys(Operation, GasSource.DEMO_HISTORY),
            )

    def reports(self) -> Iterator[HandIn]:
        """Yield what nodes would have reported, about in order."""
        first, last = (int(each.timestamp()) // _HOUR for each in (self._since, self._until))
        for hour in range(first, last + 1):
            for pick in range(self._stories_in(hour)):
                draw = self._chain.chance.draw(f"pick {pick}", hour, 4)
                number = (hour * _HOUR + between(0, _HOUR - 1, draw)) // STORY_SECONDS
                for action in self._traffic.story(number).actions:
                    if isinstance(action, HandIn) and self._since < action.at <= self._until:
                        yield action

    def _moments(self) -> Iterator[tuple[datetime, bool]]:
        """Yield when a poll looked, and whether it asked for percentile and threshold as well.

        Moments are whole multiples of their step, so that a later history meets this one's.
        """
        ends = [*(age for age, _ in _STEPS[1:]), timedelta()]
        for (age, step), end in zip(_STEPS, ends, strict=True):
            seconds = int(step.total_seconds())
            begin = max(self._since, self._until - age)
            first = -(-int(begin.timestamp()) // seconds)
            following = -(-int((self._until - end).timestamp()) // seconds)
            for number in range(first, following):
                at = datetime.fromtimestamp(number * seconds, UTC)
                yield at, number * seconds % int(_MARK_STEP.total_seconds()) == 0

    def _fees(self, at: datetime) -> BlockFees:
        """Tell the fees of the block at a moment."""
        number = self._chain.head(at)
        chance = self._chain.chance.draw("history", number, 3)
        base_fee = self._price(int(at.timestamp())) * between(960, 1040, chance[:2])
        used = GAS_LIMIT * between(30, 70, chance[2:]) // 100
        block = Block(
            number=number,
            timestamp=at,
            base_fee_per_gas=Wei(base_fee // _THOUSAND),
            gas_used=used,
            transaction_count=used // _GAS_OF_A_TRANSACTION,
            first_transaction=number,
        )
        tips = ((slot.tip, slot.gas_used) for slot in self._blockspace.slots(block))
        rewards = gas_weighted(tips, _PERCENTILES)
        return BlockFees(number, block.base_fee_per_gas, used / GAS_LIMIT, rewards)

    def _price(self, timestamp: int) -> Wei:
        """Return the demand of a Unix second, in seasons that fade before the chain begins."""
        step, passed = divmod(timestamp, _SEASON)
        here, there = (
            between(-300, 500, self._chain.chance.draw("season", number, 2))
            for number in (step, step + 1)
        )
        season = here + (there - here) * passed // _SEASON
        before_the_chain = min(_SEASON, max(0, int(self._until.timestamp()) - timestamp))
        season = _THOUSAND + season * before_the_chain // _SEASON
        return Wei(self._demand.price(timestamp) * season // _THOUSAND)

    def _stories_in(self, hour: int) -> int:
        """Return how many rejected transactions an hour has: more when busy, many in a storm."""
        price = self._price(hour * _HOUR)
        expected = _STORIES_IN_AN_HOUR * price // _USUAL_PRICE
        happens, begins = self._chain.chance.draw("storm", hour * _HOUR // _DAY, 2)
        begins %= 24 - _STORM_HOURS
        if happens < _STORM_CHANCE and begins <= hour % 24 < begins + _STORM_HOURS:
            expected *= _STORM
        whole, part = divmod(expected, _THOUSAND)
        draw = self._chain.chance.draw("stories", hour, 4)
        return whole + (between(0, _THOUSAND - 1, draw) < part)
