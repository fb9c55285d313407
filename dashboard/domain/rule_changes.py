"""Changes of the rules in force: merged with a file, edited one by one, and what differs then."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dashboard.domain.incident import Incident
from dashboard.domain.quantity import shorten
from dashboard.domain.rule import Dimension, Rule
from dashboard.domain.rule_table import RuleTable, write_rule
from dashboard.errors import InputError

Rules: TypeAlias = tuple[Rule, ...]
RuleEdit: TypeAlias = Callable[[Rules], Rules]
"""Turns the rules in force into those that are wanted; InputError where that cannot be."""


@dataclass(frozen=True, slots=True)
class RuleDifference:
    """A rule that is added, changed or removed: its table before and after, None for none."""

    name: str
    before: RuleTable | None
    after: RuleTable | None

    def lines(self) -> Iterator[tuple[str, object, object]]:
        """Yield each key that differs with its value before and after, None for none."""
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
    """Say why an open incident is no longer reported by its rule, given as it was before and is.

    Empty where it still is: the rule is on and of the same kind, and takes what all changes of
    the incident share.
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
        one = shared[dimension]
        of_group = one.split() if dimension is Dimension.TAG else [one]
        if set(of_group).isdisjoint(map(str, values)):
            return f"its rule no longer covers this {dimension}"
    return ""


def replaced_by(given: Sequence[Rule]) -> RuleEdit:
    """Let the given rules be all there are."""

    def edit(_: Rules) -> Rules:
        return _some(tuple(given))

    return edit


def merged_with(given: Sequence[Rule]) -> RuleEdit:
    """Let the given rules take the place of those of their names; others stay as they are."""

    def edit(held: Rules) -> Rules:
        new = {each.name: each for each in given}
        kept = tuple(new.pop(each.name, each) for each in held)
        return (*kept, *new.values())

    return edit


def added(rule: Rule) -> RuleEdit:
    """Add a rule; InputError where one has its name."""

    def edit(held: Rules) -> Rules:
        if any(each.name == rule.name for each in held):
            raise InputError(
                f"there is a rule {rule.name} already: choose another name, or change that one "
                f"with `linewatch rules edit {rule.name}`"
            )
        return (*held, rule)

    return edit


def changed(name: str, edit_one: Callable[[Rule], Rule]) -> RuleEdit:
    """Change one rule; InputError where there is none of that name."""

    def edit(held: Rules) -> Rules:
        found_rule(held, name)
        return tuple(edit_one(each) if each.name == name else each for each in held)

    return edit


def turned(name: str, *, is_enabled: bool) -> RuleEdit:
    """Turn one rule on or off; InputError where there is none of that name."""
    return changed(name, lambda rule: replace(rule, is_enabled=is_enabled))


def removed(names: Sequence[str]) -> RuleEdit:
    """Remove rules; InputError where there is none of a name, or none would be left."""

    def edit(held: Rules) -> Rules:
        for name in names:
            found_rule(held, name)
        return _some(tuple(each for each in held if each.name not in names))

    return edit


def found_rule(held: Rules, name: str) -> Rule:
    """Return the rule of a name; InputError names the nearest where there is none."""
    for each in held:
        if each.name == name:
            return each
    known = [each.name for each in held]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    raise InputError(f"no rule is called {shorten(name)}: {hint}")


def _some(rules: Rules) -> Rules:
    """Refuse to hold no rule at all, which stands for the default ones."""
    if not rules:
        raise InputError(
            "no rule would be left, and without any the default ones are in force: turn off what "
            "nobody needs with `linewatch rules edit NAME --set enabled=false`"
        )
    return rules
