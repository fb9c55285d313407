"""Alerting of the product beside its plain model: what happens to one happens to the other."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Row, select

from dashboard.application.context import ApplicationContext
from dashboard.application.rules import AlertRules
from dashboard.domain.alerts.condition import State, Subject, SubjectKind, Transition
from dashboard.domain.alerts.hourly_cap import LARGEST_HOURLY
from dashboard.domain.alerts.incident import (
    IncidentState,
    acknowledge,
    declare_resolved,
    hand_over,
    unacknowledge,
)
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.rule_table import replaced_by
from dashboard.domain.alerts.silence import SilenceKind, SilenceRequest
from dashboard.domain.people.access import Actor
from dashboard.domain.people.recipients import AddressOff, OffCause
from dashboard.domain.quantity import NetworkId
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.incident_list import open_incident_stories, respond
from dashboard.store.alerts.incidents import is_incident_due
from dashboard.store.alerts.recipients import turn_off, turn_on
from dashboard.store.alerts.silences import add_silence, end_silence
from dashboard.store.engine.engine import open_store
from dashboard.store.schema import incidents, notifications
from tests.builders import A_NETWORK, an_id
from tests.databases import new_store
from tests.fake_clock import FakeClock
from tests.faults.alerting_lives import (
    MODULES,
    RECIPIENTS,
    AlertingLives,
    Taken,
    about_of,
    escalated_by,
    members_in,
    messages_about_incidents,
    tried_in,
    waiting_in,
)
from tests.model.alert_records import About, Happening, Window
from tests.model.expected_alerts import ExpectedAlerts

STRANGER: Final = Recipient("mail", "stranger@example.org")
"""Nobody has verified this address."""

_HOUR: Final = timedelta(hours=1)
_MOST_ROUNDS: Final = 60
_NETWORKS: Final = (A_NETWORK, NetworkId(A_NETWORK + 1))
_STAGE: Final = "RPC"


class AlertWorld:
    """One installation, and what is expected of it; they are compared after whatever happens."""

    def __init__(self, lives: AlertingLives, rules: tuple[Rule, ...], began_at: datetime) -> None:
        self._lives, self.clock, self.post = lives, lives.clock, lives.post
        self.clock.set_clock(began_at - self.clock.now())
        self.expected = ExpectedAlerts(RECIPIENTS, (), off={STRANGER})
        self._next = 1
        self._busy = dict.fromkeys(_NETWORKS, False)
        self._silences: dict[int, Window] = {}
        self._closed: dict[UUID, tuple[tuple[str, int], timedelta]] = {}
        self._clock_set_at: list[timedelta] = []
        self.change_rules(rules)

    def change_rules(self, rules: tuple[Rule, ...]) -> None:
        """Let these rules be in force from now on."""
        context = ApplicationContext(self._lives.store, (), self.clock.now)
        AlertRules(context).change(replaced_by(rules), self._ann())
        self.expected.change_rules(rules, waiting_in(self._lives.store))
        self.work()

    def reject(self, count: int) -> None:
        """Let so many transactions be rejected, of several modules."""
        numbers = range(self._next, self._next + count)
        self._next += count
        self._lives.reject(numbers)
        modules = {number: MODULES[number % len(MODULES)] for number in numbers}
        self._happen(
            Happening(an_id(number), RuleKind.REJECTED, str(A_NETWORK), module, _STAGE)
            for number, module in modules.items()
        )

    def turn(self, place: int) -> None:
        """Let a network become busy, or calm again."""
        network_id = _NETWORKS[place]
        was_busy, number = self._busy[network_id], 1_000_000 + self._next
        self._next += 1
        self._busy[network_id] = not was_busy
        subject = Subject(SubjectKind.BUSYNESS, network_id)
        before, after = (State.BUSY, State.CALM) if was_busy else (State.CALM, State.BUSY)
        with self._lives.store.write() as connection:
            if not was_busy:
                at = self.clock.now()
                first = Transition(an_id(2_000_000 + number), subject, None, State.CALM, at)
                record_transition(connection, first, None)
            turned = Transition(an_id(number), subject, before, after, self.clock.now())
            assert record_transition(connection, turned, None)
        self._happen([Happening(an_id(number), RuleKind.BUSY, str(network_id), opens=not was_busy)])

    def withhold(
        self,
        kind: SilenceKind,
        labels: dict[MatchedProperty, str],
        wait: timedelta,
        length: timedelta,
    ) -> None:
        """Add a silence or a maintenance window that begins after a wait."""
        starts_at = self.clock.now() + wait
        window = Window(kind, labels, starts_at, starts_at + length)
        matchers = tuple(Matcher(about, value) for about, value in labels.items())
        request_id = an_id(3_000_000 + len(self.expected.windows))
        request = SilenceRequest(request_id, kind, matchers, starts_at, window.over_at, "known")
        with self._lives.store.write() as connection:
            made, _ = add_silence(connection, request, self._ann())
        self._silences[made.silence_id] = window
        self.expected.windows.append(window)
        self.work()

    def end_window(self, pick: int) -> None:
        """End one that lasts before its time."""
        now = self.clock.now()
        lasting = [number for number, each in self._silences.items() if each.over_at > now]
        if not lasting:
            return
        number = lasting[pick % len(lasting)]
        window = self._silences.pop(number)
        with self._lives.store.write() as connection:
            assert end_silence(connection, window.kind, number, self._ann())
        window.over_at, window.is_ended = now, True
        if window.kind is SilenceKind.MAINTENANCE:
            self.expected.release(window, now, self.clock.elapsed())
        self.work()

    def respond(self, pick: int, deed: str) -> None:
        """Acknowledge an incident, give it back, hand it over, or declare it over."""
        with self._lives.store.write() as connection:
            found = [each.incident for each in open_incident_stories(connection, 100)]
            if not found:
                return
            by, mine = self._ann(), sorted(found, key=lambda each: each.key)[pick % len(found)]
            how = {
                "acknowledge": partial(acknowledge, by=by),
                "give back": partial(unacknowledge, by=by),
                "hand over": partial(hand_over, to="Bob", by=by),
                "declare over": partial(declare_resolved, by=by),
            }[deed]
            respond(connection, mine.incident_id, how)
        self._expect_response((mine.rule, mine.group), deed)
        self.work()

    def turn_address(self, recipient: Recipient) -> None:
        """Turn an address off, or on again."""
        known = self.expected
        with self._lives.store.write() as connection:
            if recipient in known.off:
                assert turn_on(connection, recipient)
                known.off.remove(recipient)
            else:
                address = AddressOff(recipient, OffCause.BOUNCED, self.clock.now(), "Ann")
                assert turn_off(connection, address)
                known.off.add(recipient)
                self._forget_unsent(recipient)
        self.work()

    def turn_mail(self) -> None:
        """Let the mail server fail, or work again."""
        self._lives.turn_mail()

    def restart(self) -> None:
        """Let another worker go on that knows only what is stored."""
        self._lives.restart()
        self.work()

    def wake_the_one_before(self, length: timedelta) -> None:
        """Let time pass, and a worker that lost its lease see first what is due."""
        self.clock.wait(length)
        self._lives.wake_the_one_before()
        self.work()

    def kill(self, statements: int) -> None:
        """Let the worker be killed after so many more statements, and another one go on."""
        self._lives.die_after(statements)
        self.work()

    def set_clock(self, by: timedelta) -> None:
        """Set the time of day."""
        self.clock.set_clock(by)
        self._clock_set_at.append(self.clock.elapsed())
        self.work()

    def wait(self, length: timedelta) -> None:
        """Let time pass, looked at in steps, since a worker looks every second."""
        while length > timedelta():
            step = min(length, _HOUR)
            self.work(step)
            length -= step

    def work(self, length: timedelta = timedelta()) -> None:
        """Let time pass and the worker do what is due; compare with what is expected."""
        kept_back = self._lives.work(length)
        for _ in range(_MOST_ROUNDS):
            with self._lives.store.read() as connection:
                if not is_incident_due(connection, self.clock.now()):
                    break
            self._lives.work()
        else:
            raise AssertionError("time does the same to an incident again and again")
        members = members_in(self._lives.store)
        tried = tried_in(members, self.post.tried)
        self.expected.pass_time(self.clock.now(), self.clock.elapsed(), tried, kept_back)
        self._note_closed()
        self._compare_incidents()
        self._compare_members(members)

    def settle(self) -> None:
        """Let networks become calm and everything be sent; then nothing is missing."""
        for place, network_id in enumerate(_NETWORKS):
            if self._busy[network_id]:
                self.turn(place)
        self.post.failures = ()
        for _ in range(600):
            if not self._lives.is_anything_pending():
                break
            self.work(2 * _HOUR)
        else:
            raise AssertionError("something is pending for days")
        self._check_sent()
        self._check_pace()

    def _happen(self, changes: Iterable[Happening]) -> None:
        waiting = waiting_in(self._lives.store)
        for each in changes:
            self.expected.happen(each, waiting, self.clock.now(), self.clock.elapsed())
        self.work()

    def _ann(self) -> Actor:
        return Actor("Ann", self.clock.now())

    def check_order(self) -> None:
        """Raise where a message names something of an incident after one with something later."""
        self._lives.check_order()

    def _expect_response(self, about: About, deed: str) -> None:
        incident = self.expected.incidents[about]
        if deed == "declare over":
            del self.expected.incidents[about]
        elif deed == "give back":
            if incident.owner:
                incident.give_back()
        elif deed == "hand over" or not incident.owner:
            incident.owner = "Bob" if deed == "hand over" else "Ann"
            incident.state = IncidentState.ACKNOWLEDGED

    def _forget_unsent(self, recipient: Recipient) -> None:
        """Expect nothing of what was pending to an address, nor the end of what it never heard."""
        taken = {each.headers.message_id for each in self.post.taken}
        for row in members_in(self._lives.store):
            if row.address == recipient.address and row.message_id not in taken:
                self.expected.forget(_key(row), is_dead=row.message_id is not None)
        known, heard = self.expected, escalated_by(self._lives.store, taken)
        known.repeated = [each for each in known.repeated if each.recipient != recipient]
        for incident in known.incidents.values():
            incident.repeated = [
                each
                for each in incident.repeated
                if each.recipient != recipient or (each.about, recipient) in heard
            ]

    def _note_closed(self) -> None:
        """Remember when, by the time since boot, the members of each notification were fixed."""
        column = notifications.c
        query = select(column.notification_id, column.address).where(column.closed_at.is_not(None))
        with self._lives.store.read() as connection:
            rows = connection.execute(query).all()
        now, times = self.clock.elapsed(), len(self._clock_set_at)
        self._closed = {
            row.notification_id: self._closed.get(row.notification_id, ((row.address, times), now))
            for row in rows
        }

    def _compare_incidents(self) -> None:
        """Raise AssertionError where incidents are not as expected."""
        is_open = incidents.c.open_key.is_not(None)
        with self._lives.store.read() as connection:
            rows = connection.execute(select(incidents).where(is_open)).all()
        found = {about_of(row): _shown(row) for row in rows}
        expected = {about: _shown(each) for about, each in self.expected.incidents.items()}
        assert found == expected, _differing(found, expected)

    def _compare_members(self, rows: Sequence[Row[*tuple[Any, ...]]]) -> None:
        """Raise AssertionError where who is notified of what is not as expected."""
        reached = {_key(row): not row.reason and row.state != "dead" for row in rows}
        assert len(reached) == len(rows), "a change reached somebody twice"
        reached = {
            each: is_to_be_sent
            for each, is_to_be_sent in reached.items()
            if is_to_be_sent or each in self.expected.members  # why nobody was reminded stands here
        }
        wanted = {key: hold is not None for key, hold in self.expected.members.items()}
        assert reached == wanted, _differing(reached, wanted)

    def _check_sent(self) -> None:
        """Raise unless all went once, and nothing before it was to.

        What a worker sent that was killed before it wrote so down comes again, with the same id.
        """
        sent = {(each.headers.message_id, each.headers.to): each for each in self.post.taken[::-1]}
        copies = Counter(each.headers.message_id for each in self.post.taken)
        excess = copies - self._lives.unmarked - Counter(message_id for message_id, _ in sent)
        assert not excess, "a message was sent twice"
        held = [
            (row, hold)
            for row in members_in(self._lives.store)
            if (hold := self.expected.members.get(_key(row))) is not None
        ]
        first: dict[str, timedelta] = {}
        for row, hold in held:
            earlier = first.get(row.message_id, hold.since_elapsed)
            first[row.message_id] = min(earlier, hold.since_elapsed)
        for row, hold in held:
            assert (row.message_id, row.address) in sent, "a change reached nobody"
            found = sent[row.message_id, row.address]
            is_late_enough = found.at >= hold.until or found.elapsed >= hold.until_elapsed
            assert is_late_enough or self._was_clock_set(first[row.message_id], found.elapsed), (
                "what was held came too early"
            )
        self._check_repeated(sent)

    def _was_clock_set(self, since: timedelta, until: timedelta) -> bool:
        """Whether it was while a message grouped: then it goes as its first change was to."""
        return any(since <= each <= until for each in self._clock_set_at)

    def _check_repeated(self, sent: Mapping[tuple[str, str], Taken]) -> None:
        times: defaultdict[object, list[timedelta]] = defaultdict(list)
        for row in messages_about_incidents(self._lives.store):
            found = sent.get((row.message_id, row.address))
            if found is not None:
                times[*about_of(row), row.address].append(found.elapsed)
        for each in self.expected.repeated:
            came = times[(*each.about, each.recipient.address)]
            assert any(when >= each.since_elapsed for when in came), f"{each} is missing: {came}"

    def _check_pace(self) -> None:
        """Raise where more went to somebody in an hour in which no clock was set."""
        times: defaultdict[tuple[str, int], list[timedelta]] = defaultdict(list)
        for address_and_sets, at in self._closed.values():
            times[address_and_sets].append(at)
        for moments in times.values():
            for moment in moments:
                within = sum(moment - _HOUR < each <= moment for each in moments)
                assert within <= LARGEST_HOURLY, f"{within} messages within an hour"


def _shown(incident: Any) -> tuple[object, ...]:  # noqa: ANN401 - a row, or what is expected
    is_escalated = incident.escalated_at is not None
    return incident.state, incident.troubled, incident.owner, incident.reminders, is_escalated


def _key(row: Row[*tuple[Any, ...]]) -> tuple[UUID, Recipient]:
    return row.transition_id, Recipient(row.channel, row.address)


def _differing(found: Mapping[Any, Any], expected: Mapping[Any, Any]) -> str:
    """Say where the product differs."""
    keys = [each for each in {**found, **expected} if found.get(each) != expected.get(each)]
    return "; ".join(f"{each}: {found.get(each)}, not {expected.get(each)}" for each in keys)


@contextmanager
def alert_world(
    folder: Path, rules: tuple[Rule, ...], began_at: datetime, database: str = "sqlite"
) -> Iterator[AlertWorld]:
    """Yield alerting on a store of its own."""
    folder.mkdir()
    clock = FakeClock()
    with new_store(database, folder) as url, open_store(url, clock.boot_clock) as store:
        yield AlertWorld(AlertingLives(store, clock), rules, began_at)
    shutil.rmtree(folder)
