"""A night of incidents: a storm of rejections, a full disk, a silent upstream, some that ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from msgspec.structs import replace

from dashboard.alert.notify import expand_outbox
from dashboard.domain.alerts.condition import INSTALLATION, State, Subject, SubjectKind, Transition
from dashboard.domain.alerts.incident import acknowledge
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import DEFAULT_RULES
from dashboard.domain.people.access import Actor
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.incident_list import open_incident_stories, respond
from dashboard.store.alerts.notification_claims import mark_dead, mark_sent, reschedule
from dashboard.store.alerts.rules import save_rules
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import acquire, release
from dashboard.store.tracking.transactions import track
from tests.browser.seeded_store import FLAT, HOSTILE, SILENT, SIMULATED, tx_hash
from tests.builders import a_record, a_transition
from tests.delivery_checks import claim_for_all, tell_rejection

OPS: Final = Recipient("mail", "operations-and-on-call@mail.example.org")
NIGHT: Final = Recipient("mail", "night@example.org")
_FIRST: Final = 100


@dataclass(frozen=True)
class Night:
    """What happens: which networks are in trouble, how many rejections, what a person writes.

    `silent` does not answer; None lets all answer. `calmed` was busy for a while, and `stormy`
    is; None leaves both as they are.
    """

    stormy: NetworkId = SIMULATED.network_id
    silent: NetworkId | None = SILENT.network_id
    calmed: NetworkId | None = FLAT.network_id
    rejections: int = 38
    name: str = HOSTILE[:60]
    note: str = f"asked the provider {HOSTILE}"[:300]
    refusal: str = f"550 5.1.1 no such user {HOSTILE}"


THE_NIGHT: Final = Night()


def seed_incidents(store: Store, now: datetime, night: Night = THE_NIGHT) -> None:
    """Let a night pass: the rules are the default ones, rejections escalate."""
    with store.write() as connection:
        rules = [
            replace(
                each,
                remind_every=timedelta(minutes=30),
                escalate_after=timedelta(minutes=45),
                escalate_to=(NIGHT,),
            )
            if each.name == "rejections"
            else each
            for each in DEFAULT_RULES
        ]
        save_rules(connection, rules, Actor("Ada", now - timedelta(days=3)))
        for number in range(night.rejections):
            at = now - timedelta(minutes=25) + timedelta(seconds=37 * number)
            _reject(connection, night.stormy, number, at)
        _change(connection, SubjectKind.DISK, INSTALLATION, State.LOW_ON_SPACE, now, 8)
        if night.silent is not None:
            _change(connection, SubjectKind.GAS_API, night.silent, State.SILENT, now, 130)
        if night.calmed is not None:
            _change(connection, SubjectKind.BUSYNESS, night.calmed, State.BUSY, now, 400)
            _change(connection, SubjectKind.BUSYNESS, night.calmed, State.CALM, now, 380)
            _change(connection, SubjectKind.BUSYNESS, night.stormy, State.BUSY, now, 40)
    while expand_outbox(store, ConfiguredRecipients((OPS, NIGHT)), lambda: now):
        pass
    with store.write() as connection:
        token = acquire(connection, "worker", "seed", timedelta(hours=1))
        assert token is not None
        _deliver(connection, token, night, now)
        release(connection, "worker", token)
        by = Actor(night.name, now - timedelta(minutes=100))
        for story in open_incident_stories(connection, 20):
            if story.incident.rule == "upstream":
                take = partial(acknowledge, by=by, note=night.note)
                respond(connection, story.incident.incident_id, take)


def _reject(connection: Connection, network: NetworkId, number: int, at: datetime) -> None:
    of_many = tx_hash(_FIRST + number)
    record = a_record(
        tx_hash=of_many,
        tx_rejection_stage=RejectionStage.SEQUENCER,
        reason_message="TX_MODULE_LINE_COUNT_OVERFLOW(HUB)",
        timestamp=at,
    )
    track(connection, TrackRequest(of_many, (network,), Remarks(label="night")), at)
    subject = Subject.transaction(network, of_many)
    tell_rejection(connection, record, a_transition(500 + number, subject=subject, at=at), at)


def _change(
    connection: Connection,
    kind: SubjectKind,
    network: NetworkId,
    after: State,
    now: datetime,
    ago: int,
) -> None:
    before = State.BUSY if after is State.CALM else None
    at = now - timedelta(minutes=ago)
    news = Transition(UUID(int=900 + ago), Subject(kind, network), before, after, at)
    assert record_transition(connection, news, None)


def _deliver(connection: Connection, token: int, night: Night, now: datetime) -> None:
    """Send what is for operations; the server refuses rejections to all others, defers the rest."""
    for each in claim_for_all(connection, token, now, 50):
        if each.recipient == OPS:
            at = max(each.created_at, now - timedelta(minutes=24))
            mark_sent(connection, each.notification_id, "250 2.0.0 Ok: queued as 4F1C2", at)
        elif each.transition.subject.kind is SubjectKind.TRANSACTION:
            mark_dead(connection, each, night.refusal, now)
        else:
            reschedule(connection, each, "451 4.7.1 greylisted, try again later", now)
