"""Holding: until when the hours of a rule, those of a recipient and maintenance hold a change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.holding import RuleRoute, route_for
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.silence import Silence, SilenceKind, SilenceRequest
from dashboard.domain.people.active_hours import ActiveHours, WeeklyHours, WeekSpan
from dashboard.domain.people.recipients import (
    QUIET_HOURS,
    ConfiguredRecipients,
    RecipientDirectory,
    RecipientProfile,
)
from tests.builders import A_MOMENT, A_NETWORK, a_transition, an_id

OPS = Recipient("mail", "ops@example.org")
NOON = A_MOMENT
"""It is a Friday."""

BY_RULE = "quiet hours of the rule hub"


def at(hour: int, days: int = 0) -> datetime:
    """Return an hour of that day, or of a later one."""
    return datetime(2026, 11, 20 + days, hour, tzinfo=UTC)


def directory(*spans: str) -> RecipientDirectory:
    """Return what is known of a recipient with these active hours."""
    profile = RecipientProfile(active=tuple(map(WeekSpan.parse, spans)))
    return RecipientDirectory(ConfiguredRecipients((OPS,), {OPS: profile}))


def a_route(*spans: str, windows: tuple[Silence, ...] = ()) -> RuleRoute:
    """Return the route of a rule with these active hours."""
    hours = ActiveHours(tuple(map(WeekSpan.parse, spans))) if spans else None
    return RuleRoute("hub", (), (OPS,), active_hours=hours, windows=windows)


def a_window(begins: datetime, ends: datetime) -> Silence:
    request = SilenceRequest(an_id(1), SilenceKind.MAINTENANCE, (), begins, ends, "new node")
    return Silence(4, request, "Ann", NOON)


def test_quiet_hours_hold_nothing_urgent() -> None:
    urgent = RuleRoute("down", (), (OPS,), is_urgent=True)

    assert route_for(OPS, urgent, directory("mon-sun 20:00-22:00"), NOON) is urgent


def test_quiet_hours_hold_a_route_until_they_end() -> None:
    daytime = directory("mon-sun 08:00-22:00")

    assert route_for(OPS, a_route(), daytime, at(23)).held_until == at(8, days=1)
    assert route_for(OPS, a_route(), daytime, NOON) == a_route()


def test_message_comes_when_the_hours_of_rule_and_recipient_both_allow_it() -> None:
    evenings_and_mornings = directory("mon-sun 20:00-22:00", "mon-sun 07:00-10:00")
    by_day = a_route("mon-sun 09:00-18:00")

    held = route_for(OPS, by_day, evenings_and_mornings, NOON)

    assert (held.held_until, held.held_by) == (at(9, days=1), "quiet-hours")
    assert held.held_for == f"{BY_RULE}; {QUIET_HOURS}"


def test_hours_that_were_on_at_first_are_no_reason() -> None:
    held = route_for(OPS, a_route("mon-sun 09:00-23:00"), directory("mon-sun 20:00-22:00"), NOON)

    assert (held.held_until, held.held_for) == (at(20), QUIET_HOURS)


def test_message_comes_at_the_hours_of_the_recipient_if_both_never_allow_it() -> None:
    held = route_for(OPS, a_route("mon-fri 08:00-18:00"), directory("sat,sun 10:00-12:00"), NOON)

    assert held.held_until == at(10, days=1)


def test_maintenance_that_lasts_at_the_hours_of_the_recipient_holds_on() -> None:
    window = a_window(at(19), at(21))

    held = route_for(OPS, a_route(windows=(window,)), directory("mon-sun 20:00-22:00"), NOON)

    assert (held.held_until, held.held_by) == (at(21), "quiet-hours window-4")
    assert held.held_for == f"{QUIET_HOURS}; maintenance window 4 by Ann: new node"


def test_maintenance_that_ends_outside_of_hours_leaves_the_message_to_the_next_ones() -> None:
    window = a_window(at(19), at(23))
    route = a_route("mon-sun 09:00-21:00", windows=(window,))

    held = route_for(OPS, route, directory("mon-sun 20:00-22:00"), NOON)

    assert held.held_until == at(20, days=1)


def test_of_overlapping_windows_the_one_that_ends_last_is_named() -> None:
    first, last = a_window(NOON, at(14)), replace(a_window(at(13), at(15)), silence_id=5)

    held = route_for(OPS, a_route(windows=(last, first)), directory("mon-sun 00:00-24:00"), NOON)

    assert (held.held_until, held.held_by) == (at(15), "window-4 window-5")
    assert held.held_for == "maintenance window 5 by Ann: new node"


def test_window_at_all_hours_of_a_recipient_leaves_the_message_to_the_first_ones_after_it() -> None:
    by_day = WeeklyHours(ActiveHours((WeekSpan.parse("mon-sun 08:00-19:00"),)), UTC)
    request = SilenceRequest(
        *(an_id(1), SilenceKind.MAINTENANCE, (), NOON, at(12, days=10), "a long move", by_day)
    )
    short = Silence(4, request, "Ann", NOON)
    long = Silence(5, replace(request, ends_at=NOON + timedelta(days=365)), "Ann", NOON)
    own = directory("mon-sun 09:00-18:00")

    after_all = route_for(OPS, a_route(windows=(short,)), own, NOON)
    held = route_for(OPS, a_route(windows=(long,)), own, NOON)

    assert after_all.held_until == at(12, days=10)
    assert held.held_until == at(9, days=1)


def test_only_what_follows_a_first_rejection_is_grouped() -> None:
    route = RuleRoute("hub", (), (OPS,))
    busy = a_transition(subject=Subject(SubjectKind.BUSYNESS, A_NETWORK), after=State.BUSY)

    assert route.wait_for(a_transition(), is_new=True) == timedelta()
    assert route.wait_for(busy, is_new=False) == timedelta()
    assert route.wait_for(a_transition(), is_new=False) == route.group_wait
