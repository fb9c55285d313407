"""When a network is cheap: its fee by weekday and hour, its cheapest hours, and week over week."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from statistics import median_low
from typing import Final, NamedTuple

from msgspec import Struct

from dashboard.domain.fees.busy_spells import difference_in_words
from dashboard.domain.formatting import fee as printed
from dashboard.domain.formatting import span
from dashboard.domain.quantity import Wei

CHEAP_LENGTH: Final = 3
"""The number of consecutive hours to look for."""

WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_FEWEST: Final = 3
"""With fewer hours, nothing is said about a weekday and hour, or about an hour of the day."""
_FEWEST_OF_WEEK: Final = 72
_HOURS: Final = 24
_CLEARLY: Final = 0.05
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_WEEK: Final = timedelta(days=7)


class HourFee(NamedTuple):
    """The median fee of one hour, in wei, and when that hour began."""

    begins_at: datetime
    fee: int


class CheapHours(Struct, frozen=True):
    """The cheapest consecutive hours of the day.

    They begin at `hour`:`minute`. Three of four such hours cost at most `below`, which differs from
    the median of all hours by `difference`: -0.2 is a fifth below.
    """

    hour: int
    minute: int
    below: Wei
    difference: float

    @property
    def is_clear(self) -> bool:
        """Whether they are cheap enough to be worth waiting for."""
        return self.difference <= -_CLEARLY

    @property
    def hours(self) -> str:
        """Their beginning and end, such as ``03:00 to 06:00``."""
        ends = (self.hour + CHEAP_LENGTH) % _HOURS
        return f"{self.hour:02}:{self.minute:02} to {ends:02}:{self.minute:02}"

    @property
    def compared(self) -> str:
        """How they compare with all hours, such as ``18% below``."""
        return _compared(self.difference)

    def in_words(self, now: datetime, zone: tzinfo, zone_name: str) -> str:
        """Say which hours are cheapest, and when they begin again."""
        if not self.is_clear:
            return (
                f"No hours of the day are clearly cheaper: in the cheapest three, {self.hours} "
                f"{zone_name}, it is usually below {' '.join(printed(self.below))}, "
                f"{self.compared} the median of all hours."
            )
        return (
            f"Usually below {' '.join(printed(self.below))} from {self.hours} {zone_name} "
            f"({self.when(now, zone)}). That is {self.compared} the median of all hours."
        )

    def when(self, now: datetime, zone: tzinfo) -> str:
        """Say how soon they begin, or that they have begun."""
        local = now.astimezone(zone)
        begins = local.replace(hour=self.hour, minute=self.minute, second=0, microsecond=0)
        if begins > local:
            begins -= _DAY
        if begins + CHEAP_LENGTH * _HOUR <= local:
            begins += _DAY
        return "now" if begins <= local else f"next in {span(begins.astimezone(UTC) - now)}"


class WeekChange(Struct, frozen=True):
    """The median fee of the last seven days, and of the seven days before."""

    this: Wei
    last: Wei

    def in_words(self) -> str:
        """Compare the last seven days with those before."""
        this, last = (" ".join(printed(each)) for each in (self.this, self.last))
        compared = _compared((self.this - self.last) / self.last) if self.last else "after"
        return (
            f"the median of the last 7 days is {this}, {compared} the {last} of the 7 days before."
        )


class UsualWeek(Struct, frozen=True):
    """The usual fee of each hour of the week, in a time zone.

    `fees` has a row for each weekday, Monday first, with the median of each hour of the day; None
    if fewer than three such hours are known. Hours begin at `minute`, which is zero in most zones.
    `days` counts the days with any fee. `this_hour` holds the fees at the current hour of the day
    on earlier days.
    """

    fees: tuple[tuple[Wei | None, ...], ...]
    minute: int
    days: int
    cheapest: CheapHours | None
    this_hour: tuple[int, ...]
    weeks: WeekChange | None

    @property
    def is_known(self) -> bool:
        """Whether the median of any hour is known."""
        return any(each is not None for row in self.fees for each in row)

    def beside_now(self, fee: Wei) -> str | None:
        """Say on how many days the fee was lower at this hour; None if too few days are known."""
        if len(self.this_hour) < _FEWEST:
            return None
        below = sum(each < fee for each in self.this_hour)
        than = "higher than at this hour on"
        how = f"{than} {below}" if below else f"no {than} any"
        return f"The fee now, {' '.join(printed(fee))}, is {how} of {len(self.this_hour)} days."


def usual_week(hours: Sequence[HourFee], zone: tzinfo, now: datetime) -> UsualWeek:
    """Summarise past hours, each given once, in a time zone."""
    by_weekday: dict[tuple[int, int], list[int]] = {}
    by_hour: dict[int, list[int]] = {}
    days = set()
    for begins_at, fee in hours:
        local = begins_at.astimezone(zone)
        by_weekday.setdefault((local.weekday(), local.hour), []).append(fee)
        by_hour.setdefault(local.hour, []).append(fee)
        days.add(local.date())
    begun = now.replace(minute=0, second=0, microsecond=0).astimezone(zone)
    rows = (
        tuple(_median(by_weekday.get((weekday, hour), ())) for hour in range(_HOURS))
        for weekday in range(len(WEEKDAYS))
    )
    return UsualWeek(
        tuple(rows),
        begun.minute,
        len(days),
        _cheapest(by_hour, begun.minute),
        tuple(by_hour.get(begun.hour, ())),
        _weeks(hours, now),
    )


def _median(fees: Sequence[int]) -> Wei | None:
    return Wei(median_low(fees)) if len(fees) >= _FEWEST else None


def _cheapest(by_hour: dict[int, list[int]], minute: int) -> CheapHours | None:
    """Return the consecutive hours with the lowest 75th percentile; None unless all are known."""
    if any(len(by_hour.get(hour, ())) < _FEWEST for hour in range(_HOURS)):
        return None
    in_a_row = [
        sorted(fee for each in range(CHEAP_LENGTH) for fee in by_hour[(hour + each) % _HOURS])
        for hour in range(_HOURS)
    ]
    usually = [Wei(fees[-(-3 * len(fees) // 4) - 1]) for fees in in_a_row]
    hour = min(range(_HOURS), key=lambda each: (usually[each], median_low(in_a_row[each])))
    of_all = median_low(fee for each in by_hour.values() for fee in each)
    difference = (usually[hour] - of_all) / of_all if of_all else 0.0
    return CheapHours(hour, minute, usually[hour], difference)


def _weeks(hours: Sequence[HourFee], now: datetime) -> WeekChange | None:
    """Compare two weeks; None unless at least three days of each are known."""
    this = [fee for begins_at, fee in hours if now - _WEEK <= begins_at]
    last = [fee for begins_at, fee in hours if now - 2 * _WEEK <= begins_at < now - _WEEK]
    if min(len(this), len(last)) < _FEWEST_OF_WEEK:
        return None
    return WeekChange(Wei(median_low(this)), Wei(median_low(last)))


def _compared(difference: float) -> str:
    """Describe a difference, to be followed by what it refers to, such as ``18% below``."""
    words = difference_in_words(difference)
    return "as high as" if words == "as usual" else words.removesuffix(" usual")
