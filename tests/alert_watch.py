"""A worker that notifies, with a clock that tests move, rules and a channel."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from uuid import UUID

from msgspec.structs import replace

from dashboard.alert.deliver import Deliverer, DeliveryPolicy, Sending
from dashboard.alert.message import always
from dashboard.alert.notify import Notifier
from dashboard.application.context import ApplicationContext, PageSettings
from dashboard.application.incident_words import event_words
from dashboard.application.rules import AlertRules
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.incident import Incident
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.notification import Notification, NotificationKind, Recipient
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.rule_table import RuleEdit
from dashboard.domain.alerts.silence import SilenceKind, SilenceRequest
from dashboard.domain.people.access import Actor
from dashboard.domain.people.recipients import ConfiguredRecipients, RecipientProfile
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.incident_list import (
    finished_incident_stories,
    open_incident_stories,
)
from dashboard.store.alerts.rules import save_rules
from dashboard.store.alerts.silences import add_silence
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.transactions import track
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    HOUR,
    a_hash,
    a_transition,
    an_id,
    seconds,
)
from tests.delivery_checks import PATIENT, notifications, take_lease
from tests.fake_clock import FakeClock
from tests.recording_channel import ONCALL, OTHERS, RecordingChannel

ANN = Actor("Ann", A_MOMENT)
BUSY: Final = Rule(
    "busy", RuleKind.BUSY, remind_every=HOUR, escalate_after=2 * HOUR, escalate_to=(OTHERS,)
)
REMINDING: Final = replace(BUSY, escalate_after=None, escalate_to=())
PLAIN: Final = replace(REMINDING, remind_every=None)
A_MATCHER = Matcher(MatchedProperty.NETWORK, str(A_NETWORK))


class Watch:
    """One worker with a clock, rules and a channel."""

    def __init__(
        self,
        store: Store,
        clock: FakeClock,
        policy: DeliveryPolicy = PATIENT,
        sending: Sending | None = None,
        alertmanagers: frozenset[str] = frozenset(),
    ) -> None:
        self.store, self.clock, self.channel = store, clock, RecordingChannel()
        sending = sending or self.channel.sending
        deliverer = Deliverer(store, sending, clock.now, clock.elapsed, policy)
        self.known = ConfiguredRecipients(
            (ONCALL,), {OTHERS: RecipientProfile()}, alertmanagers=alertmanagers
        )
        self.notifier = Notifier(store, self.known, deliverer, clock.now)

    @property
    def context(self) -> ApplicationContext:
        """What people act through, with the same settings."""
        settings = PageSettings(recipients=self.known)
        return ApplicationContext(self.store, (), self.clock.now, settings=settings)

    def rules(self, *rules: Rule) -> None:
        with self.store.write() as connection:
            save_rules(connection, rules, ANN)

    def change_rules(self, edit: RuleEdit) -> None:
        AlertRules(ApplicationContext(self.store, (), self.clock.now)).change(edit, ANN)

    def turn(self, number: int, before: State, after: State) -> None:
        subject = Subject(SubjectKind.BUSYNESS, A_NETWORK)
        at = self.clock.now()
        with self.store.write() as connection:
            turned = a_transition(100 + number, subject=subject, before=before, after=after, at=at)
            if before is State.CALM and number == 1:
                opened = replace(turned, before=None, after=State.CALM, transition_id=an_id(50))
                assert record_transition(connection, opened, None)
            assert record_transition(connection, turned, None)

    def go_silent(self, *, is_over: bool = False) -> None:
        subject = Subject(SubjectKind.GAS_API, A_NETWORK)
        before, after = (State.SILENT, State.ANSWERING) if is_over else (None, State.SILENT)
        number = 201 + is_over
        at = self.clock.now()
        with self.store.write() as connection:
            turned = a_transition(number, subject=subject, before=before, after=after, at=at)
            assert record_transition(connection, turned, None)

    def wait(self, length: timedelta = timedelta()) -> None:
        self.clock.wait(length)
        while self.notifier.run(take_lease(self.store), always):
            pass

    def incident(self) -> Incident:
        with self.store.read() as connection:
            found = open_incident_stories(connection, 1) or finished_incident_stories(connection, 1)
        return found[0].incident

    def story(self, rule: str = "busy") -> list[str]:
        with self.store.read() as connection:
            found = [
                *open_incident_stories(connection, 9),
                *finished_incident_stories(connection, 9),
            ]
        [story] = [each for each in found if each.incident.rule == rule]
        return list(map(event_words, story.events))

    def label(self, number: int, label: str) -> None:
        request = TrackRequest(a_hash(number), (A_NETWORK,), Remarks(label=label))
        with self.store.write() as connection:
            track(connection, request, A_MOMENT)

    def silence(self, kind: SilenceKind, length: timedelta, matcher: Matcher = A_MATCHER) -> None:
        now = self.clock.now()
        matchers = (matcher,)
        request = SilenceRequest(an_id(7), kind, matchers, now, now + length, "new node")
        with self.store.write() as connection:
            add_silence(connection, request, ANN)

    def begin(self, *rules: Rule) -> UUID:
        """Let the network become busy under these rules, notify, and return the incident's id."""
        if rules:
            self.rules(*rules)
        self.turn(1, State.CALM, State.BUSY)
        self.wait(seconds(1))
        return self.incident().incident_id

    def person(self, name: str) -> Actor:
        """Return somebody who acts now."""
        return Actor(name, self.clock.now())

    def taken(self) -> list[tuple[Recipient, NotificationKind]]:
        return [(each.recipient, each.kind) for each in self.sent()]

    def kinds(self, to: Recipient | None = None) -> list[str]:
        """Return which kinds of notifications went to somebody, or to all."""
        return [each.kind.value for each in self.sent() if to in {None, each.recipient}]

    def sent(self) -> list[Notification]:
        return [each for each in reversed(notifications(self.store)) if each.sent_at]

    def messages(self) -> list[Notification]:
        """Return what was sent, in the order in which it was taken."""
        found = {each.message_id: each for each in self.sent()}
        return [found[each.message_id] for each in self.channel.taken]
