"""The keys of a rule in files and in the store: how each value is read and written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from dashboard.domain.alerts.kinds.kind import Dimension, Measure, RuleKind
from dashboard.domain.alerts.kinds.table import KINDS
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import LONGEST_GROUP_WAIT, Severity
from dashboard.domain.alerts.rule_values import (
    duration,
    flag,
    items,
    moment,
    positive_duration,
    word,
    words,
    write_moment,
)
from dashboard.domain.formatting import write_duration
from dashboard.domain.people.active_hours import WeekSpan
from dashboard.domain.quantity import Address, shorten
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.tracking.remarks import LONGEST_LABEL, tags_in
from dashboard.errors import InputError

MAIL: Final = "mail"
"""The channel of a recipient that is written without one."""

_MODULE: Final = re.compile(r"[A-Za-z0-9_]{1,64}", re.ASCII)
_ADDRESS: Final = re.compile(r"[^\s<>,;:@\"]{1,200}@[^\s<>,;:@\"]{1,200}")
_OF_CHANNEL: Final = re.compile(r"([a-z][a-z0-9-]{0,39})(?::(\S{1,300}))?", re.ASCII)
"""A channel, which is its own recipient if no address follows."""
_LONE: Final = re.compile("[\ud800-\udfff]")

SHORTEST_REMINDER: Final = timedelta(minutes=1)
"""Reminders cannot be more frequent: each one is stored in the story of its incident."""

LISTS: Final = frozenset(
    {"networks", "modules", "stages", "senders", "labels", "tags"}
    | {"recipients", "group_by", "escalate_to", "active"}
)
"""The keys whose values are lists."""


def _reminder_period(written: object) -> timedelta:
    length = duration(written)
    if length < SHORTEST_REMINDER:
        raise InputError(f"is {written}: write 1m or more, or leave the key out")
    return length


def _group_wait(written: object) -> timedelta:
    length = duration(written)
    if length > LONGEST_GROUP_WAIT:
        raise InputError(
            f"is {written}: write 1h at most, because nobody is notified of what is grouped "
            "meanwhile"
        )
    return length


def _modules(written: object) -> tuple[str, ...]:
    for each in items(written):
        if not isinstance(each, str) or not _MODULE.fullmatch(each):
            raise InputError(
                f"holds {shorten(str(each))}, not a prover module: write letters, digits and _, "
                "such as HUB"
            )
    return tuple(str(each).upper() for each in items(written))


def _senders(written: object) -> tuple[Address, ...]:
    try:
        return tuple(Address.parse(str(each)) for each in items(written))
    except InputError as error:
        raise InputError(f"holds a wrong value: {error}") from error


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
                f"holds {shorten(str(each))}, not a tag: write letters, digits, - and _, as a "
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
            f"holds {shorten(text)}: write an email address, or a name in [channels], such as pager"
        )
    return Recipient(MAIL, address)


def _spans(written: object) -> tuple[WeekSpan, ...]:
    try:
        return tuple(WeekSpan.parse(str(each)) for each in items(written))
    except InputError as error:
        raise InputError(f"holds a wrong value: {error}") from error


def _reports(written: object) -> bool:
    if written not in ("tracked", "all"):  # a list has no hash
        raise InputError(f"is {shorten(str(written))}: choose one of tracked, all")
    return written == "all"


READERS: Final[Mapping[str, Callable[[object], object]]] = {
    "kind": word(RuleKind),
    "severity": word(Severity),
    "enabled": flag,
    "modules": _modules,
    "stages": words(RejectionStage),
    "senders": _senders,
    "labels": _labels,
    "tags": _tags,
    "reports": _reports,
    "recipients": _recipients,
    "pending": duration,
    "keep_firing": duration,
    "group_by": words(Dimension),
    "group_wait": _group_wait,
    "remind_every": _reminder_period,
    "escalate_after": positive_duration,
    "escalate_to": _recipients,
    "active": _spans,
    "pierces": flag,
    "until": moment,
    **{each.key: each.read for kind in KINDS.values() for each in kind.figures},
}
"""How each key is read without knowing the names of networks or time zones; InputError says what is
wrong."""


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
    "until": ("until", write_moment),
}
"""The field of each key, and how it is written."""


def check_figures(kind: RuleKind, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield, as key and remark, which figures are missing or belong to another kind of rule."""
    figures = KINDS[kind].figures
    mine = {each.key for each in figures}
    for owner, other in KINDS.items():
        for each in other.figures:
            if each.key in table and each.key not in mine:
                remark = f"belongs to rules of kind {owner}, and this one is {kind}: remove it"
                yield each.key, remark
    for each in figures:
        if each.is_needed and each.key not in table:
            yield "", f"lacks {each.key}, which {kind} needs; add it"
    if (check := KINDS[kind].check) is not None:
        yield from (("", remark) for remark in check(table))


def measure_of(kind: RuleKind, values: Mapping[str, Any]) -> Measure | None:
    """Return the measure of a rule of a kind, from the values of its keys."""
    measure = KINDS[kind].measure
    return None if measure is None else measure(values)
