"""What numbers, times and hashes look like on a page."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from dashboard.domain.quantity import TxHash, Wei, format_gwei

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_EXACT_BELOW: Final = 90
_SIGNIFICANT: Final = 5
_SMALL_DECIMALS: Final = 6
_UNITS: Final = ((10**9, "gwei", 10**6), (10**3, "kwei", 10**4), (1, "wei", 0))
"""Wei per unit, its name, and the least fee in wei that is shown in it."""


def age(since: datetime, now: datetime) -> str:
    """Say how long ago something was true, such as ``12 s ago`` or ``3 h ago``."""
    seconds = (now - since).total_seconds()
    if seconds <= -1:
        return f"in {span(timedelta(seconds=-seconds))}"
    return "just now" if seconds < 1 else f"{span(timedelta(seconds=seconds))} ago"


def span(length: timedelta) -> str:
    """Say a length of time in its one fitting unit, rounded down."""
    seconds = int(length.total_seconds())
    if seconds < _EXACT_BELOW:
        return f"{seconds} s"
    if seconds < _EXACT_BELOW * _MINUTE:
        return f"{seconds // _MINUTE} min"
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR} h"
    return f"{seconds // _DAY} days"


def moment(at: datetime) -> str:
    """Print a moment to the second, in UTC."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def moment_near(at: datetime, now: datetime) -> str:
    """Print a moment in UTC, without its date if that is today's."""
    return f"{at:%H:%M:%S} UTC" if at.date() == now.date() else f"{at:%d %b %H:%M} UTC"


def unit_of(largest: Wei) -> tuple[int, str]:
    """Return the unit in which fees up to `largest` read best, as wei per unit and its name."""
    return next((wei_per_unit, name) for wei_per_unit, name, least in _UNITS if largest >= least)


def fee(wei: Wei) -> tuple[str, str]:
    """Print a fee to about five digits in the unit that fits, as number and unit."""
    wei_per_unit, name = unit_of(wei)
    if wei_per_unit == 1:
        return f"{wei:,}", name
    whole = wei // wei_per_unit
    decimals = max(0, _SIGNIFICANT - len(str(whole))) if whole else _SMALL_DECIMALS
    scaled = (wei * 10**decimals + wei_per_unit // 2) // wei_per_unit
    whole, rest = divmod(scaled, 10**decimals)
    return f"{whole:,}.{rest:0{decimals}d}" if decimals else f"{whole:,}", name


def exact_fee(wei: Wei) -> str:
    """Print a fee with every digit it has, for a tooltip."""
    return f"{format_gwei(wei)} gwei ({wei:,} wei)"


def share(part: float) -> str:
    """Print a share of 0 to 1 as per cent."""
    return f"{part:.0%}"


def short_hash(tx_hash: TxHash) -> str:
    """Print the ends of a hash, enough to tell it from others in a list."""
    text = str(tx_hash)
    return f"{text[:10]}…{text[-6:]}"


def sentence(message: str) -> str:
    """Return a message as a sentence: with a full stop, unless it ends with a mark of its own."""
    return message if message.endswith((".", "!", "?", "…")) else f"{message}."
