"""What a notification says to programs: the JSON object of webhooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from dashboard.alert.compose import Links, NetworkName
from dashboard.alert.message import Message
from dashboard.domain.condition import INSTALLATION, Transition
from dashboard.domain.exclusion import StoredRejection
from dashboard.domain.foreign_text import visible
from dashboard.domain.notification import Notification
from dashboard.domain.quantity import NetworkId
from dashboard.wire.timestamp import format_timestamp


def with_facts(
    compose: Callable[[Notification], Message],
    networks: Mapping[NetworkId, NetworkName],
    links: Links,
) -> Callable[[Notification], Message]:
    """Return who writes messages with what programs get beside the text."""

    def composed(notification: Notification) -> Message:
        message = compose(notification)
        return replace(message, facts=facts_of(notification, message, networks, links))

    return composed


def facts_of(
    notification: Notification,
    message: Message,
    networks: Mapping[NetworkId, NetworkName],
    links: Links,
) -> dict[str, object]:
    """Return the object, as docs/alerts.md describes it; the same at every attempt."""
    transition, incident = notification.transition, notification.incident
    subject = transition.subject
    return {
        "type": f"incident.{_phase(transition)}",
        "timestamp": format_timestamp(transition.at),
        "data": {
            "notificationId": str(notification.notification_id),
            "subject": visible(message.subject),
            "text": message.text,
            "incident": {
                "id": str(transition.transition_id if incident is None else incident.incident_id),
                "openedAt": format_timestamp(
                    transition.at if incident is None else incident.opened_at
                ),
            },
            "condition": str(subject.kind),
            "before": None if transition.before is None else str(transition.before),
            "after": str(transition.after),
            "network": _network(subject.network_id, networks),
            "transaction": None
            if subject.tx_hash is None
            else _transaction(str(subject.tx_hash), notification.rejection),
            "link": _link(notification, links) or None,
        },
    }


def _phase(transition: Transition) -> str:
    if not transition.after.is_open:
        return "resolved"
    return "changed" if transition.before is transition.after else "opened"


def _network(network_id: NetworkId, networks: Mapping[NetworkId, NetworkName]) -> object:
    if network_id == INSTALLATION:
        return None
    named = networks.get(network_id, NetworkName(f"network {network_id}"))
    return {
        "id": int(network_id),
        "title": visible(named.title),
        "isSimulated": named.is_simulated,
    }


def _transaction(tx_hash: str, rejection: StoredRejection | None) -> dict[str, object]:
    if rejection is None:
        return {"hash": tx_hash}
    record = rejection.record
    return {
        "hash": tx_hash,
        "sender": str(record.sender),
        "nonce": record.nonce,
        "stage": str(record.tx_rejection_stage),
        "reason": visible(record.reason_message),
        "timestamp": format_timestamp(record.timestamp),
        "blockNumber": record.block_number,
        "firstSeenAt": format_timestamp(rejection.first_seen_at),
    }


def _link(notification: Notification, links: Links) -> str:
    subject = notification.transition.subject
    if subject.tx_hash is not None:
        return links.lookup(subject.tx_hash)
    return links.page("alerts", subject.network_id)
