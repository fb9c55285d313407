"""An address that only rules name gets a verification mail and nothing else."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from dashboard.alert.bounces import BounceReader, MaildirMailbox
from dashboard.alert.deliver import Deliverer
from dashboard.alert.message import always
from dashboard.alert.notify import Notifier
from dashboard.alert.verification_mails import VerificationMails
from dashboard.application.context import ApplicationContext, PageSettings
from dashboard.application.recipients import Recipients
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.notification import NotificationState, Recipient
from dashboard.domain.alerts.rule import Rule, Severity
from dashboard.domain.alerts.silence import SilenceKind, SilenceRequest
from dashboard.domain.people.access import Action, Actor
from dashboard.domain.people.active_hours import ActiveHours, WeekSpan
from dashboard.domain.people.recipients import (
    NOT_VERIFIED,
    ConfiguredRecipients,
    OffCause,
    RecipientProfile,
)
from dashboard.domain.people.verification import (
    MOST_ATTEMPTS,
    MOST_HOURLY,
    VALID_FOR,
    Verification,
    code_of,
)
from dashboard.errors import DeliveryDeferred, DeliveryRefused, InputError
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.notifications import make_link_key
from dashboard.store.alerts.recipients import list_addresses_off
from dashboard.store.alerts.rules import save_rules
from dashboard.store.alerts.silences import add_silence
from dashboard.store.engine.engine import Store
from tests.builders import A_MOMENT, A_NETWORK, HOUR, a_transition, an_id
from tests.delivery_checks import PATIENT, notifications, reject, take_lease
from tests.fake_clock import FakeClock
from tests.one_by_one import audited
from tests.received_mail import bounced_mail
from tests.recording_channel import ONCALL, ONCALL_ALONE, RecordingChannel

KEY = b"k" * 32
NEW = Recipient("mail", "new@example.org")
ANN = Actor("Ann", A_MOMENT)
RULE = Rule("rejections", RuleKind.REJECTED, recipients=(NEW,))


class Watch:
    """A worker with a rule for one address, a channel, and people who answer."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.store, self.clock = store, clock
        self.channel = channel = RecordingChannel()
        configured = ONCALL_ALONE
        deliverer = Deliverer(store, channel.sending, clock.now, clock.elapsed, PATIENT)
        self.notifier = Notifier(store, configured, deliverer, clock.now)
        self.mails = VerificationMails(
            store, channel, configured, "https://watch.example", "example.org", clock.now
        )
        context = ApplicationContext(
            store, (), clock.now, settings=PageSettings(recipients=configured)
        )
        self.people = Recipients(context)

    def rules(self, *rules: Rule) -> None:
        with self.store.write() as connection:
            save_rules(connection, rules, ANN)

    def work(self) -> None:
        """Let the worker do everything that is due."""
        self.mails.work(always)
        while self.notifier.run(take_lease(self.store), always):
            pass

    def verification(self) -> Verification:
        [found] = [each.verification for each in self.people.all() if each.recipient == NEW]
        assert found is not None
        return found

    def sent(self) -> list[str]:
        """Return what went to the address that nobody verified at first."""
        ids = {each.message_id for each in notifications(self.store)}
        mine = [each.message_id for each in self.channel.taken if each.to == NEW.address]
        return ["alert" if each in ids else "verification" for each in mine]


@pytest.fixture
def watch(store: Store, fake_clock: FakeClock) -> Watch:
    """Return a worker that watches for an address that nobody verified."""
    with store.write() as connection:
        make_link_key(connection, KEY)
    made = Watch(store, fake_clock)
    made.rules(RULE)
    return made


def test_test_message_waits_for_no_other(watch: Watch) -> None:
    def one_more() -> str:
        return watch.people.try_out(ONCALL, str, ANN).answer

    with pytest.raises(InputError, match="another test message is under way"):
        watch.people.try_out(ONCALL, one_more, ANN)
    assert watch.people.try_out(ONCALL, str, ANN).was_sent


def test_unverified_address_gets_one_verification_mail_and_nothing_else(watch: Watch) -> None:
    for number in range(3):
        reject(watch.store, number + 1)
        watch.work()
        watch.clock.wait(HOUR)

    assert [each.to for each in watch.channel.taken] == [NEW.address]
    assert notifications(watch.store) == []
    assert [each.reasons for each in watch.people.unreached()] == [((NEW, NOT_VERIFIED),)]
    [entry] = audited(watch.store, Action.ASK_TO_VERIFY)
    assert (entry.actor, entry.subject) == ("worker", NEW.address)


def test_after_verification_comes_what_is_open_as_one_mail_and_nothing_of_the_past(
    watch: Watch,
) -> None:
    reject(watch.store, 1)
    watch.work()
    watch.clock.wait(HOUR)  # the incident is over after 15 minutes
    watch.work()
    for number in (2, 3):
        reject(watch.store, number, transition=a_transition(number, at=watch.clock.now()))
    watch.work()

    assert watch.people.enter_code(NEW, code_of(watch.verification(), KEY).lower(), ANN)
    watch.work()
    watch.work()

    assert watch.sent() == ["verification", "alert"]
    [sent] = notifications(watch.store)
    assert (sent.member_count, sent.state) == (2, NotificationState.SENT)
    reject(watch.store, 4)
    watch.work()
    watch.clock.wait(timedelta(minutes=1))
    watch.work()
    assert watch.sent() == ["verification", "alert", "alert"]


def silence(
    watch: Watch, rule: str, length: timedelta, kind: SilenceKind = SilenceKind.SILENCE
) -> datetime:
    """Silence the changes of a rule from now on; return until when."""
    ends = watch.clock.now() + length
    matchers = (Matcher(MatchedProperty.RULE, rule),)
    request = SilenceRequest(an_id(1), kind, matchers, watch.clock.now(), ends, "new node")
    with watch.store.write() as connection:
        add_silence(connection, request, ANN)
    return ends


def verify_amid(watch: Watch, rule: Rule) -> None:
    """Verify the address while two rejections of a rule are open."""
    watch.rules(rule)
    for number in (1, 2):
        reject(watch.store, number)
    watch.work()
    assert watch.people.enter_code(NEW, code_of(watch.verification(), KEY).lower(), ANN)
    watch.work()


def test_maintenance_holds_what_is_open_after_verification_too(watch: Watch) -> None:
    ends = silence(watch, RULE.name, timedelta(minutes=10), SilenceKind.MAINTENANCE)

    verify_amid(watch, RULE)
    [waiting] = notifications(watch.store)
    sent_at_first = watch.sent()
    watch.clock.wait(timedelta(minutes=10))
    watch.work()

    assert (waiting.release_at, waiting.member_count) == (ends, 2)
    assert waiting.held_for == f"{NOT_VERIFIED}; maintenance window 1 by Ann: new node"
    assert (sent_at_first, watch.sent()) == (["verification"], ["verification", "alert"])


def test_quiet_hours_of_the_rule_hold_what_is_open_after_verification_too(watch: Watch) -> None:
    later = ActiveHours((WeekSpan.parse("mon-sun 13:00-14:00"),))

    verify_amid(watch, replace(RULE, active_hours=later))

    [waiting] = notifications(watch.store)
    assert (waiting.release_at, watch.sent()) == (A_MOMENT + HOUR, ["verification"])


def test_silence_keeps_what_is_open_from_the_newly_verified(watch: Watch) -> None:
    reject(watch.store, 3)
    watch.work()
    silence(watch, RULE.name, HOUR)

    verify_amid(watch, RULE)

    assert watch.sent() == ["verification"]


def test_silence_that_ends_releases_what_is_open_to_the_newly_verified(watch: Watch) -> None:
    watch.rules(Rule("busy", RuleKind.BUSY, recipients=(NEW,)))
    subject = Subject(SubjectKind.BUSYNESS, A_NETWORK)
    turns = ((None, State.CALM), (State.CALM, State.BUSY))
    with watch.store.write() as connection:
        for number, (before, after) in enumerate(turns, 1):
            turned = a_transition(number, subject=subject, before=before, after=after)
            assert record_transition(connection, turned, None)
    watch.work()
    silence(watch, "busy", timedelta(minutes=10))
    watch.work()

    assert watch.people.enter_code(NEW, code_of(watch.verification(), KEY).lower(), ANN)
    watch.work()
    sent_at_first = watch.sent()
    watch.clock.wait(timedelta(minutes=10))
    watch.work()

    assert (sent_at_first, watch.sent()) == (["verification"], ["verification", "alert"])


def test_silent_mail_server_gets_the_same_mail_again_and_then_is_left_alone(watch: Watch) -> None:
    watch.channel.errors[NEW.address] = DeliveryDeferred("451 later")
    for _ in range(MOST_ATTEMPTS + 3):
        watch.work()
        watch.clock.wait(HOUR)

    asked = watch.verification()
    assert len({each.message_id for each in watch.channel.tried}) == 1
    assert (asked.attempts, asked.outcome, asked.sent_at) == (MOST_ATTEMPTS, "451 later", None)
    assert [each.outcome for each in asked.deliveries] == ["451 later"] * MOST_ATTEMPTS


def test_refused_verification_mail_is_not_tried_again(watch: Watch) -> None:
    watch.channel.errors[NEW.address] = DeliveryRefused("550 5.1.1 no such user")
    for _ in range(3):
        watch.work()
        watch.clock.wait(HOUR)

    asked = watch.verification()
    assert (asked.attempts, asked.next_attempt_at) == (1, None)
    assert "no such user" in asked.outcome


def test_address_from_which_two_verification_mails_come_back_is_off(
    watch: Watch, tmp_path: Path
) -> None:
    for name in ("new", "cur", "tmp"):
        (tmp_path / "bounces" / name).mkdir(parents=True)
    mailbox = MaildirMailbox(tmp_path / "bounces")
    reader = BounceReader(watch.store, mailbox, "mail", watch.clock.now)

    for name in ("1", "2"):
        watch.people.ask(NEW, Actor("Ann", watch.clock.now()))
        watch.work()
        content = bounced_mail(message_id=watch.channel.taken[-1].message_id, final=NEW.address)
        (tmp_path / "bounces" / "new" / name).write_bytes(content)
        reader.work(always)
        watch.clock.wait(VALID_FOR)

    with watch.store.read() as connection:
        [off] = list_addresses_off(connection)
    assert (off.recipient, off.cause) == (NEW, OffCause.BOUNCED)
    with pytest.raises(InputError, match="is off: turn it on first"):
        watch.people.ask(NEW, ANN)


def test_rule_with_many_addresses_asks_twenty_an_hour_and_stores_no_others(
    watch: Watch,
) -> None:
    many = tuple(Recipient("mail", f"{number}@example.org") for number in range(2 * MOST_HOURLY))
    watch.rules(replace(RULE, recipients=many))
    with capture_logs() as lines:
        for _ in range(2):
            watch.mails.work(always)

    stored = [each for each in watch.people.all() if each.verification is not None]
    assert len(stored) == MOST_HOURLY
    assert len(lines) == MOST_HOURLY
    watch.clock.wait(HOUR)
    watch.mails.work(always)
    watch.clock.set_clock(-HOUR)
    watch.mails.work(always)  # does nothing: twice as many as an hour allows count now


def test_wrong_codes_are_counted_and_the_address_stays_unverified(watch: Watch) -> None:
    watch.work()

    for left in ("4 more tries", "3 more tries", "2 more tries", "1 more try", "0 more tries"):
        with pytest.raises(InputError, match=left):
            watch.people.enter_code(NEW, "AAAAAAAA", ANN)
    with pytest.raises(InputError, match="5 wrong codes"):
        watch.people.enter_code(NEW, code_of(watch.verification(), KEY), ANN)
    assert watch.verification().verified_at is None


def test_address_that_is_off_stays_off_when_it_is_verified(watch: Watch) -> None:
    watch.work()
    watch.people.turn_off(NEW, ANN)

    assert watch.people.verify(NEW, ANN)
    reject(watch.store, 1)
    watch.work()

    assert watch.sent() == ["verification"]
    watch.people.turn_on(NEW, ANN)
    reject(watch.store, 2)
    watch.work()
    watch.clock.wait(timedelta(minutes=1))
    watch.work()
    assert watch.sent() == ["verification", "alert"]


def test_escalation_to_an_unverified_address_is_stored_with_the_reason(watch: Watch) -> None:
    watch.rules(Rule("rejections", RuleKind.REJECTED, escalate_after=HOUR / 6, escalate_to=(NEW,)))
    reject(watch.store, 1)
    watch.work()
    watch.clock.wait(timedelta(minutes=11))
    watch.work()

    assert watch.sent() == ["verification"]
    assert [each.place for each in watch.people.unreached()] == ["escalation of rejections"]
    watch.people.verify(NEW, ANN)
    watch.work()
    assert watch.sent() == ["verification", "alert"]


def test_escalation_reaches_whoever_is_named_after_an_unverified_address(watch: Watch) -> None:
    escalated_to = (NEW, ONCALL)
    watch.rules(replace(RULE, recipients=(), escalate_after=HOUR / 6, escalate_to=escalated_to))
    reject(watch.store, 1)
    watch.work()
    watch.clock.wait(timedelta(minutes=11))
    watch.work()

    assert [each.kind.value for each in notifications(watch.store)] == ["escalation", "change"]


def test_what_is_pending_to_an_address_that_is_trusted_no_more_is_not_sent(watch: Watch) -> None:
    watch.rules(Rule("rejections", RuleKind.REJECTED, Severity.WARNING))
    watch.notifier = dataclasses.replace(watch.notifier, configured=ConfiguredRecipients((NEW,)))
    watch.clock.wait(HOUR)
    reject(watch.store, 1)
    watch.notifier.run(take_lease(watch.store), lambda: False)

    watch.notifier = dataclasses.replace(watch.notifier, configured=ONCALL_ALONE)
    watch.work()

    assert watch.channel.taken == []
    [dead] = notifications(watch.store)
    assert (dead.state, dead.outcome) == (NotificationState.DEAD, f"not sent: {NOT_VERIFIED}")


def test_worker_without_the_lease_sends_nothing(watch: Watch) -> None:
    watch.mails.work(lambda: False)

    assert watch.channel.taken == []


def test_name_of_a_channel_is_told_from_an_address(store: Store, fake_clock: FakeClock) -> None:
    known = ConfiguredRecipients((ONCALL, Recipient("hook", "hook")))
    settings = PageSettings(recipients=known)
    people = Recipients(ApplicationContext(store, (), fake_clock.now, settings=settings))

    with pytest.raises(InputError, match="'hook' is a channel: add --channel hook"):
        people.change(Recipient("mail", "hook"), RecipientProfile(), ANN)


def test_rule_that_ended_needs_to_reach_nobody(watch: Watch) -> None:
    until = watch.clock.now() + HOUR
    watch.rules(Rule("watch-add", RuleKind.REJECTED, recipients=(NEW,), until=until))

    assert [each.place for each in watch.people.unreached()] == ["rule watch-add"]
    watch.clock.wait(HOUR)
    assert watch.people.unreached() == ()
