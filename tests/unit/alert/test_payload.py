"""What programs get of a notification: the object that docs/alert-channels.md describes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dashboard.alert.compose import Links, MessageTemplates, NetworkName
from dashboard.alert.message import Message
from dashboard.alert.message_writer import load_templates
from dashboard.alert.payload import payload_of
from dashboard.domain.alerts.condition import INSTALLATION, State, Subject, SubjectKind
from dashboard.domain.alerts.incident import NotifiedChange
from dashboard.domain.alerts.notification import Notification, NotificationKind
from dashboard.domain.rejections.exclusion import RejectedTransaction
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    a_hash,
    a_notification,
    a_record,
    a_rejection,
    a_transition,
    an_id,
    an_incident,
    seconds,
)

NETWORKS = {A_NETWORK: NetworkName("devnet", is_simulated=True)}
TEMPLATES = load_templates(NETWORKS, Links())
LINKING = load_templates(NETWORKS, Links("https://watch.example/"))
MESSAGE = Message("[Linewatch] Rejected", "It was rejected.\n", "")


def payload(
    notification: Notification, templates: MessageTemplates = TEMPLATES
) -> dict[str, object]:
    return payload_of(notification, MESSAGE, templates, [notification.first])


def data(notification: Notification, templates: MessageTemplates = TEMPLATES) -> dict[str, object]:
    found = payload(notification, templates)["data"]
    assert isinstance(found, dict)
    return found


def test_rejection_comes_with_its_record_and_network() -> None:
    record = a_record(reason_message="over\u202e the limit", nonce=7)
    notification = a_notification(rejection=a_rejection(record=record))

    found = payload(notification, LINKING)

    change = {
        "headline": "unknown reason · 0x00000000…000001 · devnet",
        "condition": "transaction",
        "rule": None,
        "dimension": None,
        "before": None,
        "after": "rejected",
        "isOpen": True,
        "at": "2026-11-20T12:00:00Z",
        "openedAt": "2026-11-20T12:00:00Z",
        "network": {"id": 424242, "title": "devnet", "isSimulated": True},
        "transaction": known_of(record),
    }
    assert (found["type"], found["timestamp"]) == ("incident.opened", "2026-11-20T12:00:00Z")
    assert found["data"] == change | {
        "notificationId": str(an_id()),
        "occasion": "change",
        "subject": MESSAGE.subject,
        "text": MESSAGE.text,
        "incident": None,
        "link": f"https://watch.example/lookup?tx={a_hash()}",
        "memberCount": 1,
        "part": 1,
        "partCount": 1,
        "members": [change],
    }


def known_of(record: RejectedTransaction) -> dict[str, object]:
    return {
        "hash": str(a_hash()),
        "sender": str(record.sender),
        "nonce": 7,
        "stage": str(record.tx_rejection_stage),
        "reason": "over\\u202e the limit",
        "timestamp": "2026-11-20T12:00:00Z",
        "blockNumber": None,
        "firstSeenAt": "2026-11-20T12:00:03Z",
        "endpointsSay": None,
    }


def test_grouped_changes_are_all_named() -> None:
    members = [NotifiedChange(a_transition(number)) for number in range(1, 41)]
    notification = a_notification(member_count=40, in_reply_to="<1@example.org>")

    found = payload_of(notification, MESSAGE, TEMPLATES, members)

    assert found["type"] == "incident.changed"
    assert isinstance(found["data"], dict)
    assert found["data"]["memberCount"] == 40
    hashes = [each["transaction"]["hash"] for each in found["data"]["members"]]
    assert hashes == [str(a_hash(number)) for number in range(1, 41)]


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (State.REJECTED, State.REJECTED, "incident.changed"),
        (State.CALM, State.BUSY, "incident.opened"),
        (State.BUSY, State.CALM, "incident.resolved"),
    ],
)
def test_type_says_what_happened_to_the_incident(before: State, after: State, kind: str) -> None:
    notification = a_notification(
        transition=a_transition(before=before, after=after),
        incident=an_incident(opened_at=A_MOMENT - seconds(60)),
    )

    assert payload(notification)["type"] == kind
    assert data(notification)["incident"] == {
        "id": str(an_id(9)),
        "title": "devnet: 1 rejected, ADD over limit (RPC)",
        "rule": "rejections",
        "severity": "warning",
        "group": {"network": "424242", "module": "ADD", "stage": "RPC"},
        "openedAt": "2026-11-20T11:59:00Z",
    }


def test_type_of_several_changes_is_that_of_the_last() -> None:
    turns = [(State.CALM, State.BUSY), (State.BUSY, State.CALM)]
    members = [NotifiedChange(a_transition(before=each, after=after)) for each, after in turns]
    notification = a_notification(transition=members[0].transition, member_count=2)

    found = payload_of(notification, MESSAGE, TEMPLATES, members)

    assert found["type"] == "incident.resolved"


def test_what_somebody_did_happened_when_they_did_it() -> None:
    acted = a_notification(kind=NotificationKind.ACKNOWLEDGED, created_at=A_MOMENT + seconds(90))

    assert payload(acted)["timestamp"] == "2026-11-20T12:01:30Z"
    assert payload(replace(acted, kind=NotificationKind.CHANGE))["timestamp"] == (
        "2026-11-20T12:00:00Z"
    )


def test_what_is_about_the_installation_has_no_network_and_no_transaction() -> None:
    subject = Subject(SubjectKind.DISK, INSTALLATION)
    notification = a_notification(transition=a_transition(subject=subject), rejection=None)

    found = data(notification, LINKING)

    assert (found["network"], found["transaction"]) == (None, None)
    assert found["link"] == "https://watch.example/alerts"


def test_hash_without_a_record_and_unknown_network_are_named() -> None:
    subject = Subject.transaction(A_NETWORK, a_hash(2))
    notification = a_notification(transition=a_transition(subject=subject), rejection=None)

    found = data(notification, load_templates({}, Links()))

    assert found["transaction"] == {"hash": str(a_hash(2))}
    assert found["network"] == {"id": 424242, "title": "network 424242", "isSimulated": False}
    assert found["link"] is None


def test_closed_incident_is_resolved_for_programs_although_its_condition_lasts() -> None:
    over_at = A_MOMENT + seconds(60)
    closed = a_notification(kind=NotificationKind.CLOSED, incident=an_incident(resolved_at=over_at))

    found = payload(closed)

    assert found["type"] == "incident.resolved"
    assert (data(closed)["isOpen"], data(closed)["at"]) == (False, "2026-11-20T12:01:00Z")
