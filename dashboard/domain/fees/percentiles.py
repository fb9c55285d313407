"""Windows of fees that stay sorted as fees come and go: by number of blocks, or by time."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice

from dashboard.domain.fees.gas import TimedFee
from dashboard.domain.quantity import Wei


def nearest_rank(ascending: Sequence[int], percent: Fraction | int) -> Wei:
    """Return the nearest-rank percentile: element ceil(percent·n/100), counted from one.

    ValueError if there are no values, or if the percentage is outside 0 to 100.
    """
    if not 0 <= percent <= 100:  # noqa: PLR2004 - the bounds of a percentage
        raise ValueError(f"{percent} is not a percentage: give 0 to 100")
    if not ascending:
        raise ValueError("an empty window has no percentile")
    rank = -(-len(ascending) * percent // 100)
    return Wei(ascending[max(1, int(rank)) - 1])


class RankedFees:
    """Fees sorted by size.

    Adding or removing one costs a binary search and a move inside an array, so percentiles of
    20,000 fees stay exact without sorting again. A fee takes eight bytes.
    """

    __slots__ = ("_ascending",)

    def __init__(self, fees: Iterable[Wei] = ()) -> None:
        """Start with these fees, in any order."""
        self._ascending = array("q", sorted(fees))

    def __len__(self) -> int:
        return len(self._ascending)

    def __iter__(self) -> Iterator[Wei]:
        return map(Wei, self._ascending)

    @property
    def is_constant(self) -> bool:
        """Whether all fees are equal."""
        return not self._ascending or self._ascending[0] == self._ascending[-1]

    def add(self, fee: Wei) -> None:
        insort(self._ascending, fee)

    def add_all(self, fees: Iterable[Wei]) -> None:
        self._ascending = array("q", sorted([*self._ascending, *fees]))

    def remove(self, fee: Wei) -> None:
        """Remove one fee of this size, which must be present."""
        del self._ascending[bisect_left(self._ascending, fee)]

    def below(self, fee: Wei) -> int:
        return bisect_left(self._ascending, fee)

    def percentile(self, percent: Fraction | int) -> Wei:
        """Return the nearest-rank percentile; ValueError if there are none."""
        return nearest_rank(self._ascending, percent)


class FeeWindow:
    """The base fees of the last `capacity` blocks, kept sorted as well as in order."""

    def __init__(self, capacity: int) -> None:
        """Start empty; ValueError if the capacity is below one."""
        if capacity < 1:
            raise ValueError(f"a window holds at least one block, not {capacity}")
        self.capacity = capacity
        self._in_order: deque[Wei] = deque()
        self._ranked = RankedFees()

    def __len__(self) -> int:
        return len(self._in_order)

    @property
    def values(self) -> tuple[Wei, ...]:
        """All base fees, oldest first."""
        return tuple(self._in_order)

    def newest(self, count: int) -> tuple[Wei, ...]:
        """Return the last `count` base fees, or all if there are fewer; oldest first."""
        return tuple(islice(self._in_order, max(0, len(self) - count), None))

    def append(self, base_fee: Wei) -> None:
        """Add the base fee of the next block; a full window drops its oldest."""
        if len(self) == self.capacity:
            self._ranked.remove(self._in_order.popleft())
        self._in_order.append(base_fee)
        self._ranked.add(base_fee)

    def prepend(self, older: Sequence[Wei]) -> None:
        """Add base fees (oldest first) in front of the oldest one, as far as there is room."""
        room = self.capacity - len(self)
        kept = older[-room:] if room else ()
        self._in_order.extendleft(reversed(kept))
        self._ranked.add_all(kept)

    def truncate(self, count: int) -> None:
        """Remove the newest `count` base fees, whose blocks were replaced."""
        for _ in range(min(count, len(self))):
            self._ranked.remove(self._in_order.pop())

    def percentile(self, percent: Fraction | int) -> Wei:
        """Return the nearest-rank percentile; an empty window raises ValueError."""
        return self._ranked.percentile(percent)

    def congestion(self, latest: Wei) -> float:
        """Return the share (0 to 1) of the window that lies below `latest`; 0 when empty."""
        if not len(self):
            return 0.0
        return self._ranked.below(latest) / len(self)


class TimedFees:
    """Fees by time (milliseconds); those from `since` to `until`, both included, are ranked.

    `ranked` may contain other fees too. A fee after `until` is ranked once `until` reaches it; a
    fee before `since` is dropped. Here a fee takes sixteen bytes: a worker holds an hour of each
    network, and a day of one whose base fee does not move.
    """

    __slots__ = ("_fees", "_ranked", "_times", "since", "until")

    def __init__(
        self, ranked: RankedFees, values: Iterable[TimedFee], since: int, until: int
    ) -> None:
        """Start with values, none of which is older than `since`."""
        self.since, self.until = since, until
        self._ranked = ranked
        in_order = sorted(values)
        self._times = array("q", (each.at for each in in_order))
        self._fees = array("q", (each.fee for each in in_order))
        ranked.add_all(map(Wei, self._fees[: self._after(until)]))

    @property
    def first_at(self) -> int | None:
        """When the oldest ranked fee was seen; None if no fee is ranked."""
        return self._times[0] if self._after(self.until) else None

    def move(self, since: int, until: int) -> None:
        """Move the bounds forward; ValueError if they would move back: older fees are gone."""
        if since < self.since or until < self.until:
            raise ValueError("a window of fees moves with the time, never back")
        was, begin, end = self._after(self.until), self._after(since - 1), self._after(until)
        for fee in self._fees[: min(begin, was)]:
            self._ranked.remove(Wei(fee))
        for fee in self._fees[max(begin, was) : end]:
            self._ranked.add(Wei(fee))
        del self._times[:begin], self._fees[:begin]
        self.since, self.until = since, until

    def add(self, value: TimedFee) -> None:
        """Add a fee, unless it is too old.

        ValueError if it would become the oldest one, or if its time is taken. This way the oldest
        fee always shows whether somebody deleted older ones.
        """
        if value.at < self.since:
            return
        place = self._after(value.at)
        if self._times and (not place or self._times[place - 1] == value.at):
            raise ValueError(f"{value} is older than all that is held, or its time is taken")
        self._times.insert(place, value.at)
        self._fees.insert(place, value.fee)
        if value.at <= self.until:
            self._ranked.add(value.fee)

    def remove(self, value: TimedFee) -> None:
        """Remove a fee, unless it is too old; ValueError if it is missing."""
        if value.at < self.since:
            return
        place = bisect_left(self._times, value.at)
        if (*self._times[place : place + 1], *self._fees[place : place + 1]) != value[:2]:
            raise ValueError(f"{value} is not held")
        del self._times[place], self._fees[place]
        if value.at <= self.until:
            self._ranked.remove(value.fee)

    def _after(self, at: int) -> int:
        """Return the index of the first fee after a time."""
        return bisect_right(self._times, at)
