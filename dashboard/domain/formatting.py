"""How times, durations, sizes and fees are formatted for people, and parsed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from dashboard.domain.quantity import (
    LARGEST_FEE,
    NetworkId,
    TxHash,
    Wei,
    format_gwei,
    parse_gwei,
    shorten,
)
from dashboard.errors import InputError, WireError

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_MINUTES_BELOW: Final = 2 * _HOUR
_SIGNIFICANT: Final = 4
_FEW_DIGITS: Final = 3
_UNITS: Final = ((10**9, "gwei", 10**6), (10**3, "kwei", 10**4), (1, "wei", 0))
"""Wei per unit, its name, and the smallest fee in wei that is shown in it."""
_DIGITS: Final = re.compile("[0-9]+")
_MOST_DIGITS: Final = 20
_SIZES: Final = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def span(length: timedelta) -> str:
    """Format a duration in one suitable unit, rounded down; minutes begin at 60 s.

    A difference of less than a twentieth of a second between two clocks is ignored.
    """
    seconds = int(round(length.total_seconds(), 1))
    if seconds < _MINUTE:
        return f"{seconds} s"
    if seconds < _MINUTES_BELOW:
        return f"{seconds // _MINUTE} min"
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR} h"
    return f"{seconds // _DAY} days"


def period(length: timedelta) -> str:
    """Format how often something is due, with seconds if the period is short: ``1 min 15 s``."""
    seconds = length.total_seconds()
    if seconds < _MINUTE:
        return f"{seconds:g} s"
    rest = int(seconds) % _MINUTE if seconds < _MINUTES_BELOW else 0
    return f"{span(length)} {rest} s" if rest else span(length)


_YEARS: Final = range(2, 9999)


def is_far_off(at: datetime) -> bool:
    """Whether a moment is so early or so late that it may not exist in another time zone."""
    return at.year not in _YEARS


def moment(at: datetime) -> str:
    """Format a moment to the second, in UTC."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def moment_in(at: datetime, zone: tzinfo) -> str:
    """Format a moment in UTC and, if its clock differs, in a zone.

    A far-off moment, which a hostile node may claim, is given in UTC only.
    """
    local = at if is_far_off(at) else at.astimezone(zone)
    if not local.utcoffset():
        return moment(at)
    is_same_day = local.date() == at.astimezone(UTC).date()
    shown = f"{local:%H:%M:%S}" if is_same_day else f"{local:%Y-%m-%d %H:%M:%S}"
    return f"{moment(at)} ({shown} in {zone})"


def from_to(begin: datetime, end: datetime) -> str:
    """Format the beginning and the end of a time, to the second, in UTC."""
    if begin.astimezone(UTC).date() == end.astimezone(UTC).date():
        return f"from {begin:%H:%M:%S} to {end:%H:%M:%S} UTC"
    return f"from {begin:%Y-%m-%d %H:%M:%S} to {end:%Y-%m-%d %H:%M:%S} UTC"


def unit_of(largest: Wei) -> tuple[int, str]:
    """Return the unit that suits fees up to `largest`: its wei, and its name."""
    return next((wei_per_unit, name) for wei_per_unit, name, least in _UNITS if largest >= least)


def fee(wei: Wei) -> tuple[str, str]:
    """Format a fee with at most four significant digits in a suitable unit, as number and unit."""
    wei_per_unit, name = unit_of(wei)
    decimals = _decimals(wei, wei_per_unit, _SIGNIFICANT)
    return _bare(_number(wei, wei_per_unit, decimals)), name


def compared(first: Wei, second: Wei) -> tuple[str, str, str]:
    """Format two fees in one unit, as two numbers and the unit, with few digits.

    Different fees get enough digits to show the difference.
    """
    largest = max(first, second)
    wei_per_unit, name = unit_of(largest)
    decimals = _decimals(largest, wei_per_unit, _FEW_DIGITS)
    while True:
        one, other = (_bare(_number(each, wei_per_unit, decimals)) for each in (first, second))
        if one != other or first == second:
            return one, other, name
        decimals += 1


def _decimals(wei: Wei, wei_per_unit: int, digits: int) -> int:
    """Return how many decimals show so many significant digits of a fee in a unit."""
    most = len(str(wei_per_unit)) - 1
    return min(most, max(0, digits - len(str(wei)) + most))


def _number(wei: Wei, wei_per_unit: int, decimals: int) -> str:
    """Format a fee in a unit with so many decimals, rounded half up."""
    scaled: int = (wei * 10**decimals + wei_per_unit // 2) // wei_per_unit
    whole, rest = divmod(scaled, 10**decimals)
    return f"{whole:,}.{rest:0{decimals}d}" if decimals else f"{whole:,}"


def _bare(number: str) -> str:
    """Remove trailing zeros after the decimal point."""
    return number.rstrip("0").rstrip(".") if "." in number else number


def capitalized(text: str) -> str:
    """Capitalise the first letter only, but not of a name such as ``serve.port`` or a host."""
    first = text.partition(" ")[0].rstrip(".")
    return text if "." in first else text[:1].upper() + text[1:]


def uncapitalized(text: str) -> str:
    """Write the first letter small, as within a sentence."""
    return text[:1].lower() + text[1:]


def counted(many: int, one: str, several: str = "") -> str:
    """Format a number with its noun: ``1 row``, ``1,200 rows``; the default plural adds an s."""
    return f"{many:,} {one if many == 1 else several or f'{one}s'}"


def listed(words: Sequence[str]) -> str:
    """Join words: ``a``, ``a and b``, ``a, b and c``."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def short_hash(tx_hash: TxHash) -> str:
    """Shorten a hash to its ends, enough to recognise it: ``0x348e0630…d4a388``."""
    text = str(tx_hash)
    return f"{text[:10]}…{text[-6:]}"


def unnamed_network(network_id: NetworkId) -> str:
    """Return the name of a network that is not configured, or no longer."""
    return f"network {network_id}"


def name_order(name: str) -> str:
    """Return what names sort by, as people count: Chain 2 comes before Chain 10."""
    return _DIGITS.sub(lambda found: found[0].zfill(_MOST_DIGITS), name.casefold())


def share(part: float) -> str:
    """Format a share of 0 to 1 as a percentage."""
    return f"{part:.0%}"


def share_or_less(part: float) -> str:
    """Format a share; it is 0% only if it is exactly zero."""
    return "less than 1%" if part > 0 and share(part) == share(0.0) else share(part)


def size(octets: int) -> str:
    """Format a number of bytes in a suitable unit."""
    for unit, name in _SIZES:
        if octets >= unit:
            return f"{octets / unit:,.1f} {name}"
    return f"{octets} bytes"


LONGEST: Final = timedelta(days=36_500)
"""The longest duration: the present time plus this is still a valid date."""

_PART: Final = re.compile(r"(\d{1,9}) ?([A-Za-z]{1,12})", re.ASCII)
_DURATION: Final = re.compile(rf"{_PART.pattern}(?:(?:,| and)? ?{_PART.pattern})*", re.ASCII)
_WRITTEN_UNITS: Final = {
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}
_UNITS_BY_NAME: Final = {
    name: length
    for length, names in (
        (timedelta(days=365), "y year years"),
        (timedelta(weeks=1), "w week weeks"),
        (timedelta(days=1), "d day days"),
        (timedelta(hours=1), "h hr hrs hour hours"),
        (timedelta(minutes=1), "m min mins minute minutes"),
        (timedelta(seconds=1), "s sec secs second seconds"),
        (timedelta(milliseconds=1), "ms millisecond milliseconds"),
    )
    for name in names.split()
}
LENGTH_EXAMPLES: Final = "30s, 5 min or 1h 30m"
"""Examples for the message that refuses a text."""

_FEE: Final = re.compile(r"([\d.]{1,30}) ?(gwei|wei)", re.ASCII)
_SHOWN_AS_GWEI: Final = 10**6


def read_duration(text: object, most: timedelta = LONGEST) -> timedelta | None:
    """Parse a duration as people write it: 250ms, 4s, 90 s, 5 min, 2 hours, 1h 30m, 7d, 1y.

    None for any other form. InputError, naming `most`, if it is longer.
    """
    written = text.strip() if isinstance(text, str) else ""
    parts = _PART.findall(written) if _DURATION.fullmatch(written) else []
    units = [_unit(name) for _, name in parts]
    if not units or not all(units) or units != sorted({*units}, reverse=True):
        return None
    length = timedelta()
    for (count, _), unit in zip(parts, units, strict=True):
        if int(count) > (most - length) // unit:
            raise InputError(f"{written} is too long; write at most {write_duration(most)}")
        length += int(count) * unit
    return length


def _unit(name: str) -> timedelta:
    """Return a unit, zero for an unknown name; M is unknown, since it may mean months."""
    return _UNITS_BY_NAME.get(name if len(name) == 1 else name.lower(), timedelta())


def write_duration(length: timedelta) -> str:
    """Format a duration of whole milliseconds in the largest unit that is exact."""
    if not length:
        return "0s"
    name, unit = next(each for each in _WRITTEN_UNITS.items() if length % each[1] == timedelta())
    return f"{length // unit}{name}"


def read_fee(text: object) -> Wei:
    """Parse a fee with its unit exactly: 1.5gwei, 7wei; InputError says what is expected."""
    match = _FEE.fullmatch(text) if isinstance(text, str) else None
    if match is not None:
        try:
            fee = parse_gwei(match[1]) if match[2] == "gwei" else Wei(int(match[1]))
        except (WireError, ValueError):
            pass
        else:
            if fee <= LARGEST_FEE:
                return fee
    msg = f"{shorten(str(text))} is not a fee; write an amount and a unit: 1.5gwei or 7wei"
    raise InputError(msg)


def fee_in_full(fee: Wei) -> tuple[str, str]:
    """Format a fee with all its digits, as number and unit."""
    return (format_gwei(fee), "gwei") if fee >= _SHOWN_AS_GWEI else (str(fee), "wei")


def write_fee(fee: Wei) -> str:
    """Format a fee so that `read_fee` reads the same."""
    return "".join(fee_in_full(fee))
