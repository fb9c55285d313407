"""Rules and incidents in words, the same on pages, in messages and in commands."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import tzinfo
from typing import Final

from dashboard.domain.alerts.incident import Incident
from dashboard.domain.alerts.kinds.kind import Dimension, RuleKind
from dashboard.domain.alerts.kinds.table import KINDS
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import CAUSE, Rule
from dashboard.domain.alerts.rule_keys import write_recipients
from dashboard.domain.alerts.rule_preview import Firing, RulePreview
from dashboard.domain.alerts.rule_table import RuleDifference
from dashboard.domain.formatting import capitalized, moment, span
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.rejections.reasons import ReasonKind, module_trouble

LONGEST_TITLE: Final = 300
"""Characters of a title that are shown."""

_COMMON: Final = (
    (Dimension.SENDER, "from"),
    (Dimension.LABEL, "labelled"),
    (Dimension.TAG, "tagged"),
)
"""Dimensions that a title names after module and stage, in this order."""

_STAGES: Final = {RejectionStage.SEQUENCER.value: "sequencer"}


def rule_in_words(rule: Rule, network_name: Callable[[NetworkId], str]) -> str:
    """Describe a rule in one sentence, which may hold foreign text."""
    scope = "; ".join(_scope(rule, network_name))
    when = KINDS[rule.kind].when if rule.measure is None else rule.measure.when()
    parts = [
        f"When {when}",
        f" ({scope})" if scope else "",
        f", for at least {span(rule.pending)}" if rule.pending else "",
        f": notify {recipients_in_words(rule.recipients)}",
        f"; remind every {span(rule.remind_every)}" if rule.remind_every else "",
    ]
    if rule.escalate_after:
        to = recipients_in_words(rule.escalate_to)
        parts.append(f"; after {span(rule.escalate_after)} escalate to {to}")
    if rule.active_hours is not None:
        hours = ", ".join(map(str, rule.active_hours.spans))
        parts.append(f"; only {hours} ({rule.active_hours.zone}), held otherwise")
    if rule.until is not None:
        parts.append(f"; until {moment(rule.until)}")
    return f"{''.join(parts)}."


def scope_in_words(rule: Rule, network_name: Callable[[NetworkId], str]) -> str:
    """Say which changes a rule takes; the text may hold foreign text."""
    return "; ".join(_scope(rule, network_name)) or "all"


def differences_in_words(difference: RuleDifference) -> list[str]:
    """Say what is added, changed or removed, one line a key; the lines may hold foreign text."""
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
    """Format the value of a key on one line; a key that is not set is "default"."""
    if value is None:
        return "default"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def preview_in_words(preview: RulePreview, zone: tzinfo) -> str:
    """Say how often a rule would have fired, and how many times of these at night in a zone."""
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
    """Say what the changes of an incident have in common besides their network."""
    return ", ".join(
        module_trouble(ReasonKind(value)) if name == CAUSE else f"{name} {value}"
        for name, value in firing.group
        if value
    )


def _scope(rule: Rule, network_name: Callable[[NetworkId], str]) -> Iterator[str]:
    scope = rule.scope
    if KINDS[rule.kind].is_of_rejections:
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
    """List recipients, or say that the default ones apply."""
    return ", ".join(write_recipients(recipients)) or "the default recipients"


def incident_title(incident: Incident, network_name: Callable[[NetworkId], str]) -> str:
    """Say what an incident is about: "Linea: 38 rejected, HUB over limit (sequencer)".

    Modules, labels, tags and names of networks in it are foreign text.
    """
    kind, values = RuleKind(incident.kind), _values(incident, network_name)
    network, module = values.get(Dimension.NETWORK, ""), values.get(Dimension.MODULE, "")
    where, title = f"{network}: " if network else "", KINDS[kind].title
    if isinstance(title, tuple):
        many = f"{incident.transitions:,} {title[0 if incident.transitions == 1 else 1]}"
        cause = ReasonKind(dict(incident.group).get(CAUSE, ReasonKind.OVER_LIMIT))
        over = f", {module} {module_trouble(cause)}" if module else ""
        return f"{where}{many}{over}{_in_common(values)}"
    by = f" by {module}" if module else ""
    text = title.format(
        network=network or "A network",
        where=where,
        in_common=f"{by}{_in_common(values)}",
        is_="is" if incident.is_open else "was",
    )
    return text if network else capitalized(text)


def _in_common(values: Mapping[Dimension, str]) -> str:
    stage = values.get(Dimension.STAGE, "")
    at = f" ({_STAGES.get(stage, stage)})" if stage else ""
    return at + "".join(f" {word} {values[name]}" for name, word in _COMMON if values.get(name))


def _values(
    incident: Incident, network_name: Callable[[NetworkId], str]
) -> Mapping[Dimension, str]:
    known = frozenset(Dimension)
    values = {Dimension(name): value for name, value in incident.group if name in known}
    if Dimension.NETWORK in values:
        values[Dimension.NETWORK] = network_name(NetworkId(int(values[Dimension.NETWORK])))
    return values
