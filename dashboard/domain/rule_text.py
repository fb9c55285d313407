"""Rules in words, alike on pages and in commands: what a rule takes and whom it notifies."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dashboard.domain.notification import Recipient
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rule import Rule
from dashboard.domain.rule_keys import write_recipients


def scope_in_words(rule: Rule, network_name: Callable[[NetworkId], str]) -> str:
    """Say which changes a rule takes; texts of people stay foreign text."""
    return "; ".join(_scope(rule, network_name)) or "all"


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
