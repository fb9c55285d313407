"""What silences and maintenance withhold."""

from __future__ import annotations

from msgspec.structs import replace

from dashboard.detect.routing import withhold
from dashboard.domain.alerts.holding import RuleRoute
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.rule import ObservedChange
from dashboard.domain.alerts.silence import Silence, SilenceKind, SilenceRequest
from dashboard.domain.people.active_hours import ActiveHours, WeekSpan
from tests.builders import A_MOMENT, HOUR, a_rejection, a_transition, an_id

CHANGE = ObservedChange(a_transition(), a_rejection())
ROUTE = RuleRoute("rejections", (), ())


def of_rule(kind: SilenceKind, rule: str = "rejections") -> Silence:
    """Return a silence or window of an hour about one rule."""
    matchers = (Matcher(MatchedProperty.RULE, rule),)
    request = SilenceRequest(an_id(), kind, matchers, A_MOMENT, A_MOMENT + HOUR, "known")
    return Silence(7, request, "ada", A_MOMENT)


def test_silenced_route_says_by_whom_and_until_when() -> None:
    route = withhold(ROUTE, CHANGE, [of_rule(SilenceKind.SILENCE)], A_MOMENT)

    assert route.withheld == "silenced until 2026-11-20 13:00:00 UTC by ada: known (silence 7)"


def test_maintenance_holds_a_route_until_it_ends_unless_it_is_urgent() -> None:
    windows = [of_rule(SilenceKind.MAINTENANCE)]
    urgent = replace(ROUTE, is_urgent=True)

    assert withhold(ROUTE, CHANGE, windows, A_MOMENT).held_until == A_MOMENT + HOUR
    assert withhold(urgent, CHANGE, windows, A_MOMENT) == urgent


def test_silence_keeps_what_is_urgent_from_everybody_too() -> None:
    urgent = replace(ROUTE, is_urgent=True)

    assert withhold(urgent, CHANGE, [of_rule(SilenceKind.SILENCE)], A_MOMENT).withheld


def test_silence_of_another_rule_changes_nothing() -> None:
    others = [of_rule(each, "busy") for each in SilenceKind]

    assert withhold(ROUTE, CHANGE, others, A_MOMENT) == ROUTE


def test_what_is_held_waits_until_neither_maintenance_nor_quiet_hours_are_on() -> None:
    night = ActiveHours((WeekSpan.parse("mon-sun 14:00-20:00"),))
    after_the_window = withhold(
        replace(ROUTE, active_hours=night), CHANGE, [of_rule(SilenceKind.MAINTENANCE)], A_MOMENT
    )
    opening = replace(ROUTE, active_hours=night, held_until=A_MOMENT + HOUR / 2)

    after_both = withhold(opening, CHANGE, [of_rule(SilenceKind.MAINTENANCE)], A_MOMENT)

    assert after_the_window.held_until == after_both.held_until == A_MOMENT + 2 * HOUR
    assert after_both.held_for == "quiet hours of the rule rejections"
