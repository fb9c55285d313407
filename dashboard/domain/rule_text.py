"""Rules in words, alike on pages and in commands: what a rule takes and whom it notifies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import tzinfo

from dashboard.domain.formatting import span
from dashboard.domain.notification import Recipient
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rule import Rule
from dashboard.domain.rule_changes import RuleDifference
from dashboard.domain.rule_keys import write_recipients
from dashboard.domain.rule_preview import Firing, RulePreview


def scope_in_words(rule: Rule, network_name: Callable[[NetworkId], str]) -> str:
    """Say which changes a rule takes; texts of people stay foreign text."""
    return "; ".join(_scope(rule, network_name)) or "all"


def differences_in_words(difference: RuleDifference) -> list[str]:
    """Say what is added, changed or removed, a line for each key; texts stay foreign text."""
    name = difference.name
    if difference.after is None:
        return [f"- {name} is removed"]
    if difference.before is None:
        keys = (f"    {key} = {written(after)}" for key, _, after in difference.lines())
        return [f"+ {name} is added", *keys]
    changes = (
        f"    {key}: {written(before)} → {written(after)}"
        for key, before, after in difference.lines()
    )
    return [f"~ {name} is changed", *changes]


def written(value: object) -> str:
    """Write the value of a key of a rule on one line; a key that is not there says none."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def preview_in_words(preview: RulePreview, zone: tzinfo) -> str:
    """Say how often a rule would have fired, and how often of that at night in a zone."""
    many, nights = len(preview.firings), preview.at_night(zone)
    times = {0: "not once", 1: "once"}.get(many, f"{many:,} times")
    night = f", {nights:,} of them at night" if nights else ""
    days = span(preview.until - preview.since)
    cut = (
        "; only the latest part of that was read, since there is too much" if preview.is_cut else ""
    )
    return f"{preview.rule.name} would have fired {times} in the last {days}{night}{cut}."


def group_in_words(firing: Firing) -> str:
    """Say what the changes of an incident have in common, beside their network."""
    named = (f"{dimension} {value}" for dimension, value in firing.group if value)
    return ", ".join(named)


def _scope(rule: Rule, network_name: Callable[[NetworkId], str]) -> Iterator[str]:
    scope = rule.scope
    if rule.kind.is_of_rejections:
        yield "all reports" if scope.takes_all_reports else "tracked"
    parts = (
        ("on", [network_name(each) for each in scope.networks]),
        ("module", scope.modules),
        ("stage", scope.stages),
        ("from", scope.senders),
        ("label", scope.labels),
        ("tag", scope.tags),
    )
    for word, values in parts:
        if values:
            yield f"{word} {' or '.join(map(str, values))}"


def recipients_in_words(recipients: tuple[Recipient, ...]) -> str:
    """Name recipients; none are those of the setting."""
    return ", ".join(write_recipients(recipients)) or "recipients of [mail]"
