"""What is pushed to Alertmanager: one alert for each incident, the same from opening to end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dashboard.alert.channels.alertmanager import (
    FIRES_FOR,
    REJECTION_FIRES_FOR,
    AlertmanagerChannel,
    PushedAlert,
    alerts_of,
)
from dashboard.alert.channels.http_to_public_addresses import HttpRules, parse_target
from dashboard.alert.compose import Links, NetworkName, message_of_trial
from dashboard.alert.message import Message
from dashboard.alert.message_writer import load_templates
from dashboard.alert.payload import payload_of
from dashboard.domain.alerts.condition import INSTALLATION, State, Subject, SubjectKind
from dashboard.domain.alerts.incident import NotifiedChange
from dashboard.domain.people.access import Actor
from dashboard.domain.secret import Secret
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    a_hash,
    a_notification,
    a_record,
    a_transition,
    seconds,
)
from tests.waiting import PATIENCE
from tests.webhook_server import Receiver, http_receiver

NETWORKS = {A_NETWORK: NetworkName("devnet")}
LATER = A_MOMENT + seconds(60)
BUSY = Subject(SubjectKind.BUSYNESS, A_NETWORK)


def pushed(subject: Subject, before: State | None, after: State, url: str = "") -> dict[str, Any]:
    transition = a_transition(subject=subject, before=before, after=after)
    rejection = {} if subject.tx_hash else {"rejection": None}
    notification = a_notification(transition=transition, **rejection)
    message = Message("devnet is busy", "It is busy.\n", "")
    templates = load_templates(NETWORKS, Links(url))
    payload = payload_of(notification, message, templates, [notification.first])
    return alerts_of(payload, LATER)[0].form()


def test_alert_has_labels_annotations_and_a_link() -> None:
    assert pushed(BUSY, State.CALM, State.BUSY, "https://watch.example") == {
        "labels": {
            "alertname": "LinewatchNetworkBusy",
            "condition": "busyness",
            "network": "devnet",
            "network_id": "424242",
        },
        "annotations": {"summary": "devnet is busy", "description": "It is busy.\n"},
        "startsAt": "2026-11-20T12:00:00Z",
        "endsAt": "2026-11-20T12:06:00Z",
        "generatorURL": "https://watch.example/alerts?network=424242",
    }
    assert seconds(300) == FIRES_FOR


def test_end_of_an_incident_ends_its_alert() -> None:
    opened, over = (
        pushed(BUSY, State.CALM, State.BUSY),
        pushed(BUSY, State.BUSY, State.CALM),
    )

    assert opened["labels"] == over["labels"]
    assert over["endsAt"] == "2026-11-20T12:00:00Z"
    assert "generatorURL" not in over


def test_rejection_is_an_alert_of_its_hash_that_ends_by_itself() -> None:
    alert = pushed(Subject.transaction(A_NETWORK, a_hash(2)), None, State.REJECTED)

    assert alert["labels"]["alertname"] == "LinewatchTransactionRejected"
    assert (alert["labels"]["tx_hash"], alert["labels"]["stage"]) == (str(a_hash(2)), "RPC")
    assert alert["endsAt"] == "2026-11-20T12:16:00Z"
    assert seconds(900) == REJECTION_FIRES_FOR


def test_each_of_many_changes_is_described_by_itself() -> None:
    notification = a_notification(member_count=2)
    busy = NotifiedChange(a_transition(2, subject=BUSY, before=State.CALM, after=State.BUSY))
    message = Message("2 changes", "Two changes.\n", "")
    templates = load_templates(NETWORKS, Links())

    payload = payload_of(notification, message, templates, [notification.first, busy])

    headline = "ADD over limit 1.14 × · 0x00000000…000001 · devnet"
    assert [each.annotations for each in alerts_of(payload, LATER)] == [
        {"summary": headline, "description": a_record().reason_message},
        dict.fromkeys(("summary", "description"), "devnet: busyness changed to busy"),
    ]


def test_what_is_about_the_installation_has_no_label_of_a_network() -> None:
    disk = Subject(SubjectKind.DISK, INSTALLATION)

    labels = pushed(disk, State.ENOUGH_SPACE, State.LOW_ON_SPACE)["labels"]

    assert labels == {"alertname": "LinewatchDiskFilling", "condition": "disk"}


@pytest.mark.parametrize("kind", sorted({*SubjectKind} - {SubjectKind.DIGEST}))  # sent by mail
def test_each_condition_has_a_name_of_its_own(kind: SubjectKind) -> None:
    tx_hash = a_hash() if kind is SubjectKind.TRANSACTION else None

    assert pushed(Subject(kind, A_NETWORK, tx_hash), None, State.BUSY)["labels"][
        "alertname"
    ] not in {"Linewatch", ""}


def test_test_message_is_an_alert_of_a_minute() -> None:
    payload = message_of_trial(Actor("kim", A_MOMENT)).payload

    alert = alerts_of(payload, LATER)[0]

    assert alert.labels == {"alertname": "LinewatchTest"}
    assert alert.ends_at - alert.starts_at == seconds(60)


@pytest.mark.parametrize(
    ("username", "login"), [("ann", "Basic YW5uOmNhbmFyeQ=="), ("", None)], ids=["login", "none"]
)
def test_many_alerts_are_pushed_some_hundred_at_once(username: str, login: str | None) -> None:
    receiver = Receiver(200)
    alerts = [
        PushedAlert({"number": str(each)}, {"summary": "ü"}, A_MOMENT, A_MOMENT)
        for each in range(1001)
    ]
    with http_receiver(receiver) as port:
        target = parse_target(Secret(f"http://127.0.0.1:{port}/am/"))
        rules = HttpRules(seconds(PATIENCE), allow_private=True)
        channel = AlertmanagerChannel(target, lambda: LATER, rules, username, Secret("canary"))
        channel.push(alerts)

    assert {(each.path, each.headers["Authorization"]) for each in receiver.requests} == {
        ("/am/api/v2/alerts", login)
    }
    pushes = [json.loads(each.body) for each in receiver.requests]
    assert [len(each) for each in pushes] == [500, 500, 1]
    assert [each for push in pushes for each in push] == [each.form() for each in alerts]
    assert all(each.body.isascii() for each in receiver.requests)
