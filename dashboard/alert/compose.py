"""Write the message of a notification: what changed, why, and what to do next; or a digest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from html import escape
from typing import Final, TypeAlias
from uuid import UUID

from jinja2 import Template
from msgspec import Struct
from msgspec.structs import replace

from dashboard.alert.digest_text import describe_digest
from dashboard.alert.incident_text import BusyText, describe, describe_busy, tone_of
from dashboard.alert.message import InlineImage, Message
from dashboard.alert.occasion import Occasion, occasion_of
from dashboard.alert.rejection_text import RejectionContext, describe_inclusion, describe_rejection
from dashboard.domain.alerts.condition import INSTALLATION, DigestGrounds, SubjectKind
from dashboard.domain.alerts.incident import Incident, IncidentEvent, NotifiedChange
from dashboard.domain.alerts.inhibition import inhibited_in_words
from dashboard.domain.alerts.kinds.delivery import DeliveryGrounds, describe_own_failure
from dashboard.domain.alerts.kinds.kind import DescribedChange, IncidentText, Rows
from dashboard.domain.alerts.notification import Notification, NotificationKind, Recipient
from dashboard.domain.alerts.rule_text import LONGEST_TITLE, incident_title
from dashboard.domain.alerts.signed_link import (
    ACTION_VALID_FOR,
    UNSUBSCRIBE_VALID_FOR,
    LinkPurpose,
    SignedLink,
    sign,
)
from dashboard.domain.fees.busy_spells import BusyContext
from dashboard.domain.formatting import moment, moment_in, unnamed_network
from dashboard.domain.markup import unlinked, unlinked_name, visible
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.line_limits import NO_TABLES, LineLimits
from dashboard.wire.decoding import format_timestamp

_CODE: Final = frozenset({"Transaction", "Sender"})
"""Labels of lines with hexadecimal values."""


class NetworkName(Struct, frozen=True):
    """The title of a network, whether its data is simulated, and its line limits."""

    title: str
    is_simulated: bool = False
    line_limits: LineLimits = NO_TABLES


NetworkNames: TypeAlias = Mapping[NetworkId, NetworkName]
"""The networks of the settings."""


def name_in(networks: NetworkNames, network_id: NetworkId, installation: str = "") -> NetworkName:
    """Return the name of a network in messages, configured or not; `installation` without one."""
    unknown = installation if network_id == INSTALLATION else unnamed_network(network_id)
    return networks.get(network_id, NetworkName(unknown))


@dataclass(frozen=True, slots=True)
class Links:
    """The addresses to which messages link; empty without `public_url`.

    `key` signs the links with which recipients act; without it there are none of these.
    """

    public_url: str = ""
    key: bytes = field(default=b"", repr=False)

    def lookup(self, tx_hash: TxHash) -> str:
        """Return the address of the transaction's page, or an empty text."""
        base = self.public_url.rstrip("/")
        return f"{base}/lookup?tx={tx_hash}" if base else ""

    def page(self, name: str, network_id: NetworkId) -> str:
        """Return the address of a page about one network, or about all, or an empty text."""
        base = self.public_url.rstrip("/")
        about = "" if network_id == INSTALLATION else f"?network={network_id}"
        return f"{base}/{name}{about}" if base else ""

    def acknowledge(self, incident_id: UUID, recipient: Recipient, at: datetime) -> str:
        """Return where a recipient acknowledges an incident, from `at` on, or an empty text."""
        until = at + ACTION_VALID_FOR
        return self._signed(SignedLink(LinkPurpose.ACKNOWLEDGE, recipient, until, incident_id))

    def silence(self, incident_id: UUID, recipient: Recipient, at: datetime) -> str:
        """Return where a recipient silences the subject of an incident, or an empty text."""
        until = at + ACTION_VALID_FOR
        return self._signed(SignedLink(LinkPurpose.SILENCE, recipient, until, incident_id))

    def unsubscribe(self, recipient: Recipient, at: datetime) -> str:
        """Return where a recipient unsubscribes, or an empty text."""
        until = at + UNSUBSCRIBE_VALID_FOR
        return self._signed(SignedLink(LinkPurpose.UNSUBSCRIBE, recipient, until))

    def verify(self, recipient: Recipient, until: datetime) -> str:
        """Return where a recipient confirms that messages may be sent to them, or an empty text."""
        return self._signed(SignedLink(LinkPurpose.VERIFY, recipient, until))

    def _signed(self, link: SignedLink) -> str:
        if not self.public_url or not self.key:
            return ""
        return f"{self.public_url.rstrip('/')}/link/{sign(link, self.key)}"


class ActionLinks(Struct, frozen=True):
    """Where the recipient of a message can act; each is empty if they cannot."""

    acknowledge: str = ""
    silence: str = ""
    unsubscribe: str = ""


def actions_of(notification: Notification, links: Links) -> ActionLinks:
    """Return the links with which the recipient of a notification can act.

    A resolved or acknowledged incident needs none, and only people with an address unsubscribe.
    """
    recipient, at, incident = notification.recipient, notification.dated, notification.incident
    unsubscribe = links.unsubscribe(recipient, at) if "@" in recipient.address else ""
    if incident is None or notification.ends_incidents or not notification.transition.after.is_open:
        return ActionLinks(unsubscribe=unsubscribe)
    is_free = incident.is_open and not incident.owner
    return ActionLinks(
        links.acknowledge(incident.incident_id, recipient, at) if is_free else "",
        links.silence(incident.incident_id, recipient, at),
        unsubscribe,
    )


class TemplatePair(Struct, frozen=True):
    """The two templates of one kind of message."""

    text: Template
    html: Template


class MessageTemplates(Struct, frozen=True):
    """The loaded templates, and what every message of this installation needs.

    Times are printed in UTC and in `zone`.
    """

    change: TemplatePair
    grouped: TemplatePair
    networks: NetworkNames
    links: Links = Links()
    zone: tzinfo = UTC


class MessageContext(Struct, frozen=True):
    """What the store knows of a change, and of the fees around a network that became busy.

    `events` are what people did, if the notification is about that. `inhibited` are the names of
    rules that cannot be evaluated meanwhile.
    """

    change: NotifiedChange
    busy: BusyContext | None = None
    events: tuple[IncidentEvent, ...] = ()
    inhibited: tuple[str, ...] = ()


def compose(
    notification: Notification,
    templates: MessageTemplates,
    context: MessageContext | None = None,
) -> Message:
    """Compose the message; the same notification and context give the same message every time.

    `context` is what else the store knows of it; without a context the message says less. Foreign
    text appears only as quotation and as labels, `unlinked` and, in HTML, escaped by the template.
    """
    context = context or MessageContext(notification.first)
    change, events = context.change, context.events
    busy = BusyText() if context.busy is None else describe_busy(context.busy, templates.zone)
    network = network_named(change.transition.subject.network_id, templates)
    text = _text_for(notification, context, network, templates)
    simulated = " (simulated data)" if network.is_simulated else ""
    chart_id = f"chart.{notification.message_id.strip('<>')}" if busy.chart else ""
    actions = actions_of(notification, templates.links)
    title = title_of(notification.incident, templates.networks)
    has_link = bool(actions.acknowledge)
    occasion = occasion_of(notification, templates.zone, *events, title=title, has_link=has_link)
    variables = {
        "text": text,
        "occasion": occasion,
        "steps": () if occasion.is_done else (*occasion.steps, *text.next_steps),
        "busy": busy,
        "chart_id": chart_id,
        "subject": occasion.subject(f"{text.subject or text.headline}{simulated}"),
        "preheader": _preheader(occasion, busy, text),
        "kicker": occasion.kicker or text.kicker or _state_of(change),
        "rows": (*_network_row(change, network), *text.rows),
        "code": _CODE,
        "link": link_of(change, text, templates.links),
        "link_label": "Look it up" if text.page == "lookup" else "See the current state",
        **_of_change(change, network, notification.kind, templates.zone),
        "has_links": bool(templates.links.public_url),
        "actions": actions,
    }
    return Message(
        str(variables["subject"]),
        templates.change.text.render(variables),
        templates.change.html.render(variables),
        images=(InlineImage(chart_id, busy.chart),) if busy.chart else (),
        unsubscribe=actions.unsubscribe,
    )


def _text_for(
    notification: Notification,
    context: MessageContext,
    network: NetworkName,
    templates: MessageTemplates,
) -> IncidentText:
    grounds = context.change.transition.grounds
    if isinstance(grounds, DigestGrounds):
        titles = {each: _titled(named) for each, named in templates.networks.items()}
        text = describe_digest(grounds, titles, templates.zone)
    else:
        channel = notification.recipient.channel
        text = text_of(context.change, network, templates.zone, channel)
    if context.inhibited:
        return replace(text, remark=inhibited_in_words(map(unlinked, context.inhibited)))
    return text


def _state_of(change: NotifiedChange) -> str:
    return change.transition.after.word if change.ended is None else "over"


def _of_change(
    change: NotifiedChange, network: NetworkName, kind: NotificationKind, zone: tzinfo
) -> dict[str, object]:
    return {
        "network": visible(network.title),
        "is_simulated": network.is_simulated,
        "partly_simulated": "",
        "tone": tone_of(change.transition, kind, is_over=change.ended is not None),
        "written": f"noticed this on {moment_in(change.transition.at, zone)}",
    }


def _titled(network: NetworkName) -> str:
    return f"{visible(network.title)}{' (simulated data)' if network.is_simulated else ''}"


def _network_row(change: NotifiedChange, network: NetworkName) -> Rows:
    """Name the network, except in a digest, which is about all of them."""
    if isinstance(change.transition.grounds, DigestGrounds):
        return ()
    return (("Network", _titled(network)),)


def _preheader(occasion: Occasion, busy: BusyText, text: IncidentText) -> str:
    if occasion.word:
        return occasion.said[0]
    said = busy.preheader or text.preheader or text.explanation or text.opening
    return f"Critical · {said}" if occasion.is_critical else said


def network_named(network_id: NetworkId, templates: MessageTemplates) -> NetworkName:
    """Return what is known of a network; also if the subject has none."""
    return name_in(templates.networks, network_id, "Linewatch itself")


def title_of(incident: Incident | None, networks: NetworkNames) -> str:
    """Return the title of an incident, without links; empty if there is none."""
    if incident is None:
        return ""
    title = incident_title(incident, lambda each: name_in(networks, each).title)
    return unlinked(title, LONGEST_TITLE)


def text_of(
    change: NotifiedChange, network: NetworkName, zone: tzinfo, channel: str = ""
) -> IncidentText:
    """Say what a change means in a message over `channel`; times are in UTC and in `zone`."""
    title = visible(network.title)
    if change.transition.subject.kind is SubjectKind.TRANSACTION:
        return describe_rejection(change, RejectionContext(title, network.line_limits, zone))
    if change.transition.subject.kind is SubjectKind.INCLUSION:
        return describe_inclusion(change, RejectionContext(title, network.line_limits, zone))
    grounds = change.transition.grounds
    told = DescribedChange(change.transition, title, change.opened_at, zone, change.ended)
    if isinstance(grounds, DeliveryGrounds) and change.transition.subject.dimension == channel:
        return describe_own_failure(told, grounds)
    return describe(told)


def link_of(change: NotifiedChange, text: IncidentText, links: Links) -> str:
    """Return the address of the page with more about it, or an empty text."""
    subject = change.transition.subject
    if text.page != "lookup":
        return links.page(text.page, subject.network_id)
    return "" if subject.tx_hash is None else links.lookup(subject.tx_hash)


_SUBJECT: Final = "Test message from Linewatch"


def message_of_trial(actor: Actor) -> Message:
    """Return the test message by which people try a channel, for mail and for programs alike."""
    who = unlinked_name(actor.name)
    text = (
        "This is a test message: nothing happened.\n\n"
        f"{who} asked for it on {moment(actor.at)}. If you can read it, alerts reach you too.\n"
    )
    paragraphs = "".join(f"<p>{escape(part.strip())}</p>\n" for part in text.split("\n\n"))
    html = f'<!doctype html>\n<html lang="en"><body>\n{paragraphs}</body></html>\n'
    payload = {
        "type": "test",
        "timestamp": format_timestamp(actor.at),
        "data": {"subject": _SUBJECT, "text": text},
    }
    return Message(_SUBJECT, text, html, payload=payload)
