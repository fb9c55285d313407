"""Read single values of a rule's table; InputError says what is wrong with one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final, TypeVar

from dashboard.domain.formatting import LENGTH_EXAMPLES, is_far_off, read_duration
from dashboard.domain.quantity import shorten
from dashboard.errors import InputError

MOST_ITEMS: Final = 1_000
"""The longest list in a rule."""

_Word = TypeVar("_Word", bound=StrEnum)


def items(written: object) -> list[object]:
    if not isinstance(written, list | tuple) or not written:
        raise InputError(f"is {shorten(str(written))}: write a list of one or more in brackets")
    if len(written) > MOST_ITEMS:
        raise InputError(f"holds {len(written):,}: write at most {MOST_ITEMS:,}")
    if len(set(map(str, written))) < len(written):
        raise InputError("holds one twice: write each once")
    return list(written)


def text_of(written: object) -> str:
    if not isinstance(written, str) or not written.strip():
        raise InputError(f"is {shorten(str(written))}: write some text in quotes")
    return written


def flag(written: object) -> bool:
    if not isinstance(written, bool):
        raise InputError(f"is {shorten(str(written))}: write true or false")
    return written


def word(kind: type[_Word]) -> Callable[[object], _Word]:
    def read(written: object) -> _Word:
        for each in kind:
            if isinstance(written, str) and written.lower() == each.value.lower():
                return each
        raise InputError(f"is {shorten(str(written))}: choose one of {listed(kind)}")

    return read


def words(kind: type[_Word]) -> Callable[[object], tuple[_Word, ...]]:
    return lambda written: tuple(map(word(kind), items(written)))


def listed(kind: Iterable[StrEnum]) -> str:
    return ", ".join(each.value for each in kind)


def duration(written: object) -> timedelta:
    length = read_duration(written)
    if length is None:
        raise InputError(
            f"is {shorten(str(written))}: write a number and a unit, such as {LENGTH_EXAMPLES}"
        )
    return length


def moment(written: object) -> datetime:
    try:
        at = datetime.fromisoformat(str(written))
    except ValueError:
        at = None
    if at is None or at.tzinfo is None or is_far_off(at):
        raise InputError(
            f"is {shorten(str(written))}: write a moment and its offset from UTC, such as "
            "2026-11-27T07:00:00Z"
        )
    return at.astimezone(UTC).replace(microsecond=0)


def write_moment(at: datetime) -> str:
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def positive_duration(written: object) -> timedelta:
    length = duration(written)
    if not length:
        raise InputError(f"is {written}: write more than zero, or leave the key out")
    return length
