"""Rules in words, alike on pages and in commands: what a rule takes and whom it notifies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import tzinfo
from typing import Final

from dashboard.domain.formatting import span
from dashboard.domain.notification import Recipient
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rule import (
    CreditMeasure,
    ExpiryMeasure,
    FeeMeasure,
    RateMeasure,
    Rule,
    RuleKind,
)
from dashboard.domain.rule_changes import RuleDifference
from dashboard.domain.rule_keys import write_recipients
from dashboard.domain.rule_preview import Firing, RulePreview
from dashboard.domain.written_values import write_fee

_WHEN: Final = {
    RuleKind.REJECTED: "a transaction is rejected for the first time",
    RuleKind.CHANGED: "the record of a rejected transaction changes",
    RuleKind.INCLUDED: "a rejected transaction is in a block later",
    RuleKind.BUSY: "a network is busy",
    RuleKind.COVERAGE_GAP: "a network is not watched",
    RuleKind.WORKER_SILENT: "no worker is running",
    RuleKind.DELIVERY_FAILING: "a channel accepts no notifications",
    RuleKind.UPSTREAM_SILENT: "an upstream does not answer",
    RuleKind.DATA_STALE: "the fees of a network are stale",
    RuleKind.DISK_FILLING: "the disk of the store has little space left",
}


def rule_in_words(rule: Rule, network_name: Callable[[NetworkId], str]) -> str:
    """Say a rule as one sentence; texts of people stay foreign text."""
    scope = "; ".join(_scope(rule, network_name))
    parts = [
        f"When {_when(rule)}",
        f" ({scope})" if scope else "",
        f", for {span(rule.pending)} at least" if rule.pending else "",
        f": notify {recipients_in_words(rule.recipients)}",
        f"; remind every {span(rule.remind_every)}" if rule.remind_every else "",
    ]
    if rule.escalate_after:
        to = recipients_in_words(rule.escalate_to)
        parts.append(f"; after {span(rule.escalate_after)} escalate to {to}")
    if rule.active_hours is not None:
        hours = ", ".join(map(str, rule.active_hours.spans))
        parts.append(f"; only {hours} ({rule.active_hours.zone}), held otherwise")
    return f"{''.join(parts)}."


def _when(rule: Rule) -> str:
    match rule.measure:
        case RateMeasure(more_than, window, by):
            each = "" if by is None else f" of one {by}"
            return f"more than {more_than:,} rejections{each} arrive within {span(window)}"
        case FeeMeasure(signal, limit, is_upper):
            side = "above" if is_upper else "below"
            return f"the {signal.value} is {side} {write_fee(limit)}"
        case CreditMeasure(budget, per, percent):
            return f"{percent} % of {budget:,} credits a {per} are spent"
        case ExpiryMeasure(within):
            return f"a key or a certificate expires within {span(within)}"
        case _:
            return _WHEN[rule.kind]


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
    """Write the value of a key of a rule on one line; a key that is not there says default."""
    if value is None:
        return "default"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def preview_in_words(preview: RulePreview, zone: tzinfo) -> str:
    """Say how often a rule would have fired, and how often of that at night in a zone."""
    many, nights = len(preview.firings), preview.at_night(zone)
    fired = {0: "would not have fired", 1: "would have fired once"}.get(
        many, f"would have fired {many:,} times"
    )
    night = f", {nights:,} of them at night" if nights else ""
    days = span(preview.until - preview.since)
    cut = (
        "; only the latest part of that was read, since there is too much" if preview.is_cut else ""
    )
    return f"{preview.rule.name} {fired} in the last {days}{night}{cut}."


def group_in_words(firing: Firing) -> str:
    """Say what the changes of an incident have in common, beside their network."""
    named = (f"{dimension} {value}" for dimension, value in firing.group if value)
    return ", ".join(named)


def _scope(rule: Rule, network_name: Callable[[NetworkId], str]) -> Iterator[str]:
    scope = rule.scope
    if rule.kind.is_of_rejections:
        yield "all that nodes report" if scope.takes_all_reports else "tracked transactions only"
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
