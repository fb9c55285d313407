"""Durations and fees as people write them in files and commands, read and written exactly."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from dashboard.domain.quantity import LARGEST_FEE, Wei, format_gwei, parse_gwei, shorten
from dashboard.errors import InputError, WireError

LONGEST: Final = timedelta(days=36_500)
"""The longest duration: any clock can count on so far."""

_DURATION: Final = re.compile(r"(\d{1,9})(ms|s|m|h|d|y)", re.ASCII)
_UNITS: Final = {
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}
_YEAR: Final = timedelta(days=365)
_FEE: Final = re.compile(r"([\d.]{1,30}) ?(gwei|wei)", re.ASCII)
_SHOWN_AS_GWEI: Final = 10**6


def read_duration(text: object) -> timedelta | None:
    """Read a whole number and a unit: 250ms, 4s, 15m, 2h, 7d, 1y; None for any other form.

    InputError for more than a hundred years.
    """
    match = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    count, unit = int(match[1]), _UNITS.get(match[2], _YEAR)
    if count > LONGEST // unit:
        msg = f"{match[0]} is more than a hundred years; write at most {LONGEST.days}d"
        raise InputError(msg)
    return count * unit


def write_duration(length: timedelta) -> str:
    """Write a duration of whole milliseconds in the largest unit that holds it exactly."""
    if not length:
        return "0s"
    name, unit = next(each for each in _UNITS.items() if length % each[1] == timedelta())
    return f"{length // unit}{name}"


def read_fee(text: object) -> Wei:
    """Read a fee with its unit exactly: 1.5gwei, 7wei; InputError says what is expected."""
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


def write_fee(fee: Wei) -> str:
    """Write a fee so that `read_fee` reads the same."""
    return f"{format_gwei(fee)}gwei" if fee >= _SHOWN_AS_GWEI else f"{fee}wei"
