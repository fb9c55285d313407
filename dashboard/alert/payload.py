"""The payload of a notification for webhooks: one object, as in docs/alert-channels.md."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from dashboard.alert.compose import (
    Links,
    MessageTemplates,
    NetworkNames,
    name_in,
    text_of,
    title_of,
)
from dashboard.alert.message import Message
from dashboard.domain.alerts.condition import INSTALLATION, Transition
from dashboard.domain.alerts.incident import NotifiedChange
from dashboard.domain.alerts.notification import Notification, NotificationKind
from dashboard.domain.markup import visible
from dashboard.domain.quantity import NetworkId
from dashboard.domain.tracking.statements import statements_in_words
from dashboard.wire.decoding import format_timestamp


def payload_of(
    notification: Notification,
    message: Message,
    templates: MessageTemplates,
    members: Sequence[NotifiedChange],
) -> dict[str, object]:
    """Return the object; the same at every attempt.

    `members` are all changes that the notification is about.
    """
    networks = templates.networks
    rows = [_member(each, networks) | _end_of(notification) for each in members]
    return {
        "type": f"incident.{_phase(notification, members[-1].transition)}",
        "timestamp": format_timestamp(_happened_at(notification, members)),
        "data": {
            "notificationId": str(notification.notification_id),
            "occasion": str(notification.kind),
            "subject": visible(message.subject),
            "text": message.text,
            "incident": _incident(notification, networks),
            **rows[0],
            "link": _link(notification, templates.links) or None,
            "memberCount": len(rows),
            "part": 1,
            "partCount": 1,
            "members": rows,
        },
    }


def _happened_at(notification: Notification, members: Sequence[NotifiedChange]) -> datetime:
    """Return when it happened: the last change, or what somebody did since."""
    if notification.kind is NotificationKind.CHANGE:
        return members[-1].transition.at
    return notification.created_at


def _phase(notification: Notification, last: Transition) -> str:
    """Return the phase of the incident, which what follows the first notification changes."""
    if not last.after.is_open or notification.ends_incidents:
        return "resolved"
    is_change = notification.kind is NotificationKind.CHANGE
    is_first = is_change and not notification.in_reply_to and last.before is not last.after
    return "opened" if is_first else "changed"


def _end_of(notification: Notification) -> dict[str, object]:
    """Return what differs for changes of incidents that somebody resolved or closed."""
    if not notification.ends_incidents:
        return {}
    resolved_at = None if notification.incident is None else notification.incident.resolved_at
    return {"isOpen": False, "at": format_timestamp(resolved_at or notification.created_at)}


def _incident(notification: Notification, networks: NetworkNames) -> dict[str, object] | None:
    """Return the incident; None for a summary of several."""
    incident = notification.incident
    if incident is None:
        return None
    return {
        "id": str(incident.incident_id),
        "title": title_of(incident, networks),
        "rule": visible(incident.rule),
        "severity": incident.severity,
        "group": {visible(name): visible(value) for name, value in incident.group},
        "openedAt": format_timestamp(incident.opened_at),
    }


def _member(member: NotifiedChange, networks: NetworkNames) -> dict[str, object]:
    """Return one change; `openedAt` is when the condition opened that it changes or ends."""
    transition, subject = member.transition, member.transition.subject
    text = text_of(member, name_in(networks, subject.network_id), UTC)
    return {
        "headline": text.subject or text.headline,
        "condition": str(subject.kind),
        "rule": visible(subject.rule) or None,
        "dimension": visible(subject.dimension) or None,
        "before": None if transition.before is None else str(transition.before),
        "after": str(transition.after),
        "isOpen": transition.after.is_open,
        "at": format_timestamp(transition.began_at),
        "openedAt": format_timestamp(member.opened_at or transition.began_at),
        "network": _network(subject.network_id, networks),
        "transaction": None
        if subject.tx_hash is None
        else _transaction(str(subject.tx_hash), member),
    }


def _network(network_id: NetworkId, networks: NetworkNames) -> object:
    if network_id == INSTALLATION:
        return None
    named = name_in(networks, network_id)
    return {
        "id": int(network_id),
        "title": visible(named.title),
        "isSimulated": named.is_simulated,
    }


def _transaction(tx_hash: str, member: NotifiedChange) -> dict[str, object]:
    rejection = member.rejection
    if rejection is None:
        return {"hash": tx_hash}
    record = rejection.record
    return {
        "hash": tx_hash,
        "sender": None if record.sender is None else str(record.sender),
        "nonce": record.nonce,
        "stage": str(record.tx_rejection_stage),
        "reason": visible(record.reason_message),
        "timestamp": None if record.timestamp is None else format_timestamp(record.timestamp),
        "blockNumber": record.block_number,
        "firstSeenAt": format_timestamp(rejection.first_seen_at),
        "endpointsSay": statements_in_words(member.statements) or None,
    }


def _link(notification: Notification, links: Links) -> str:
    subject = notification.transition.subject
    if subject.tx_hash is not None:
        return links.lookup(subject.tx_hash)
    return links.page("alerts", subject.network_id)
