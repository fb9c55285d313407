"""Composes the messages of notifications, for people and programs, with what the store knows."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from html import escape
from itertools import islice
from threading import Lock
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from msgspec.structs import replace

from dashboard.alert.compose import (
    Links,
    MessageContext,
    MessageTemplates,
    NetworkName,
    TemplatePair,
    compose,
)
from dashboard.alert.grouped_text import compose_grouped
from dashboard.alert.message import Message
from dashboard.alert.payload import payload_of
from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.incident import Incident, NotifiedChange
from dashboard.domain.alerts.inhibition import SOURCES, SourceOutage, inhibited_rules
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.kinds.table import KINDS
from dashboard.domain.alerts.notification import (
    FIRST_MEMBERS,
    Notification,
    NotificationKind,
    Recipient,
)
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.fees.busy_spells import BusyContext
from dashboard.domain.markup import with_units
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.domain.quantity import NetworkId
from dashboard.errors import DeliveryDeferred, DeliveryWithheld, StoreError
from dashboard.store.alerts.alert_status import source_outages
from dashboard.store.alerts.notifications import (
    all_members,
    incidents_in,
    link_key,
    sent_changes,
)
from dashboard.store.alerts.recipients import read_directory
from dashboard.store.alerts.reminders_and_escalations import events_behind, last_changes
from dashboard.store.alerts.rules import rules_in_force
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.busy_context import read_busy_context
from dashboard.store.evidence.evidence import (
    with_ends,
    with_labels,
    with_previous,
    with_statements,
)
from dashboard.store.fees.latest import latest_fees
from dashboard.store.rejections.limits_end import known_limits

_PORTION: Final = 500
_MANY: Final = 500
"""From this number of changes on, a message takes megabytes while it is composed."""

_SUMMARIES: Final = {NotificationKind.CHANGE, NotificationKind.SUMMARY}
_LATEST: Final = timedelta(minutes=10)
"""Suggested fees older than this say nothing about now."""

_CODE: Final = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class MessageWriter:
    """Reads from the store what a message says besides its notification; used by many threads.

    Messages over a channel of `programs` also carry the payload for these.

    Messages of many changes are composed one after the other: after a storm each recipient gets
    one, and in parallel they would take their megabytes at once, without being ready any sooner.
    """

    store: Store
    templates: MessageTemplates
    recipients: ConfiguredRecipients | None = None
    programs: Collection[str] = ()
    _large: Lock = field(default_factory=Lock, repr=False, compare=False)

    def write(self, notification: Notification) -> Message:
        """Compose the message; DeliveryDeferred if the store cannot be read now.

        DeliveryWithheld if nothing may be sent to its recipient any more, since it was claimed.

        Times are in UTC and the recipient's zone; without `recipients`, in that of the templates.
        """
        try:
            message = self._message(notification)
            if notification.recipient.channel not in self.programs:
                return message
            members = self._all_members(notification)
            with self.store.read() as connection:
                members = with_statements(connection, members)
        except StoreError as error:
            raise DeliveryDeferred(f"the message cannot be written: {error}") from error
        return replace(message, payload=payload_of(notification, message, self.templates, members))

    def _message(self, notification: Notification) -> Message:
        templates = self._templates_for(notification.recipient)
        beside, settled, critical = self._incidents_in(notification)
        if notification.is_grouped or notification.is_of_incidents or beside:
            with self._large if notification.member_count >= _MANY else nullcontext():
                with self.store.read() as connection:
                    events = events_behind(connection, notification)
                changes = self._changes(notification)
                return compose_grouped(
                    notification, templates, changes, beside, events, settled, critical
                )
        with self.store.read() as connection:
            [known] = _known(connection, [notification.first])
            is_of_changes = notification.is_of_changes
            context = MessageContext(
                with_previous(connection, known),
                _busy(connection, known, notification.dated) if is_of_changes else None,
                events_behind(connection, notification),
                _inhibited(connection, notification, known) if is_of_changes else (),
            )
        return compose(notification, templates, context)

    def _all_members(self, notification: Notification) -> list[NotifiedChange]:
        """Read every change that a notification is about, at most 5,000.

        If a person ended its incidents, these are all changes that were sent to its recipient.
        """
        is_of_many = notification.is_grouped or notification.is_of_incidents
        if notification.ends_incidents:
            with self.store.read() as connection:
                sent = sent_changes(connection, notification)
            if sent:
                return sent
        return list(self._members(notification)) if is_of_many else [notification.first]

    def _templates_for(self, recipient: Recipient) -> MessageTemplates:
        if self.recipients is None:
            return self.templates
        with self.store.read() as connection:
            directory = read_directory(connection, self.recipients)
            if why := directory.withheld(recipient):
                raise DeliveryWithheld(why)
            zone = directory.zone(recipient)
            key = link_key(connection) or b""  # a person may have renewed it
            named = self.templates.networks
            limits = known_limits(
                connection, {which: each.line_limits for which, each in named.items()}
            )
        networks = {
            which: replace(each, line_limits=limits[which]) for which, each in named.items()
        }
        links = dataclasses.replace(self.templates.links, key=key)
        return replace(self.templates, zone=zone, links=links, networks=networks)

    def _incidents_in(
        self, notification: Notification
    ) -> tuple[list[Incident], list[Incident], list[str]]:
        """Read a summary's incidents without a change in it, settled ones, and critical rules."""
        if notification.incident is not None:
            return [], [], []
        with self.store.read() as connection:
            changed, beside = incidents_in(connection, notification.notification_id)
        lasting = [each for each in (*changed, *beside) if each.is_open]
        final = [each for each in changed if not KINDS[RuleKind(each.kind)].is_lasting]
        critical = {each.rule for each in (*lasting, *final) if each.severity == Severity.CRITICAL}
        if notification.kind not in _SUMMARIES:
            return [], [], sorted(critical)
        settled = [each for each in changed if each.owner or each.was_cut_short]
        return beside, settled, sorted(critical)

    def _changes(self, notification: Notification) -> Iterator[NotifiedChange]:
        """Read every change in the order of events, a few hundred at a time; raises StoreError.

        Those that the text names come with the record before, all with their labels.
        """
        members = self._members(notification)
        named = FIRST_MEMBERS
        while part := list(islice(members, _PORTION)):
            with self.store.read() as connection:
                known = _known(connection, part)
                known[:named] = [with_previous(connection, each) for each in known[:named]]
            named = 0
            yield from known

    def _members(self, notification: Notification) -> Iterator[NotifiedChange]:
        if not notification.is_of_incidents:
            return all_members(self.store, notification.notification_id)
        with self.store.read() as connection:
            found = last_changes(connection, notification.notification_id)
        return iter(found or [notification.first])


def _known(connection: Connection, changes: Sequence[NotifiedChange]) -> list[NotifiedChange]:
    """Return the changes with what messages say of them, except for the records before."""
    return with_statements(connection, with_ends(connection, with_labels(connection, changes)))


def _inhibited(
    connection: Connection, notification: Notification, change: NotifiedChange
) -> tuple[str, ...]:
    """Return the rules that cannot be evaluated while the reported condition lasts."""
    transition, subject = change.transition, change.transition.subject
    is_over = change.ended is not None or not transition.after.is_open
    if subject.kind not in SOURCES or is_over:
        return ()
    replaced = any(
        each.is_replaced and (each.kind, each.network_id) == (subject.kind, subject.network_id)
        for each in source_outages(connection, notification.dated)
    )
    source = SourceOutage(subject.kind, subject.network_id, transition.at, replaced)
    return tuple(inhibited_rules(source, rules_in_force(connection)))


def _busy(connection: Connection, change: NotifiedChange, dated: datetime) -> BusyContext | None:
    """Read the context of a busy network, as of a message's date; None for everything else."""
    transition, grounds = change.transition, change.transition.grounds
    is_busy = transition.after is State.BUSY and change.ended is None
    if not is_busy or not isinstance(grounds, FeeGrounds):
        return None
    network_id, at = transition.subject.network_id, max(transition.at, dated)
    context = read_busy_context(connection, network_id, grounds, at)
    latest = latest_fees(connection, network_id, at)
    if latest is None or at - latest.asked_at > _LATEST:
        return context
    return replace(context, suggested=latest.value, suggested_at=latest.asked_at)


def load_templates(
    networks: Mapping[NetworkId, NetworkName], links: Links, zone: tzinfo = UTC
) -> MessageTemplates:
    """Read the templates from the package; times are printed in UTC and in `zone`."""
    environment = Environment(
        loader=PackageLoader("dashboard.alert"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"with_code": _with_code, "kept": with_units}
    return MessageTemplates(
        change=_pair(environment, "change"),
        grouped=_pair(environment, "grouped"),
        networks=networks,
        links=links,
        zone=zone,
    )


def _with_code(text: str) -> str:
    """Return a sentence as HTML, with the text between backticks as code."""
    return _CODE.sub(r'<span class="code">\1</span>', escape(text))


def _pair(environment: Environment, name: str) -> TemplatePair:
    return TemplatePair(
        environment.get_template(f"{name}.txt"), environment.get_template(f"{name}.html")
    )
