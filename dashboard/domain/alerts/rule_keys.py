"""The keys of a rule in files and in the store: how the value of each is read and written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final, TypeVar

from dashboard.domain.alerts.grounds import Signal
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import (
    LONGEST_GROUP_WAIT,
    BudgetPeriod,
    CreditMeasure,
    Dimension,
    ExpiryMeasure,
    FeeMeasure,
    RateMeasure,
    RuleKind,
    RuleMeasure,
    Severity,
)
from dashboard.domain.formatting import read_duration, read_fee, write_duration, write_fee
from dashboard.domain.people.active_hours import WeekSpan
from dashboard.domain.quantity import Address, Wei, shorten
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.tracking.paste import LONGEST_LABEL, tags_in
from dashboard.errors import InputError

MAIL: Final = "mail"
"""The channel of a recipient that names none."""

_MODULE: Final = re.compile(r"[A-Za-z0-9_]{1,64}", re.ASCII)
_ADDRESS: Final = re.compile(r"[^\s<>,;:@\"]{1,200}@[^\s<>,;:@\"]{1,200}")
_OF_CHANNEL: Final = re.compile(r"([a-z][a-z0-9-]{0,39})(?::(\S{1,300}))?", re.ASCII)
"""A channel is its own recipient, unless somebody is meant there."""
_LONE: Final = re.compile("[\ud800-\udfff]")

MOST_ITEMS: Final = 1_000
"""The longest list in a rule."""

MOST_COUNTED: Final = 50_000
"""The largest number of rejections that a rule counts to."""

_LARGEST_BUDGET: Final = 10**15
_ALL: Final = 100
SHORTEST_REMINDER: Final = timedelta(minutes=1)
"""Each reminder is stored in the story of its incident."""

SHORTEST_WINDOW: Final = timedelta(seconds=10)
LONGEST_WINDOW: Final = timedelta(hours=24)

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


def _flag(written: object) -> bool:
    if not isinstance(written, bool):
        raise InputError(f"is {shorten(str(written))}: write true or false")
    return written


def _word(kind: type[_Word]) -> Callable[[object], _Word]:
    def read(written: object) -> _Word:
        for each in kind:
            if isinstance(written, str) and written.lower() == each.value.lower():
                return each
        raise InputError(f"is {shorten(str(written))}: choose one of {listed(kind)}")

    return read


def _words(kind: type[_Word]) -> Callable[[object], tuple[_Word, ...]]:
    return lambda written: tuple(map(_word(kind), items(written)))


def listed(kind: Iterable[StrEnum]) -> str:
    return ", ".join(each.value for each in kind)


def _duration(written: object) -> timedelta:
    length = read_duration(written)
    if length is None:
        raise InputError(
            f"is {shorten(str(written))}: write a number and a unit, such as 30s, 15m or 12h"
        )
    return length


def _positive_duration(written: object) -> timedelta:
    length = _duration(written)
    if not length:
        raise InputError(f"is {written}, no time at all: write more, or leave the key out")
    return length


def _reminder_period(written: object) -> timedelta:
    length = _duration(written)
    if length < SHORTEST_REMINDER:
        raise InputError(f"is {written}: write 1m or more, or leave the key out")
    return length


def _group_wait(written: object) -> timedelta:
    length = _duration(written)
    if length > LONGEST_GROUP_WAIT:
        raise InputError(
            f"is {written}: write 1h at most, because nobody is notified of what is gathered "
            "meanwhile"
        )
    return length


def _modules(written: object) -> tuple[str, ...]:
    for each in items(written):
        if not isinstance(each, str) or not _MODULE.fullmatch(each):
            raise InputError(
                f"holds {shorten(str(each))}, no prover module: write letters, digits and _, "
                "such as HUB"
            )
    return tuple(str(each).upper() for each in items(written))


def _senders(written: object) -> tuple[Address, ...]:
    try:
        return tuple(Address.parse(str(each)) for each in items(written))
    except InputError as error:
        raise InputError(f"holds what is wrong: {error}") from error


def _labels(written: object) -> tuple[str, ...]:
    for each in items(written):
        if not isinstance(each, str) or not 0 < len(each) <= LONGEST_LABEL or _LONE.search(each):
            raise InputError(
                f"holds {shorten(str(each))}: write whole labels, of at most "
                f"{LONGEST_LABEL} characters"
            )
    return tuple(map(str, items(written)))


def _tags(written: object) -> tuple[str, ...]:
    found = []
    for each in items(written):
        tag = str(each).removeprefix("#").lower()
        if tags_in(f"#{tag}") != {tag}:
            raise InputError(
                f"holds {shorten(str(each))}, no tag: write letters, digits, - and _, as a "
                "transaction is tagged"
            )
        found.append(tag)
    return tuple(found)


def _recipients(written: object) -> tuple[Recipient, ...]:
    return tuple(map(_recipient, items(written)))


def _recipient(written: object) -> Recipient:
    text = str(written)
    if (match := _OF_CHANNEL.fullmatch(text)) and match[1] != MAIL and text.isprintable():
        return Recipient(match[1], match[2] or match[1])
    address = text.removeprefix(f"{MAIL}:")
    if not _ADDRESS.fullmatch(address) or not address.isprintable():
        raise InputError(
            f"holds {shorten(text)}: write a mail address, or a name in [channels], such as pager"
        )
    return Recipient(MAIL, address)


def _spans(written: object) -> tuple[WeekSpan, ...]:
    try:
        return tuple(WeekSpan.parse(str(each)) for each in items(written))
    except InputError as error:
        raise InputError(f"holds what is wrong: {error}") from error


def _count(written: object) -> int:
    if type(written) is not int or not 0 <= written <= MOST_COUNTED:
        raise InputError(f"is {shorten(str(written))}: write a number up to {MOST_COUNTED:,}")
    return written


def _budget(written: object) -> int:
    if type(written) is not int or not 0 < written <= _LARGEST_BUDGET:
        raise InputError(f"is {shorten(str(written))}: write a number of credits, such as 3000000")
    return written


def _percent(written: object) -> int:
    if type(written) is not int or not 0 < written <= _ALL:
        raise InputError(f"is {shorten(str(written))}: write 1 to 100")
    return written


def _window(written: object) -> timedelta:
    window = _duration(written)
    if not SHORTEST_WINDOW <= window <= LONGEST_WINDOW:
        raise InputError(f"is {written}: write 10s to 24h")
    return window


def _by(written: object) -> Dimension:
    if written == Dimension.NETWORK:
        raise InputError("is network, and each network is counted alone anyway: leave it out")
    return _word(Dimension)(written)


def _fee(written: object) -> Wei:
    try:
        return read_fee(written)
    except InputError as error:
        raise InputError(f"is wrong: {error}") from error


def _reports(written: object) -> bool:
    if written not in ("tracked", "all"):  # a list has no hash
        raise InputError(f"is {shorten(str(written))}: choose one of tracked, all")
    return written == "all"


READERS: Final[Mapping[str, Callable[[object], object]]] = {
    "kind": _word(RuleKind),
    "severity": _word(Severity),
    "enabled": _flag,
    "modules": _modules,
    "stages": _words(RejectionStage),
    "senders": _senders,
    "labels": _labels,
    "tags": _tags,
    "reports": _reports,
    "recipients": _recipients,
    "pending": _duration,
    "keep_firing": _duration,
    "group_by": _words(Dimension),
    "group_wait": _group_wait,
    "remind_every": _reminder_period,
    "escalate_after": _positive_duration,
    "escalate_to": _recipients,
    "active": _spans,
    "pierces": _flag,
    "more_than": _count,
    "window": _window,
    "by": _by,
    "fee": _word(Signal),
    "above": _fee,
    "below": _fee,
    "budget": _budget,
    "per": _word(BudgetPeriod),
    "used_percent": _percent,
    "within": _positive_duration,
}
"""Reads the value of each key that needs nothing else; InputError says what is wrong with it."""


def _as_it_is(value: Any) -> Any:  # noqa: ANN401 - a plain value
    return value


def _in_words(values: Iterable[Any]) -> list[str]:
    return [str(each) for each in values]


def write_recipients(recipients: Iterable[Recipient]) -> list[str]:
    return [
        each.address if each.channel in {MAIL, each.address} else f"{each.channel}:{each.address}"
        for each in recipients
    ]


WRITERS: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "enabled": ("is_enabled", _as_it_is),
    "networks": ("networks", list),
    "modules": ("modules", list),
    "stages": ("stages", _in_words),
    "senders": ("senders", _in_words),
    "labels": ("labels", list),
    "tags": ("tags", list),
    "reports": ("takes_all_reports", lambda takes_all: "all" if takes_all else "tracked"),
    "recipients": ("recipients", write_recipients),
    "pending": ("pending", write_duration),
    "keep_firing": ("keep_firing", write_duration),
    "group_by": ("group_by", _in_words),
    "group_wait": ("group_wait", write_duration),
    "remind_every": ("remind_every", write_duration),
    "escalate_after": ("escalate_after", write_duration),
    "escalate_to": ("escalate_to", write_recipients),
    "pierces": ("pierces", _as_it_is),
}
"""Each key with the field that it says, and how that is written."""

LISTS: Final = frozenset(
    {"networks", "modules", "stages", "senders", "labels", "tags"}
    | {"recipients", "group_by", "escalate_to", "active"}
)
"""The keys whose values are lists."""


FIGURES: Final[Mapping[RuleKind, tuple[str, ...]]] = {
    RuleKind.REJECTION_RATE: ("more_than", "window", "by"),
    RuleKind.FEE: ("fee", "above", "below"),
    RuleKind.CREDITS_SHORT: ("budget", "per", "used_percent"),
    RuleKind.EXPIRY: ("within",),
}
"""The keys of figures that rules of a kind have, and no others."""

_NEEDED: Final[Mapping[RuleKind, tuple[str, ...]]] = {
    RuleKind.REJECTION_RATE: ("more_than", "window"),
    RuleKind.FEE: ("fee",),
    RuleKind.CREDITS_SHORT: ("budget", "per"),
    RuleKind.EXPIRY: ("within",),
}
USUAL_SHARE: Final = 80
"""Percent of a budget that a rule reports unless it says another share."""

_LIMITS: Final = ("above", "below")


def check_figures(kind: RuleKind, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield what lacks or does not belong to a rule of this kind, as key and remark."""
    for key in (key for of_kind in FIGURES.values() for key in of_kind):
        if key in table and key not in FIGURES.get(kind, ()):
            owners = [each.value for each, keys in FIGURES.items() if key in keys]
            yield key, f"belongs to rules of kind {owners[0]}, and this one is {kind}: remove it"
    for key in _NEEDED.get(kind, ()):
        if key not in table:
            yield "", f"lacks {key}, which {kind} needs; add it"
    if kind is RuleKind.FEE and sum(key in table for key in _LIMITS) != 1:
        yield "", "needs above or below, one of the two: write the fee beyond which it reports"


def measure_of(kind: RuleKind, values: Mapping[str, Any]) -> RuleMeasure | None:
    """Return what a rule of a kind measures, from the values of its keys."""
    if kind is RuleKind.REJECTION_RATE:
        return RateMeasure(values["more_than"], values["window"], values.get("by"))
    if kind is RuleKind.FEE:
        limit = values.get("above", values.get("below"))
        return FeeMeasure(values["fee"], limit, is_upper="above" in values)
    if kind is RuleKind.CREDITS_SHORT:
        share = values.get("used_percent", USUAL_SHARE)
        return CreditMeasure(values["budget"], values["per"], share)
    return ExpiryMeasure(values["within"]) if kind is RuleKind.EXPIRY else None


def write_measure(measure: RuleMeasure | None) -> dict[str, Any]:
    """Return the keys that `measure_of` reads."""
    match measure:
        case RateMeasure(more_than, window, by):
            said = {"more_than": more_than, "window": write_duration(window)}
            return said if by is None else said | {"by": by.value}
        case FeeMeasure(signal, limit, is_upper):
            return {"fee": signal.value, "above" if is_upper else "below": write_fee(limit)}
        case CreditMeasure(budget, per, percent):
            return {"budget": budget, "per": per.value, "used_percent": percent}
        case ExpiryMeasure(within):
            return {"within": write_duration(within)}
        case _:
            return {}
