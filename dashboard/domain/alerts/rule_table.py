"""A rule as a table of plain values, and edits that change the rules in force."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from dashboard.domain.alerts.incident import Incident
from dashboard.domain.alerts.kinds.kind import Dimension, RuleKind
from dashboard.domain.alerts.kinds.table import KINDS
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import DEFAULT_SEVERITY, Rule, RuleScope, Severity
from dashboard.domain.alerts.rule_keys import MAIL, READERS, WRITERS, check_figures, measure_of
from dashboard.domain.alerts.rule_values import items, listed, text_of
from dashboard.domain.people.active_hours import ActiveHours
from dashboard.domain.quantity import NetworkId, shorten
from dashboard.errors import InputError, NotFound

RuleTable: TypeAlias = dict[str, Any]
"""A rule by key: text, whole numbers, booleans, and lists of these."""

KEYS: Final = (*READERS, "networks", "time_zone")
"""Every key that a rule may have."""

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
_RECIPIENTS: Final = frozenset({"recipients", "escalate_to"})
_LARGEST_NETWORK: Final = 2**63 - 1
_OF_REJECTIONS: Final = ("modules", "stages", "senders", "labels", "tags", "reports")
_ELSEWHERE: Final = "has no effect here: remove it; [alerts] says how long trouble must be gone"
_NAMES: Final = "write small letters, digits, - and _, at most 64, such as night-shift"
Rules: TypeAlias = tuple[Rule, ...]
RuleEdit: TypeAlias = Callable[[Rules], Rules]
"""Turns the rules in force into the wanted ones; InputError if that is not possible."""


class RuleRemark(NamedTuple):
    """What is wrong with a rule: the key, empty for the whole rule, and the remark about it."""

    key: str
    remark: str


def _any_zone(_: str) -> bool:
    return True


class RuleNames(Struct, frozen=True):
    """What names in a rule refer to: networks by name, time zones and channels.

    If `channels` is None, any channel is accepted.
    """

    networks: Mapping[str, NetworkId] = field(default_factory=dict)
    is_zone: Callable[[str], bool] = _any_zone
    channels: Collection[str] | None = None


_MOST_KEYS: Final = 100

ANY_NAMES: Final = RuleNames()
"""For rules that were checked before: networks by number, and any time zone."""


def read_rule(name: str, table: object, names: RuleNames = ANY_NAMES) -> Rule | list[RuleRemark]:
    """Return the rule that a table defines, or everything that is wrong with it."""
    remarks = [] if _NAME.fullmatch(name) else [RuleRemark("", _wrong_name(name))]
    if not isinstance(table, dict):
        return [*remarks, RuleRemark("", f"is {shorten(str(table))}: write a table of settings")]
    if len(table) > _MOST_KEYS:  # a hint for each takes a millisecond
        said = f"has {len(table):,} settings: write {_MOST_KEYS} at most"
        return [*remarks, RuleRemark("", said)]
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


def _wrong_name(name: str) -> str:
    return f"{'is not the name of a rule' if name else 'has no name'}: {_NAMES}"


def write_rule(rule: Rule) -> RuleTable:
    """Return the table of a rule: its kind, its severity, and what differs from the defaults."""
    values, usual = _values(rule), _values(Rule(rule.name, rule.kind))
    table: RuleTable = {"kind": rule.kind.value, "severity": rule.severity.value}
    for key, (name, write) in WRITERS.items():
        if values[name] != usual[name]:
            table[key] = write(values[name])
    if rule.measure is not None:
        table |= rule.measure.table()
    if rule.active_hours is not None:
        table["active"] = [str(span) for span in rule.active_hours.spans]
        table["time_zone"] = rule.active_hours.zone
    return table


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
    """Raise InputError for a recipient whose channel does not exist."""
    for each in recipients:
        if names.channels is not None and each.channel not in {MAIL, *names.channels}:
            known = ", ".join(names.channels) or "none"
            raise InputError(
                f"holds {shorten(each.channel)}: write an email address, or a name in [channels]; "
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
    """Yield remarks about keys that are right by themselves but do not go together."""
    kind = values.get("kind")
    if isinstance(kind, RuleKind):
        yield from _check_scope(kind, table)
        yield from (RuleRemark(*each) for each in check_figures(kind, table))
    for has, lacks in (("escalate_after", "escalate_to"), ("escalate_to", "escalate_after")):
        if has in table and lacks not in table:
            yield RuleRemark(has, f"needs {lacks} beside it; add it, or leave both out")
    severity = values.get("severity", None if "severity" in table else DEFAULT_SEVERITY)
    if values.get("pierces") and severity not in {None, Severity.CRITICAL}:
        yield RuleRemark(
            "pierces", 'needs severity = "critical": nothing else may interrupt quiet hours'
        )
    if "time_zone" in table and "active" not in table:
        yield RuleRemark("time_zone", "needs active beside it; add it, or leave both out")


def _check_scope(kind: RuleKind, table: Mapping[str, object]) -> Iterator[RuleRemark]:
    about = KINDS[kind]
    for key in _OF_REJECTIONS:
        if key in table and not about.is_of_rejections:
            yield RuleRemark(key, f"narrows rejections only, and this rule is {kind}: remove it")
    if "pending" in table and not about.is_lasting:
        yield RuleRemark("pending", f"is for lasting conditions; {kind} happens once: remove it")
    if "until" in table and about.is_lasting:
        yield RuleRemark("until", f"is for single events; {kind} lasts: remove it")
    if "keep_firing" in table and about.is_lasting and not about.is_measured:
        yield RuleRemark("keep_firing", _ELSEWHERE)
    if "networks" in table and not about.is_of_networks:
        yield RuleRemark("networks", f"has no effect here: {kind} is not about networks; remove it")


def _assembled(name: str, values: RuleTable) -> Rule:
    said = {each: values[key] for key, (each, _) in WRITERS.items() if key in values}
    of_scope = said.keys() & set(RuleScope.__struct_fields__)
    scope = RuleScope(**{each: said.pop(each) for each in of_scope})
    if "active" in values:
        said["active_hours"] = ActiveHours(values["active"], values.get("time_zone", "UTC"))
    said["severity"] = values.get("severity", DEFAULT_SEVERITY)
    said["measure"] = measure_of(values["kind"], values)
    return Rule(name, values["kind"], scope=scope, **said)


def _values(rule: Rule) -> dict[str, Any]:
    """Return the fields of a rule and of its scope by name."""
    return {
        each: getattr(part, each) for part in (rule, rule.scope) for each in part.__struct_fields__
    }


class RuleDifference(Struct, frozen=True):
    """A rule that is added, changed or removed: its table before and after, None if missing."""

    name: str
    before: RuleTable | None
    after: RuleTable | None

    def lines(self) -> Iterator[tuple[str, object, object]]:
        """Yield each key that differs, with its value before and after; None if it is not set."""
        before, after = self.before or {}, self.after or {}
        for key in {**before, **after}:
            if before.get(key) != after.get(key):
                yield key, before.get(key), after.get(key)


def differences(before: Rules, after: Rules) -> list[RuleDifference]:
    """Return what an edit adds, changes and removes, in the order of the rules."""
    old = {each.name: each for each in before}
    new = {each.name: each for each in after}
    return [
        RuleDifference(
            name,
            write_rule(old[name]) if name in old else None,
            write_rule(new[name]) if name in new else None,
        )
        for name in {**new, **old}
        if old.get(name) != new.get(name)
    ]


def why_closed(rule: Rule | None, before: Rule, incident: Incident) -> str:
    """Say why a rule, now changed from `before`, no longer reports an open incident.

    Empty if it still does: the rule is enabled, has the same kind and grouping, and takes what all
    changes of the incident share.
    """
    if rule is None:
        return "its rule was removed"
    if not rule.is_enabled:
        return "its rule was turned off"
    if rule.kind is not before.kind or rule.group_by != before.group_by:
        return "its rule reports something else now"
    shared = dict(incident.group)
    scope = rule.scope
    taken: Mapping[Dimension, Sequence[object]] = {
        Dimension.NETWORK: scope.networks,
        Dimension.MODULE: scope.modules,
        Dimension.STAGE: scope.stages,
        Dimension.SENDER: scope.senders,
        Dimension.LABEL: scope.labels,
        Dimension.TAG: scope.tags,
    }
    for dimension, values in taken.items():
        if not values or dimension not in shared:
            continue
        one = shared[dimension].upper() if dimension is Dimension.MODULE else shared[dimension]
        of_group = one.split() if dimension is Dimension.TAG else [one]
        if set(of_group).isdisjoint(map(str, values)):
            return f"its rule no longer covers this {dimension}"
    return ""


def replaced_by(given: Sequence[Rule]) -> RuleEdit:
    """Replace all rules by the given ones."""

    def edit(_: Rules) -> Rules:
        return _some(tuple(given))

    return edit


def merged_with(given: Sequence[Rule]) -> RuleEdit:
    """Replace the rules that have the same names as the given ones, and add the others."""

    def edit(held: Rules) -> Rules:
        new = {each.name: each for each in given}
        kept = tuple(new.pop(each.name, each) for each in held)
        return (*kept, *new.values())

    return edit


def added(rule: Rule) -> RuleEdit:
    """Add a rule; InputError if one has its name."""

    def edit(held: Rules) -> Rules:
        if any(each.name == rule.name for each in held):
            raise InputError(
                f"there is a rule {rule.name} already: choose another name, or change that one "
                f"with `linewatch rules edit {rule.name}`"
            )
        return (*held, rule)

    return edit


def changed(name: str, edit_one: Callable[[Rule], Rule]) -> RuleEdit:
    """Change one rule; InputError if there is none of that name."""

    def edit(held: Rules) -> Rules:
        found_rule(held, name)
        return tuple(edit_one(each) if each.name == name else each for each in held)

    return edit


def turned(name: str, *, is_enabled: bool) -> RuleEdit:
    """Turn one rule on or off; InputError if there is none of that name."""
    return changed(name, lambda rule: replace(rule, is_enabled=is_enabled))


def removed(names: Sequence[str]) -> RuleEdit:
    """Remove rules; InputError if a name does not exist, or if no rule would be left."""

    def edit(held: Rules) -> Rules:
        for name in names:
            found_rule(held, name)
        return _some(tuple(each for each in held if each.name not in names))

    return edit


def found_rule(held: Rules, name: str) -> Rule:
    """Return the rule with this name; NotFound suggests the nearest name."""
    for each in held:
        if each.name == name:
            return each
    known = [each.name for each in held]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    raise NotFound(f"no rule is called {shorten(name)}: {hint}")


def _some(rules: Rules) -> Rules:
    """Refuse an empty list of rules, which would stand for the default rules."""
    if not rules:
        raise InputError(
            "no rule would be left, and without any the default ones are in force: turn off what "
            "nobody needs with `linewatch rules edit NAME --set enabled=false`"
        )
    return rules
