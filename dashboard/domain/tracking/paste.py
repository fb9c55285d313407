"""What people paste and write about transactions: hashes in any text, times, notes and tags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice
from typing import Final

from dashboard.domain.formatting import counted, is_far_off
from dashboard.domain.markup import visible
from dashboard.domain.quantity import TxHash, shorten
from dashboard.errors import InputError

MOST_LOOKED_UP: Final = 10_000
"""Transactions of one look-up."""

LONGEST_PASTE: Final = 4_000_000
"""Characters of one look-up: 400 for each transaction."""

MOST_PIECES: Final = 100_000
"""Hashes and pieces that are none, of one text; what has more is no list of transactions."""

_FILLING: Final = " \t,;\"'"
"""What a line may hold beside anything of use."""

_HASH: Final = re.compile(r"(?<![0-9a-zA-Z])(?:0[xX])?([0-9a-fA-F]{64})(?![0-9a-zA-Z])", re.ASCII)
_ADDRESS: Final = re.compile(r"(?:0[xX])?[0-9a-fA-F]{40}", re.ASCII)
_ATTEMPT: Final = re.compile(
    r"(?<![0-9a-zA-Z])0[xX][0-9a-zA-Z]*(?:(?:…|\.\.\.)[0-9a-fA-F]*)?", re.ASCII
)
_NO_HASH: Final = "holds no transaction hash"
_LIKE_A_HASH: Final = re.compile(r"0[xX]|[0-9a-fA-F]{6}|…|\.\.\.", re.ASCII)
_PART: Final = re.compile(r"[0-9a-fA-F]*(?:…|\.\.\.)[0-9a-fA-F]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class WrongText:
    """A piece of a paste that holds no hash; `line` counts from 1, `text` is as it was given."""

    line: int
    text: str
    why: str

    @property
    def is_prose(self) -> bool:
        """Whether nothing in it looks like a hash or a part of one, as in a greeting."""
        return self.why == _NO_HASH and not _LIKE_A_HASH.search(self.text)


@dataclass(frozen=True, slots=True)
class Paste:
    """What a paste holds: each hash once in the order given, and what could not be used."""

    hashes: tuple[TxHash, ...] = ()
    repeated: int = 0
    wrong: tuple[WrongText, ...] = ()


def read_lookup(text: str) -> Paste:
    """Read what to look up; InputError says how much it is if it is too much for once."""
    if len(text) > LONGEST_PASTE:
        raise InputError(
            f"the text has {len(text):,} characters: give at most {LONGEST_PASTE:,} at once"
        )
    paste = read_paste(text)
    if len(paste.hashes) > MOST_LOOKED_UP:
        raise InputError(
            f"the text holds {len(paste.hashes):,} transaction hashes: "
            f"give at most {MOST_LOOKED_UP:,} at once"
        )
    return paste


def read_paste(text: str) -> Paste:
    """Find hashes between commas, blanks, quotes and inside explorer links.

    Other columns of a line that holds a hash (an address, an amount, a name) are passed over;
    what begins like a hash and is none is named, and so is a line without any hash. InputError
    beyond `MOST_PIECES`: each piece that is named takes memory.
    """
    found: list[TxHash] = []
    wrong: list[WrongText] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip(_FILLING):
            continue
        hashes = [TxHash(bytes.fromhex(match[1])) for match in _HASH.finditer(line)]
        found += hashes
        room = MOST_PIECES - len(found) - len(wrong)
        wrong += islice(_wrong_pieces(number, line, has_hash=bool(hashes)), max(room, 0) + 1)
        if len(found) + len(wrong) > MOST_PIECES:
            raise InputError(too_many_pieces())
    hashes_once = tuple(dict.fromkeys(found))
    return Paste(hashes_once, len(found) - len(hashes_once), tuple(wrong))


def too_many_pieces() -> str:
    """Say that a text is too much for once."""
    return (
        f"the text has more than {MOST_PIECES:,} hashes and other pieces: "
        f"give at most {MOST_LOOKED_UP:,} transactions at once"
    )


def _wrong_pieces(number: int, line: str, *, has_hash: bool) -> Iterator[WrongText]:
    found = _ATTEMPT.finditer(_HASH.sub(" ", line))
    attempts = [match[0] for match in islice(found, MOST_PIECES + 1)]
    attempts = [text for text in attempts if not (has_hash and _ADDRESS.fullmatch(text))]
    for text in attempts:
        yield WrongText(number, text, _why_no_hash(text))
    if not has_hash and not attempts:
        yield WrongText(number, line.strip(), _NO_HASH)


def _why_no_hash(text: str) -> str:
    if _ADDRESS.fullmatch(text):
        return "is an address; give the transaction's hash, 0x and 64 hexadecimal digits"
    digits = text[2:]
    if _PART.fullmatch(digits):
        return "is part of a hash, and no known transaction has it; give all 64 digits"
    if not re.fullmatch(r"[0-9a-fA-F]*", digits, re.ASCII):
        return "holds a character that is no hexadecimal digit (0 to 9, a to f)"
    return f"has {counted(len(digits), 'hexadecimal digit')}; a transaction hash has 64"


LONGEST_TAGS: Final = 200
"""Characters that somebody may type as the tags of a transaction."""

MOST_TAGS: Final = 300
"""Tags of one transaction; those of its label and note alone are always fewer."""

LONGEST_TAG: Final = 40
"""Characters of one tag."""

TAGS_LEFT_OUT: Final = f"without its tags, since it would have more than {MOST_TAGS}: remove some"
"""What became of tags that are too many with those that a transaction has."""

_TAG: Final = re.compile(rf"(?<![\w#])#(\w[\w-]{{0,{LONGEST_TAG - 1}}})")
_SEPARATORS: Final = re.compile(r"[\s,;]+")
_QUOTED: Final = 40


def tags_in(text: str) -> frozenset[str]:
    """Return the words of a text that begin with #, without that, in lower case."""
    return frozenset(tag.lower() for tag in _TAG.findall(text))


def typed_tags(text: str) -> frozenset[str]:
    """Read tags that are typed as such, with # or without; InputError names what is none.

    InputError also if there are more than `MOST_TAGS`.
    """
    found = set[str]()
    for word in filter(None, _SEPARATORS.split(text)):
        if len(found) >= MOST_TAGS:
            raise InputError(f"they are more than {MOST_TAGS}: keep those that people look for")
        tag = word.removeprefix("#").lower()
        if tags_in(f"#{tag}") != {tag}:
            raise InputError(
                f"“{visible(word, _QUOTED)}” is no tag: write letters, digits, - and _, "
                f"at most {LONGEST_TAG}, with blanks between tags"
            )
        found.add(tag)
    return frozenset(found)


def written_tags(tags: Iterable[str]) -> str:
    """Write tags as people read them: sorted, each behind #, with blanks between them."""
    return " ".join(f"#{tag}" for tag in sorted(tags))


_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_MONTH: Final = rf"(?P<name>{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"
_WEEKDAY: Final = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6},? )?"
_DATES: Final = (
    r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})",
    r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",
    r"(?P<one>\d{1,2})(?P<mark>[-/])(?P<other>\d{1,2})(?P=mark)(?P<year>\d{4})",
    rf"{_WEEKDAY}(?P<day>\d{{1,2}})[- ]{_MONTH}[- ](?P<year>\d{{4}})",
    rf"{_WEEKDAY}{_MONTH}[- ](?P<day>\d{{1,2}})(?:,? |-)(?P<year>\d{{4}})",
)
_CLOCK: Final = (
    r"(?:T|,? )(?P<hour>\d{1,2}):(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?(?: ?(?P<half>[AP])M)?"
    r"(?: ?\(?(?P<zone>Z|\+?UTC|GMT|[-+]\d\d:?\d\d)\)?)?"
)
_FORMS: Final = tuple(
    re.compile(f"{date}(?:{_CLOCK})?", re.ASCII | re.IGNORECASE) for date in _DATES
)
_UNIX: Final = re.compile(r"(\d{10}|\d{13})(?:\.\d{1,9})?", re.ASCII)
_NOON: Final = 12
_REMEDY: Final = "write it as 2026-11-20T12:00:00Z"


def parse_attempt(text: str, now: datetime) -> datetime:
    """Read when a transaction was sent; without a zone it is UTC.

    InputError if it is no such time, or lies in the future.
    """
    moment = read_attempt(text, now)
    if isinstance(moment, str):
        raise InputError(f"{shorten(text)} {moment}")
    return moment


def read_attempt(text: str, now: datetime) -> datetime | str:
    """Return the moment in UTC, or why it cannot be used, in words that follow the text.

    Taken are Unix seconds and milliseconds, and every usual date with a time of day that has one
    meaning only.
    """
    try:
        moment = _unix(text) or _written(text)
    except (ValueError, OverflowError):
        moment = None
    if isinstance(moment, str):
        return moment
    if moment is None or is_far_off(moment):
        return f"is no time; {_REMEDY}"
    return "lies in the future; give the time of the attempt" if moment > now else moment


def _unix(text: str) -> datetime | None:
    match = _UNIX.fullmatch(text)
    if match is None:
        return None
    milliseconds = int(match[1]) * (1 if len(match[1]) > 10 else 1000)  # noqa: PLR2004 - seconds have ten digits until 2286
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


def _written(text: str) -> datetime | str | None:
    """Read a date with its time of day; ValueError if there is no such day or hour."""
    match = next((found for form in _FORMS if (found := form.fullmatch(text))), None)
    if match is None:
        return None
    part = match.groupdict()
    if part["hour"] is None:
        return f"has no time of day; {_REMEDY}"
    month_and_day = _month_and_day(part)
    if month_and_day is None:
        return f"has two meanings, day or month first; {_REMEDY}"
    month, day = month_and_day
    second = int(part["second"] or 0)
    microsecond = int((part["fraction"] or "0").ljust(6, "0")[:6])
    at = (int(part["year"]), month, day, _hour(part), int(part["minute"]), second, microsecond)
    return datetime(*at, tzinfo=_zone(part["zone"])).astimezone(UTC)


def _month_and_day(part: dict[str, str | None]) -> tuple[int, int] | None:
    """Return both; None if each of two numbers may be either."""
    if part.get("name"):
        return 1 + _MONTHS.index(str(part["name"]).lower()), int(part["day"] or 0)
    if part.get("one") is None:
        return int(part["month"] or 0), int(part["day"] or 0)
    one, other = int(part["one"] or 0), int(part["other"] or 0)
    if max(one, other) > len(_MONTHS):
        return min(one, other), max(one, other)
    return (one, other) if one == other else None


def _hour(part: dict[str, str | None]) -> int:
    hour = int(part["hour"] or 0)
    if part["half"] is None:
        return hour
    if not 1 <= hour <= _NOON:
        raise ValueError(hour)
    return hour % _NOON + (_NOON if part["half"] in "Pp" else 0)


def _zone(text: str | None) -> timezone:
    if text is None or text[0] not in "+-" or text.lower() == "+utc":
        return UTC
    length = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-length if text[0] == "-" else length)


LONGEST_LABEL: Final = 80
LONGEST_NOTE: Final = 300
LONGEST_CASE_ID: Final = 80
LONGEST_OWNER: Final = 80
"""Characters that people may write at a transaction, on pages, in commands and in lists."""


@dataclass(frozen=True, slots=True)
class Remarks:
    """What people say of a transaction, or of all of a list, as foreign text.

    `attempted_at` is when it was sent, if known. `tags` hold words with #, as the label and the
    note may as well.
    """

    attempted_at: datetime | None = None
    label: str = ""
    note: str = ""
    case_id: str = ""
    owner: str = ""
    tags: str = ""

    @property
    def all_tags(self) -> frozenset[str]:
        """Every tag: those given as such, and words with # of the label and the note."""
        return tags_in(f"{self.label} {self.note} {self.tags}")

    @property
    def own_tags(self) -> frozenset[str]:
        """The tags that do not come from the label or the note."""
        return tags_in(self.tags) - tags_in(f"{self.label} {self.note}")

    def completed_by(self, common: Remarks) -> Remarks:
        """Say what these leave open; tags come in addition."""
        return Remarks(
            self.attempted_at or common.attempted_at,
            self.label or common.label,
            self.note or common.note,
            self.case_id or common.case_id,
            self.owner or common.owner,
            written_tags(tags_in(f"{self.tags} {common.tags}")),
        )


NO_REMARKS: Final = Remarks()
