"""Routes for tests of notifications that are not about grouping: each is about one transition."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from dashboard.domain.alerts.condition import Transition
from dashboard.domain.alerts.holding import RuleRoute
from dashboard.domain.alerts.hourly_cap import Closing
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import ObservedChange
from dashboard.domain.people.recipients import ConfiguredRecipients, RecipientDirectory
from dashboard.store.alerts.closings import open_notifications
from dashboard.store.alerts.outbox import OutboxEntry, expand
from dashboard.store.engine.connection import Connection


def alone(change: ObservedChange, recipients: Sequence[Recipient]) -> list[RuleRoute]:
    """Route each transition that is news to everybody, as an incident of its own."""
    group = (("transition", str(change.transition.transition_id)),)
    return [RuleRoute("alone", group, tuple(recipients))] if change.transition.is_notifiable else []


def by_subject(transition: Transition, recipients: Sequence[Recipient]) -> list[RuleRoute]:
    """Route each transition to everybody; those of one subject are one incident."""
    return [RuleRoute("by subject", (("subject", transition.subject.key()),), tuple(recipients))]


def expand_alone(
    connection: Connection, entry: OutboxEntry, recipients: Sequence[Recipient], now: datetime
) -> int:
    """Make a notification for each recipient of one transition, an incident of its own."""
    group = (("transition", str(entry.transition.transition_id)),)
    routes = [RuleRoute("alone", group, tuple(recipients))]
    return expand(connection, [(entry, routes)], now, trusting(recipients))


def trusting(recipients: Sequence[Recipient]) -> RecipientDirectory:
    """Return a directory in which the settings name these recipients."""
    return RecipientDirectory(ConfiguredRecipients(tuple(recipients)))


def closings_for(connection: Connection, recipient: Recipient) -> Sequence[Closing]:
    """Close everything that groups for a recipient, each notification by itself."""
    mine = [each for each in open_notifications(connection) if each.recipient == recipient]
    return [Closing(each.notification_id) for each in mine]
