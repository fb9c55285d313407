"""Alerts in a real Alertmanager: they fire, are repeated while open, and end with the incident."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from dashboard.alert.channels.alertmanager import AlertmanagerChannel
from dashboard.alert.channels.http_to_public_addresses import HttpRules, parse_target
from dashboard.alert.compose import Links, NetworkName
from dashboard.alert.deliver import Sending
from dashboard.alert.message import Message, always
from dashboard.alert.message_writer import MessageWriter, load_templates
from dashboard.alert.notify import expand_outbox
from dashboard.alert.payload import payload_of
from dashboard.alert.side_tasks import AlertRepeater
from dashboard.application.incidents import Incidents
from dashboard.domain.alerts.condition import Signal, State, Subject, SubjectKind
from dashboard.domain.alerts.incident import NotifiedChange
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.rule_table import replaced_by
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import Wei
from dashboard.domain.secret import Secret
from dashboard.errors import DeliveryDeferred
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.engine.engine import Store
from dashboard.wire.decoding import format_timestamp
from dashboard.wiring.clock import utc_now
from tests import plain_http
from tests.alert_watch import Watch
from tests.builders import A_NETWORK, a_hash, a_notification, a_transition
from tests.delivery_checks import reject
from tests.fake_clock import FakeClock
from tests.installation import answers, free_ports
from tests.provision import program
from tests.recording_channel import ONCALL, some_headers
from tests.waiting import PATIENCE, eventually
from tests.webhook_server import Receiver, http_receiver

_CONFIGURATION = "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"


@dataclass(frozen=True)
class RunningAlertmanager:
    """Where it listens."""

    url: str

    def alerts(self) -> list[dict[str, Any]]:
        """Return what fires now."""
        answer = plain_http.get(f"{self.url}/api/v2/alerts")
        answer.raise_for_status()
        found: list[dict[str, Any]] = answer.json()
        return found


NETWORKS = {A_NETWORK: NetworkName("devnet")}
TO_ALERTMANAGER = Recipient("alertmanager", "alertmanager")
BUSY = Subject(SubjectKind.BUSYNESS, A_NETWORK)
NEARBY = HttpRules(timedelta(seconds=PATIENCE), allow_private=True)
GROUNDS = FeeGrounds(Signal.BASE_FEE, Wei(20 * 10**9), Wei(10 * 10**9))


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningAlertmanager]:
    """Yield a real Alertmanager, which keeps what is pushed."""
    folder, [port] = tmp_path_factory.mktemp("alertmanager"), free_ports(1)
    settings = folder / "alertmanager.yml"
    settings.write_text(_CONFIGURATION, encoding="utf-8")
    arguments = [
        f"--config.file={settings}",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]
    with (folder / "alertmanager.log").open("wb") as log:
        process = subprocess.Popen(
            [program("prometheus-alertmanager"), *arguments], stdout=log, stderr=log
        )
    running = RunningAlertmanager(f"http://127.0.0.1:{port}")
    try:
        ready = partial(answers, f"{running.url}/-/ready")
        eventually(ready, what="the start of Alertmanager")
        yield running
    finally:
        process.terminate()
        process.wait(PATIENCE)


def channel_to(url: str, **login: object) -> AlertmanagerChannel:
    target = parse_target(Secret(url))
    return AlertmanagerChannel(target, utc_now, NEARBY, **login)  # type: ignore[arg-type]  # a name and a secret


def message_of(subject: Subject, before: State | None, after: State, number: int) -> Message:
    transition = a_transition(number, subject=subject, before=before, after=after, at=utc_now())
    changes = {} if subject.tx_hash else {"rejection": None}
    notification = a_notification(transition=transition, **changes)
    message = Message("Something", "It is so.\n", "")
    templates = load_templates(NETWORKS, Links("https://watch.example"))
    payload = payload_of(notification, message, templates, [notification.first])
    return replace(message, payload=payload)


def firing(alertmanager: RunningAlertmanager, name: str) -> list[str]:
    return [
        each["annotations"]["summary"]
        for each in alertmanager.alerts()
        if each["labels"]["alertname"] == name
    ]


def test_rejection_fires_in_alertmanager(alertmanager: RunningAlertmanager) -> None:
    transition = a_transition()
    answer = channel_to(f"{alertmanager.url}/").send(
        message_of(transition.subject, None, State.REJECTED, 1), some_headers()
    )

    assert answer == "200 OK"
    assert firing(alertmanager, "LinewatchTransactionRejected") == ["Something"]


def test_every_change_of_a_digest_fires_in_alertmanager(alertmanager: RunningAlertmanager) -> None:
    at = utc_now()
    members = [NotifiedChange(a_transition(number, at=at)) for number in range(1000, 1600)]
    message = Message("600 rejections", "It is so.\n", "")
    templates = load_templates(NETWORKS, Links())
    payload = payload_of(a_notification(member_count=600), message, templates, members)

    channel_to(alertmanager.url).send(replace(message, payload=payload), some_headers(), always)

    summaries = set(firing(alertmanager, "LinewatchTransactionRejected"))
    assert sum("a rejection was recorded" in each for each in summaries) == 600


def test_open_incident_is_repeated_to_one_that_restarted_and_ends_when_it_was_over(
    alertmanager: RunningAlertmanager, store: Store
) -> None:
    watch = watch_of(alertmanager, store)
    watch.rules(Rule("busy", RuleKind.BUSY, recipients=(TO_ALERTMANAGER,)))
    watch.clock.wait(timedelta(minutes=1))
    turn_busy(watch)
    repeater = repeater_to(alertmanager.url, watch)
    repeater.work(always)
    before = firing(alertmanager, "LinewatchNetworkBusy")
    watch.wait()
    repeater.work(always)
    opened = firing(alertmanager, "LinewatchNetworkBusy")
    turn_calm(watch)
    expand_outbox(store, watch.known, watch.clock.now)

    repeater.work(always)

    assert before == []
    assert opened == ["devnet is busy: 20 gwei, threshold 10"]
    assert firing(alertmanager, "LinewatchNetworkBusy") == []


def test_alert_ends_at_the_same_moment_however_often_that_is_said(store: Store) -> None:
    receiver = Receiver(200)
    with http_receiver(receiver) as port:
        watch = Watch(store, FakeClock())
        repeater = repeater_to(f"http://127.0.0.1:{port}", watch, ONCALL)
        watch.rules(Rule("busy", RuleKind.BUSY))
        turn_busy(watch)
        watch.wait()
        repeater.work(always)
        watch.clock.wait(timedelta(minutes=3))
        over_at = watch.clock.now()
        turn_calm(watch)
        watch.wait(timedelta(seconds=40))
        repeater.work(always)
        repeater.work(always)

    ends = [json.loads(each.body)[0]["endsAt"] for each in receiver.requests]
    assert ends[1:] == [format_timestamp(over_at)]


def test_alertmanager_hears_only_of_what_its_rules_report(store: Store) -> None:
    receiver = Receiver(200)
    with http_receiver(receiver) as port:
        watch = Watch(store, FakeClock())
        watch.rules(Rule("busy", RuleKind.BUSY))
        turn_busy(watch)
        watch.wait()

        repeater_to(f"http://127.0.0.1:{port}", watch).work(always)

    assert receiver.requests == []


def turn_busy(watch: Watch) -> None:
    at = watch.clock.now()
    opening = a_transition(subject=BUSY, before=None, after=State.BUSY, at=at, grounds=GROUNDS)
    with watch.store.write() as connection:
        assert record_transition(connection, opening, None)


def turn_calm(watch: Watch) -> None:
    at, calm = watch.clock.now(), State.CALM
    end = a_transition(2, subject=BUSY, before=State.BUSY, after=calm, at=at, grounds=GROUNDS)
    with watch.store.write() as connection:
        assert record_transition(connection, end, None)


def repeater_to(url: str, watch: Watch, told: Recipient = TO_ALERTMANAGER) -> AlertRepeater:
    return AlertRepeater(watch.store, told, channel_to(url), NETWORKS, Links(), watch.clock.now)


def watch_of(alertmanager: RunningAlertmanager, store: Store) -> Watch:
    """Return a worker that notifies a real Alertmanager, two minutes ago by its own clock."""
    fake_clock = FakeClock()
    fake_clock.set_clock(utc_now() - timedelta(minutes=2) - fake_clock.now())
    return Watch(store, fake_clock, sending=sending_to(channel_to(alertmanager.url), store))


def test_alert_that_was_pushed_ends_with_the_message_that_it_is_over(
    alertmanager: RunningAlertmanager,
) -> None:
    channel, stale = channel_to(alertmanager.url), Subject(SubjectKind.FEES, A_NETWORK)

    channel.send(message_of(stale, State.FRESH, State.STALE, 1), some_headers())
    opened = firing(alertmanager, "LinewatchFeesStale")
    channel.send(message_of(stale, State.STALE, State.FRESH, 2), some_headers())

    assert opened == ["Something"]
    assert firing(alertmanager, "LinewatchFeesStale") == []


def test_login_is_sent_and_a_refusal_hides_it() -> None:
    receiver = Receiver(400, body=b"bad alert")

    with http_receiver(receiver) as port, pytest.raises(DeliveryDeferred, match="bad alert") as it:
        channel_to(
            f"http://127.0.0.1:{port}/am/", username="linewatch", password=Secret("canary")
        ).send(message_of(BUSY, State.CALM, State.BUSY, 1), some_headers())

    assert receiver.requests[0].path == "/am/api/v2/alerts"
    assert receiver.requests[0].headers["Authorization"] == "Basic bGluZXdhdGNoOmNhbmFyeQ=="
    assert "canary" not in str(it.value)


@pytest.mark.parametrize(
    "quoted", [b"you sent Authorization: Basic bGluZXdhdGNoOmNhbmFyeQ==", b"canary is wrong"]
)
def test_answer_that_quotes_the_login_is_not_shown(quoted: bytes) -> None:
    login = {"username": "linewatch", "password": Secret("canary")}

    with http_receiver(Receiver(400, body=quoted)) as port, pytest.raises(DeliveryDeferred) as it:
        channel_to(f"http://127.0.0.1:{port}", **login).send(
            message_of(BUSY, State.CALM, State.BUSY, 1), some_headers()
        )

    assert str(it.value) == "it refused the message: 400 Bad Request"


@pytest.mark.parametrize("act", ["resolve", "remove the rule"])
def test_rejections_that_a_person_resolved_end_in_alertmanager_at_once(
    alertmanager: RunningAlertmanager, store: Store, act: str
) -> None:
    watch = watch_of(alertmanager, store)
    fake_clock = watch.clock
    watch.rules(Rule("rejections", RuleKind.REJECTED, recipients=(TO_ALERTMANAGER,)))
    for number in (3001, 3002):
        reject(store, number, transition=a_transition(number, at=fake_clock.now()))
        watch.wait()
        watch.wait(timedelta(seconds=31))
    opened = rejected(alertmanager)

    if act == "resolve":
        by = Actor("Ann", fake_clock.now())
        Incidents(watch.context).resolve(watch.incident().incident_id, by)
    else:
        watch.change_rules(replaced_by((Rule("busy", RuleKind.BUSY),)))
    watch.wait(timedelta(seconds=1))

    assert opened == {str(a_hash(3001)), str(a_hash(3002))}
    assert rejected(alertmanager) == set()


def rejected(alertmanager: RunningAlertmanager) -> set[str]:
    found = (each["labels"] for each in alertmanager.alerts())
    ours = {str(a_hash(number)) for number in (3001, 3002)}
    return {each.get("tx_hash", "") for each in found} & ours


def sending_to(channel: AlertmanagerChannel, store: Store) -> Sending:
    name = TO_ALERTMANAGER.channel
    writer = MessageWriter(store, load_templates(NETWORKS, Links()), programs={name})
    return Sending({name: channel}, writer.write)
