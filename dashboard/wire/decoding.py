"""Typed decoding of JSON, TOML, timestamps and headers: whatever is wrong becomes an error."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import EnumType
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

import msgspec

from dashboard.domain.quantity import shorten
from dashboard.errors import WireError

T = TypeVar("T")
Given = TypeVar("Given")

UNREADABLE: Final = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
"""Every error of msgspec on hostile text: bad JSON or types, deep nesting, bad UTF-8."""

_LONG_KEY: Final = re.compile(
    r"""(?<![\w.\\-])(?:(?>[\w-]+|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}"""
)
"""A dotted key of more than 32 parts: parsing it takes memory quadratic in their number."""


_DEEPEST: Final = 20
_TOO_DEEP: Final = f"its tables or lists are more than {_DEEPEST} deep"
_LARGEST_NUMBER: Final = 256
"""Bits."""


def read_toml(text: str) -> dict[str, Any]:
    """Parse TOML; ValueError says what is wrong.

    Text that no person writes is refused too: deeply nested tables, and numbers of a thousand
    digits.
    """
    if _LONG_KEY.search(text):
        raise ValueError("a key has more than 32 parts")
    try:
        table = tomllib.loads(text)
    except RecursionError:  # the depth depends on the process; our own bound is lower
        raise ValueError(_TOO_DEEP) from None
    if trouble := _trouble_in(table):
        raise ValueError(trouble)
    return table


def _trouble_in(table: dict[str, Any]) -> str:
    """Say what no person would write; empty if there is nothing like that."""
    level: list[object] = [table]
    for _ in range(_DEEPEST):
        if any(isinstance(each, int) and each.bit_length() > _LARGEST_NUMBER for each in level):
            return f"it holds a number of more than {_LARGEST_NUMBER} bits"
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return ""
    return _TOO_DEEP


def read(decoder: msgspec.json.Decoder[T], text: bytes | msgspec.Raw, subject: str) -> T:
    """Decode `text`, or raise a WireError that begins with `subject`.

    The rest of the message gives the path and the type found there, never the value. If members
    have the same name, the last one counts.
    """
    try:
        return decoder.decode(text)
    except UNREADABLE as error:
        raise WireError(f"{subject}: {error}") from error


def named(subject: str, decode: Callable[[Given], T], given: Given) -> T:
    """Decode `given`; a WireError's message then begins with `subject`."""
    try:
        return decode(given)
    except WireError as error:
        raise WireError(f"{subject}: {error}") from error


LONGEST_RETRY_AFTER: Final = timedelta(minutes=5)
"""The longest wait that is obeyed: one answer must not silence a source for long."""


_TYPES: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "datetime": "a date with a time",
}
_PARTS: Final = {"str": "characters", "array": "items", "object": "entries"}
_MISTAKE: Final = re.compile(
    r"Expected `(?P<types>[^`]+)`(?P<limit>.*?)(?:, got `(?P<got>\w+)`)?(?: - at `(?P<place>.+)`)?",
    re.DOTALL,
)
_LIMITS: Final = tuple(
    (re.compile(pattern, re.DOTALL), words)
    for pattern, words in (
        (r" >= (.+)", " of at least {}"),
        (r" <= (.+)", " of at most {}"),
        (r" of length >= 1", " that is not empty"),
        (r" of length >= (.+)", " of at least {} {parts}"),
        (r" of length <= (.+)", " of at most {} {parts}"),
        (r" of length (\d+), got (\d+)", " of {} {parts}, not {}"),
        (r" matching regex '(.+)'", " of the form {}"),
        (r" with a timezone component", " and an offset from UTC"),
        (r"(.*)", "{}"),
    )
)


_FORM: Final = re.compile(
    r"Invalid (?P<what>RFC3339 encoded datetime|UUID)(?: - at `\$\.(?P<place>.+)`)?"
)
_FORMS: Final = {
    "RFC3339 encoded datetime": "a moment with an offset, such as 2026-11-20T12:00:00Z",
    "UUID": "an id of 32 hexadecimal digits",
}
_WORD: Final = re.compile(r"Invalid enum value (?P<value>.+) - at `\$\.(?P<place>.+)`", re.DOTALL)


def in_plain_words(message: str, kind: object = None, table: str = "an object") -> str:
    """Say in plain English what msgspec expected; `kind` is the type, if known.

    "Expected `int` >= 10 - at `$.burst`" becomes "expected a whole number of at least 10 in burst".
    """
    is_wrong_word = message.startswith("Invalid enum value") or get_origin(kind) is Literal
    if is_wrong_word and (known := _choices_of(kind)):
        if at := _WORD.fullmatch(message):
            value = shorten(at["value"][1:-1])
            return f"expected one of {', '.join(known)} in {at['place']}, not {value}"
        return f"choose one of {', '.join(known)}"
    if another := _FORM.fullmatch(message):
        what, where = another.groups()
        return f"expected {_FORMS[what]}{f' in {where}' if where else ''}"
    found = _MISTAKE.fullmatch(message)
    if found is None:
        return message[:1].lower() + message[1:]
    if " matching regex " in message and (form := _described(kind)):
        return f"expected {form}"
    names = _TYPES | {"object": table}
    types = found["types"].split(" | ")
    limit = next(
        words.format(*match.groups(), parts=_PARTS.get(types[0], ""))
        for pattern, words in _LIMITS
        if (match := pattern.fullmatch(found["limit"])) is not None
    )
    got = f", not {names.get(found['got'], found['got'])}" if found["got"] else ""
    place = found["place"].removeprefix("$").removeprefix(".") if found["place"] else ""
    expected = " or ".join(names.get(each, each) for each in types)
    return f"expected {expected}{limit}{got}{f' in {place}' if place else ''}"


def _choices_of(kind: object) -> tuple[str, ...]:
    """Return the values of an enumeration, or of a list or a table of them."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    if isinstance(kind, EnumType):
        return tuple(kind)
    return next(filter(None, map(_choices_of, get_args(kind))), ())


def _described(kind: object) -> str:
    """Return the description of a type's pattern."""
    parts = get_args(kind)
    found = (
        each.description if isinstance(each, msgspec.Meta) else _described(each) for each in parts
    )
    return next(filter(None, found), "")


def parse_retry_after(text: str, date: str) -> timedelta | None:
    """Return the wait, for a date relative to the server's own `date`; None if it is invalid."""
    wanted = text.strip()
    if wanted.isascii() and wanted.isdigit():
        return min(timedelta(seconds=int(wanted[:9])), LONGEST_RETRY_AFTER)
    try:
        wait = parsedate_to_datetime(wanted) - parsedate_to_datetime(date)
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(wait, timedelta(0)), LONGEST_RETRY_AFTER)


_ISO_8601: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt](?:[01]\d|2[0-3]):\d\d(?::\d\d(?:\.\d{1,9})?)?"
    r"(?:[Zz]|[+-]\d\d(?::?[0-5]\d)?)",
    re.ASCII,
)


def parse_timestamp(text: str) -> datetime:
    """Parse a date-time as UTC; finer digits than milliseconds are truncated, never rounded.

    WireError for leap seconds, 24:00, week dates, missing offsets and moments outside the years 1
    to 9999.
    """
    if _ISO_8601.fullmatch(text) is None:
        raise WireError(f"{shorten(text)} is not an ISO-8601 date-time with zone or offset")
    try:
        moment = datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise WireError(f"{shorten(text)} is not a time that exists: {error}") from error
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def format_timestamp(moment: datetime) -> str:
    """Format a moment in UTC with ``Z``, and three decimals unless the milliseconds are zero."""
    naive = moment.astimezone(UTC).replace(tzinfo=None)
    return f"{naive.isoformat(timespec='milliseconds').removesuffix('.000')}Z"
