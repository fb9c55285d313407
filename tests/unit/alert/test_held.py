"""What is held or withheld: quiet hours, maintenance, silences."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import select, update

from dashboard.alert.compose import Links, NetworkName
from dashboard.alert.message_writer import MessageWriter, load_templates
from dashboard.alert.notify import expand_outbox
from dashboard.application.incidents import Incidents
from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.hourly_cap import HourlyCap
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.notification import (
    Notification,
    NotificationKind,
    NotificationState,
    Precedence,
    Recipient,
)
from dashboard.domain.alerts.rule import Rule, Severity
from dashboard.domain.alerts.rule_table import removed
from dashboard.domain.alerts.silence import Silence, SilenceKind, SilenceRequest
from dashboard.domain.people.access import Actor
from dashboard.domain.people.active_hours import ActiveHours, WeekSpan
from dashboard.domain.people.recipients import (
    AddressOff,
    ConfiguredRecipients,
    OffCause,
    RecipientProfile,
)
from dashboard.errors import DeliveryBlocked
from dashboard.store.alerts.notification_search import resend
from dashboard.store.alerts.recipients import (
    list_addresses_off,
    save_profile,
    turn_off,
    turn_on,
)
from dashboard.store.alerts.silences import add_silence, end_silence
from dashboard.store.engine.engine import Store
from dashboard.store.schema import notification_members
from dashboard.store.schema import notifications as stored
from tests.alert_watch import A_MATCHER, ANN, PLAIN, Watch
from tests.builders import A_MOMENT, A_NETWORK, HOUR, MINUTE, an_id, seconds
from tests.delivery_checks import PATIENT, notifications, reject
from tests.fake_clock import FakeClock
from tests.recording_channel import ONCALL, OTHERS

NIGHT = ActiveHours((WeekSpan.parse("mon-sun 14:00-20:00"),))
"""It is noon: quiet hours end with a window of two hours."""

OF_ANOTHER = Matcher(MatchedProperty.RULE, "another")


def open_window(
    watch: Watch, length: timedelta, matcher: Matcher = A_MATCHER, number: int = 1
) -> int:
    now = watch.clock.now()
    kind = SilenceKind.MAINTENANCE
    request = SilenceRequest(an_id(number), kind, (matcher,), now, now + length, "new node")
    with watch.store.write() as connection:
        made, _ = add_silence(connection, request, ANN)
    return made.silence_id


def end_window(watch: Watch, number: int) -> None:
    with watch.store.write() as connection:
        by = watch.person("Ann")
        assert end_silence(connection, SilenceKind.MAINTENANCE, number, by)
    watch.wait(seconds(1))


def told(watch: Watch) -> list[Recipient]:
    return [to for to, _ in watch.taken()]


def test_window_that_is_ended_early_releases_nothing_of_quiet_hours_that_end_with_it(
    watch: Watch,
) -> None:
    watch.rules(
        Rule("rejections", RuleKind.REJECTED, recipients=(ONCALL,), active_hours=NIGHT),
        Rule("busy", RuleKind.BUSY, recipients=(OTHERS,)),
    )
    number = open_window(watch, 2 * HOUR, Matcher(MatchedProperty.RULE, "busy"))
    watch.turn(1, State.CALM, State.BUSY)
    reject(watch.store)
    watch.wait()
    assert told(watch) == []

    end_window(watch, number)

    assert told(watch) == [OTHERS]


def test_window_about_something_else_keeps_nothing_back(watch: Watch) -> None:
    number = open_window(watch, 2 * HOUR)
    open_window(watch, 8 * HOUR, OF_ANOTHER, 2)
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait()

    end_window(watch, number)

    assert told(watch) == [ONCALL]


def test_what_another_window_holds_as_well_waits_for_its_end(watch: Watch) -> None:
    first, second = open_window(watch, HOUR), open_window(watch, 2 * HOUR, number=2)
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait()

    end_window(watch, second)
    assert told(watch) == []
    end_window(watch, first)
    assert told(watch) == [ONCALL]


def test_group_waits_for_the_last_window_about_one_of_its_changes(watch: Watch) -> None:
    watch.label(1, "vip")
    number = open_window(watch, 2 * HOUR)
    for each in (1, 2):
        reject(watch.store, each)
    watch.wait()
    open_window(watch, 4 * HOUR, Matcher(MatchedProperty.LABEL, "vip"), 2)

    end_window(watch, number)
    assert told(watch) == []
    watch.wait(4 * HOUR)

    assert told(watch) == [ONCALL]


def test_acknowledgement_waits_with_what_maintenance_holds(watch: Watch) -> None:
    number = open_window(watch, 2 * HOUR)
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait()

    Incidents(watch.context).acknowledge(watch.incident().incident_id, watch.person("Ada"))
    watch.wait(MINUTE)
    assert told(watch) == []
    end_window(watch, number)

    assert watch.kinds() == ["change"], "the summary says both"


def test_end_of_a_rule_is_said_after_what_maintenance_holds(watch: Watch) -> None:
    watch.rules(Rule("busy", RuleKind.BUSY), Rule("rejections", RuleKind.REJECTED))
    open_window(watch, 2 * HOUR)
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait()

    watch.change_rules(removed(["busy"]))
    watch.wait(MINUTE)
    assert told(watch) == []
    watch.wait(2 * HOUR)

    assert watch.kinds() == ["change"]


def test_rule_that_pierces_tells_people_in_their_quiet_hours_who_took_care(watch: Watch) -> None:
    watch.rules(replace(PLAIN, severity=Severity.CRITICAL, pierces=True))
    with watch.store.write() as connection:
        save_profile(connection, ONCALL, RecipientProfile(active=NIGHT.spans))
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait()

    Incidents(watch.context).acknowledge(watch.incident().incident_id, watch.person("Ada"))
    watch.wait(MINUTE)

    assert watch.kinds() == ["change", "acknowledged"]


def test_quiet_hours_of_a_rule_hold_what_a_window_held(watch: Watch) -> None:
    watch.rules(Rule("busy", RuleKind.BUSY, active_hours=NIGHT))
    number = open_window(watch, 3 * HOUR)
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait()

    end_window(watch, number)

    assert told(watch) == []
    with watch.store.read() as connection:
        [held] = connection.execute(select(stored.c.release_at, stored.c.held_for))
    assert held.release_at == watch.clock.now() - seconds(1) + 2 * HOUR
    assert held.held_for == "quiet hours of the rule busy"


def test_window_about_one_change_holds_no_other_of_its_incident(watch: Watch) -> None:
    watch.label(1, "vip")
    open_window(watch, 4 * HOUR, Matcher(MatchedProperty.LABEL, "vip"))
    reject(watch.store, 1)
    watch.wait()
    reject(watch.store, 2)
    watch.wait()

    watch.wait(MINUTE)

    with watch.store.read() as connection:
        rows = connection.execute(select(stored.c.sent_at, stored.c.held_by)).all()
    assert {row.held_by: row.sent_at is not None for row in rows} == {"window-1": False, "": True}


def test_first_rejection_that_no_silence_matches_goes_at_once_as_the_first(watch: Watch) -> None:
    watch.label(1, "vip")
    watch.silence(SilenceKind.SILENCE, HOUR, Matcher(MatchedProperty.LABEL, "vip"))
    reject(watch.store, 1)
    watch.wait()
    reject(watch.store, 2)

    watch.wait()

    assert told(watch) == [ONCALL]
    with watch.store.read() as connection:
        assert connection.scalar(select(stored.c.precedence)) == Precedence.OPENING


def test_end_of_an_incident_waits_for_its_beginning_that_is_held(watch: Watch) -> None:
    held = Rule("busy", RuleKind.BUSY, active_hours=NIGHT)
    watch.rules(held)
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait()
    watch.rules(replace(held, active_hours=None))
    watch.turn(2, State.BUSY, State.CALM)

    watch.wait(MINUTE)
    assert told(watch) == []
    watch.wait(2 * HOUR)

    [both] = watch.messages()
    assert (both.transition.after, both.member_count) == (State.BUSY, 2)


def test_row_of_a_release_that_stored_no_holder_is_held_by_what_lasts_alone(watch: Watch) -> None:
    number = open_window(watch, 2 * HOUR)
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait()
    with watch.store.write() as connection:
        connection.execute(update(stored).values(held_by="window-0"))  # as the migration says
    upgraded = Watch(watch.store, watch.clock)
    upgraded.wait(seconds(1))
    assert told(upgraded) == []

    end_window(upgraded, number)

    assert told(upgraded) == [ONCALL]


def test_quiet_hours_end_in_one_summary_of_all_that_waited(
    store: Store, fake_clock: FakeClock
) -> None:
    watch = Watch(store, fake_clock, replace(PATIENT, cap=HourlyCap()))
    spans = map(WeekSpan.parse, ("mon-sun 11:00-12:30", "mon-sun 20:00-23:00"))
    hours = ActiveHours(tuple(spans))
    watch.rules(
        Rule("busy", RuleKind.BUSY, active_hours=hours, remind_every=HOUR),
        Rule("silent", RuleKind.UPSTREAM_SILENT, active_hours=hours),
        Rule("rejections", RuleKind.REJECTED, active_hours=hours),
    )
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait()
    assert len(watch.sent()) == 1
    for _ in range(7):
        watch.wait(HOUR)
    watch.go_silent()
    reject(store, 1)
    watch.wait(58 * MINUTE)
    reject(store, 2)  # two minutes before the end
    watch.wait(MINUTE)
    assert len(watch.sent()) == 1

    for _ in range(5):
        watch.wait(MINUTE)

    [_, summary] = watch.sent()
    assert (summary.kind, summary.member_count) == (NotificationKind.CHANGE, 3)
    templates = load_templates({A_NETWORK: NetworkName("Linea")}, Links())
    message = MessageWriter(store, templates).write(summary)
    assert message.subject.endswith("2 rejections, down · 1 reminder · Linea")
    assert "nobody has acknowledged it for 8 h" in message.text
    assert "nobody has acknowledged it for 8\N{NO-BREAK SPACE}h" in message.html


def test_what_waited_for_the_mail_server_comes_as_one(store: Store, fake_clock: FakeClock) -> None:
    watch = Watch(store, fake_clock, replace(PATIENT, cap=HourlyCap()))
    watch.channel.errors[ONCALL.address] = DeliveryBlocked("the server is down")
    reject(store, 1)
    watch.wait()
    for number in range(2, 6):
        reject(store, number, reason_message=f"unknown reason {number}")
        watch.wait(seconds(1))
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait(seconds(1))
    watch.channel.errors.clear()

    watch.wait(seconds(15))
    watch.wait(seconds(1))
    watch.wait(MINUTE)

    assert sum(each.member_count for each in watch.sent()) == 6
    assert len(watch.sent()) == 2


ADA = Actor("ada", A_MOMENT)
DEV = Recipient("mail", "dev@example.org")
ADD = Matcher(MatchedProperty.MODULE, "ADD")


@pytest.fixture
def expand(store: Store) -> Callable[..., list[Notification]]:
    """Return what expands the outbox at a moment and returns all notifications."""

    def run(at: datetime = A_MOMENT) -> list[Notification]:
        while expand_outbox(store, ConfiguredRecipients((ONCALL, DEV)), lambda: at):
            pass
        return notifications(store)

    return run


def make(store: Store, kind: SilenceKind, *matchers: Matcher, **changes: Any) -> Silence:  # noqa: ANN401 - any field of the request
    """Store a silence or a window of an hour."""
    request = SilenceRequest(an_id(7), kind, matchers, A_MOMENT, A_MOMENT + HOUR, "known")
    request = replace(request, **changes)
    with store.write() as connection:
        made, _ = add_silence(connection, request, ADA)
    return made


def reasons(store: Store) -> set[tuple[str, str]]:
    """Return why whom nobody notified."""
    column = notification_members.c
    query = select(column.address, column.reason).where(column.notification_id.is_(None))
    with store.read() as connection:
        return {tuple(row) for row in connection.execute(query)}


def test_silenced_change_reaches_nobody_and_says_which_silence(
    store: Store, expand: Callable[..., list[Notification]]
) -> None:
    make(store, SilenceKind.SILENCE, ADD)
    reject(store, 1)

    assert expand() == []
    why = "silenced until 2026-11-20 13:00:00 UTC by ada: known (silence 1)"
    assert reasons(store) == {(ONCALL.address, why), (DEV.address, why)}


def test_maintenance_holds_until_it_ends_and_groups_meanwhile(
    store: Store, expand: Callable[..., list[Notification]]
) -> None:
    make(store, SilenceKind.MAINTENANCE, ADD)
    reject(store, 1)
    expand()
    reject(store, 2)
    reject(store, 3)

    held = expand(A_MOMENT + seconds(60))

    assert {(each.member_count, each.release_at) for each in held} == {(3, A_MOMENT + HOUR)}
    assert len(held) == 2


def test_address_that_is_off_gets_nothing_and_what_was_pending_dies(
    store: Store, expand: Callable[..., list[Notification]]
) -> None:
    reject(store, 1)
    expand()
    off = AddressOff(DEV, OffCause.UNSUBSCRIBED, A_MOMENT, "dev \0", "by link")
    with store.write() as connection:
        assert turn_off(connection, off)
        assert not turn_off(connection, off)
    reject(store, 2)

    found = expand(A_MOMENT + HOUR)

    to_dev = [each for each in found if each.recipient == DEV]
    assert [(each.state, each.outcome) for each in to_dev] == [
        (NotificationState.DEAD, "not sent: unsubscribed")
    ]
    why = "this address has been off since 2026-11-20 12:00:00 UTC: unsubscribed"
    assert reasons(store) == {(DEV.address, why)}
    with store.write() as connection:
        assert list_addresses_off(connection) == [off]
        assert len(resend(connection, DEV.address, A_MOMENT)) == 0
        assert turn_on(connection, DEV)
        assert not turn_on(connection, DEV)
        assert len(resend(connection, DEV.address, A_MOMENT)) == 1
