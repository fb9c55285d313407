"""A rule as a table of plain values: how files, the store and commands write and read it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, NamedTuple, TypeAlias

from dashboard.domain.active_hours import ActiveHours
from dashboard.domain.notification import Recipient
from dashboard.domain.quantity import NetworkId, shorten
from dashboard.domain.rule import Rule, RuleKind, RuleScope, Severity
from dashboard.domain.rule_keys import MAIL, READERS, WRITERS, items, listed, text_of
from dashboard.domain.rule_measures import check_figures, measure_of, write_measure
from dashboard.errors import InputError

RuleTable: TypeAlias = dict[str, Any]
"""Text, whole numbers, true or false, and lists of these, by key."""

KEYS: Final = (*READERS, "networks", "time_zone")
"""Every key that a rule may have."""

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
_RECIPIENTS: Final = frozenset({"recipients", "escalate_to"})
_LARGEST_NETWORK: Final = 2**63 - 1
_OF_REJECTIONS: Final = ("modules", "stages", "senders", "labels", "tags", "reports")


class RuleRemark(NamedTuple):
    """What is wrong with a rule: the key, empty for the whole rule, and what to say after it."""

    key: str
    remark: str


def _any_zone(_: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class RuleNames:
    """What names in a rule stand for: networks by their names, time zones and channels.

    Without `channels` any may be named.
    """

    networks: Mapping[str, NetworkId] = field(default_factory=dict)
    is_zone: Callable[[str], bool] = _any_zone
    channels: Collection[str] | None = None


ANY_NAMES: Final = RuleNames()
"""For rules that were checked before: networks by number, time zones as they are."""


def read_rule(name: str, table: object, names: RuleNames = ANY_NAMES) -> Rule | list[RuleRemark]:
    """Return the rule that a table says, or everything that is wrong with it."""
    remarks = [] if _NAME.fullmatch(name) else [RuleRemark("", _WRONG_NAME)]
    if not isinstance(table, dict):
        return [*remarks, RuleRemark("", f"is {shorten(str(table))}: write a table of settings")]
    values: RuleTable = {}
    for key, written in table.items():
        try:
            values[key] = _read(str(key), written, names)
        except InputError as error:
            remarks.append(RuleRemark(str(key), str(error)))
    if "kind" not in table:
        remarks.append(RuleRemark("", f"lacks kind; add one of {listed(RuleKind)}"))
    remarks.extend(_check_together(table, values))
    return remarks or _assembled(name, values)


def write_rule(rule: Rule) -> RuleTable:
    """Return the table of a rule: its kind, its severity, and what differs from the defaults."""
    values, usual = _values(rule), _values(Rule(rule.name, rule.kind))
    table: RuleTable = {"kind": rule.kind.value, "severity": rule.severity.value}
    for key, (name, write) in WRITERS.items():
        if values[name] != usual[name]:
            table[key] = write(values[name])
    table |= write_measure(rule.measure)
    if rule.active_hours is not None:
        table["active"] = [str(span) for span in rule.active_hours.spans]
        table["time_zone"] = rule.active_hours.zone
    return table


_ELSEWHERE: Final = "has no effect here: remove it; [alerts] says how long trouble must be gone"
_WRONG_NAME: Final = (
    "is no name of a rule: write small letters, digits, - and _, at most 64, such as night-shift"
)


def _read(key: str, written: object, names: RuleNames) -> object:
    """Read the value of a key; InputError says what is wrong with it."""
    if key == "networks":
        return tuple(_network(each, names.networks) for each in items(written))
    if key == "time_zone":
        return _zone(text_of(written), names)
    if key in READERS:
        value: Any = READERS[key](written)
        if key in _RECIPIENTS:
            _check_channels(value, names)
        return value
    near = difflib.get_close_matches(key, KEYS, n=1)
    hint = f"; did you mean {near[0]}?" if near else f": choose one of {', '.join(KEYS)}"
    raise InputError(f"is not a setting of a rule{hint}")


def _check_channels(recipients: Iterable[Recipient], names: RuleNames) -> None:
    """Raise InputError for a recipient whose channel is not there."""
    for each in recipients:
        if names.channels is not None and each.channel not in {MAIL, *names.channels}:
            known = ", ".join(names.channels) or "none"
            raise InputError(
                f"holds {shorten(each.channel)}: write a mail address, or a name in [channels]; "
                f"there are {known}"
            )


def _network(written: object, known: Mapping[str, NetworkId]) -> NetworkId:
    if type(written) is int and 0 < written <= _LARGEST_NETWORK:
        return NetworkId(written)
    for name, number in known.items():
        if isinstance(written, str) and written.casefold() == name.casefold():
            return number
    there = ", ".join(f"{name} ({number})" for name, number in known.items())
    raise InputError(
        f"holds {shorten(str(written))}: write names of networks or chain ids"
        + (f", such as {there}" if there else "")
    )


def _zone(name: str, names: RuleNames) -> str:
    if not names.is_zone(name):
        raise InputError(
            f"is {shorten(name)}: write a name of the time zone database, such as Europe/Berlin"
        )
    return name


def _check_together(table: Mapping[str, object], values: RuleTable) -> Iterator[RuleRemark]:
    """Yield what each key may say by itself, and not beside the others."""
    kind = values.get("kind")
    if isinstance(kind, RuleKind):
        yield from _check_scope(kind, table)
        yield from (RuleRemark(*each) for each in check_figures(kind, table))
    for has, lacks in (("escalate_after", "escalate_to"), ("escalate_to", "escalate_after")):
        if has in table and lacks not in table:
            yield RuleRemark(has, f"needs {lacks} beside it; add it, or leave both out")
    severity = values.get("severity", None if "severity" in table else Severity.WARNING)
    if values.get("pierces") and severity not in {None, Severity.CRITICAL}:
        yield RuleRemark(
            "pierces", 'needs severity = "critical": nothing else may interrupt quiet hours'
        )
    if "time_zone" in table and "active" not in table:
        yield RuleRemark("time_zone", "needs active beside it; add it, or leave both out")


def _check_scope(kind: RuleKind, table: Mapping[str, object]) -> Iterator[RuleRemark]:
    for key in _OF_REJECTIONS:
        if key in table and not kind.is_of_rejections:
            yield RuleRemark(key, f"narrows rejections only, and this rule is {kind}: remove it")
    if "pending" in table and not kind.is_lasting:
        yield RuleRemark("pending", f"is for what lasts, and {kind} happens once: remove it")
    if "keep_firing" in table and kind.is_lasting and not kind.is_measured:
        yield RuleRemark("keep_firing", _ELSEWHERE)
    if "networks" in table and not kind.is_of_networks:
        yield RuleRemark("networks", f"has no effect here: {kind} is about no network; remove it")


def _assembled(name: str, values: RuleTable) -> Rule:
    said = {each: values[key] for key, (each, _) in WRITERS.items() if key in values}
    of_scope = {each.name for each in fields(RuleScope)} & said.keys()
    scope = RuleScope(**{each: said.pop(each) for each in of_scope})
    if "active" in values:
        said["active_hours"] = ActiveHours(values["active"], values.get("time_zone", "UTC"))
    said["severity"] = values.get("severity", Severity.WARNING)
    said["measure"] = measure_of(values["kind"], values)
    return Rule(name, values["kind"], scope=scope, **said)


def _values(rule: Rule) -> dict[str, Any]:
    """Return the fields of a rule and of its scope by name."""
    return {
        each.name: getattr(part, each.name) for part in (rule, rule.scope) for each in fields(part)
    }
