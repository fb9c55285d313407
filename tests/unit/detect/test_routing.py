"""Which rules a change concerns, and whom they notify."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from dashboard.detect.routing import hold_all, route_of_incident, routes_of, timers_of
from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.holding import RuleRoute
from dashboard.domain.alerts.incident_timers import IncidentTimers
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import DEFAULT_RULES, ObservedChange, Rule, Severity
from dashboard.domain.alerts.silence import Silence, SilenceKind, SilenceRequest
from dashboard.domain.people.active_hours import ActiveHours, WeekSpan
from tests.builders import A_MOMENT, A_NETWORK, a_rejection, a_transition, an_id, an_incident

ONCALL = Recipient("mail", "oncall@example.org")
OTHERS = Recipient("mail", "others@example.org")
REJECTED = ObservedChange(a_transition(), a_rejection())


def test_everyone_is_notified_of_a_rejection_by_the_default_rules() -> None:
    (route,) = routes_of(DEFAULT_RULES, REJECTED, [ONCALL, OTHERS], A_MOMENT)

    assert route == RuleRoute(
        "rejections",
        (("network", str(A_NETWORK)), ("module", "ADD"), ("stage", "RPC")),
        (ONCALL, OTHERS),
    )


def test_nobody_is_notified_that_a_transaction_is_not_reported() -> None:
    change = ObservedChange(a_transition(after=State.UNREPORTED))

    assert routes_of(DEFAULT_RULES, change, [ONCALL], A_MOMENT) == ()


def test_each_rule_that_fits_says_whom_to_notify_and_how() -> None:
    rules = [
        Rule("all", RuleKind.REJECTED),
        Rule(
            "mine",
            RuleKind.REJECTED,
            Severity.CRITICAL,
            recipients=(OTHERS,),
            group_by=(),
            group_wait=timedelta(minutes=1),
            pierces=True,
        ),
        Rule("busy", RuleKind.BUSY),
    ]

    everyone, mine = routes_of(rules, REJECTED, [ONCALL], A_MOMENT)

    assert everyone.recipients == (ONCALL,)
    assert mine == RuleRoute(
        "mine", (), (OTHERS,), RuleKind.REJECTED, "critical", timedelta(minutes=1), is_urgent=True
    )


def test_rule_says_what_time_does_to_its_incidents() -> None:
    hour = timedelta(hours=1)
    rule = Rule("mine", RuleKind.REJECTED, remind_every=hour, escalate_after=hour)

    assert timers_of(None) == IncidentTimers()
    assert timers_of(rule) == IncidentTimers(remind_every=hour)
    assert timers_of(replace(rule, keep_firing=hour, escalate_to=(OTHERS,))) == IncidentTimers(
        hour, hour, hour
    )


def test_only_what_is_not_measured_is_pending_as_an_incident() -> None:
    hour = timedelta(hours=1)

    assert timers_of(Rule("mine", RuleKind.BUSY, pending=hour)).pending == hour
    assert not timers_of(Rule("mine", RuleKind.FEE, pending=hour)).pending


def test_quiet_hours_hold_until_they_end_unless_the_rule_pierces_them() -> None:
    hours = ActiveHours((WeekSpan.parse("mon-sun 14:00-20:00"),))
    rule = Rule("mine", RuleKind.REJECTED, active_hours=hours)
    opens = A_MOMENT + timedelta(hours=2)

    (held,) = routes_of([rule], REJECTED, [ONCALL], A_MOMENT)
    (free,) = routes_of([rule], REJECTED, [ONCALL], opens)
    (piercing,) = routes_of([replace(rule, pierces=True)], REJECTED, [ONCALL], A_MOMENT)

    assert (held.held_until, free.held_until, piercing.held_until) == (opens, None, None)
    assert route_of_incident(rule, an_incident(), A_MOMENT).held_until == opens
    assert route_of_incident(replace(rule, pierces=True), an_incident(), A_MOMENT).is_urgent


def test_message_about_an_incident_is_held_while_all_its_changes_are() -> None:
    hour = timedelta(hours=1)
    vip, other = ({MatchedProperty.LABEL: each} for each in ("vip", "other"))
    matchers = (Matcher(MatchedProperty.LABEL, "vip"),)
    kind = SilenceKind.MAINTENANCE
    request = SilenceRequest(an_id(1), kind, matchers, A_MOMENT, A_MOMENT + hour, "known")
    windows = [Silence(1, request, "Ann", A_MOMENT)]
    route = route_of_incident(None, an_incident(), A_MOMENT)

    assert hold_all(route, [vip], windows, A_MOMENT).held_until == A_MOMENT + hour
    assert hold_all(route, [vip, other], windows, A_MOMENT).held_until is None


def test_route_that_pierces_ranks_before_those_that_wait_or_reach_nobody() -> None:
    plain = RuleRoute("plain", (), (ONCALL,))
    held = replace(plain, held_until=A_MOMENT)
    later = replace(plain, held_until=A_MOMENT + timedelta(hours=2))
    silenced = replace(plain, is_urgent=True, withheld="silenced")
    urgent = replace(plain, is_urgent=True)

    ranked = sorted([silenced, later, held, plain, urgent], key=lambda each: each.rank)

    assert ranked == [urgent, plain, held, later, silenced]


def test_route_that_only_a_window_holds_ranks_before_one_that_quiet_hours_may_hold_on() -> None:
    hours = ActiveHours((WeekSpan.parse("mon-sun 14:00-20:00"),))
    held = RuleRoute("held", (), (ONCALL,), held_until=A_MOMENT)
    at_night, free = replace(held, active_hours=hours), RuleRoute("free", (), (ONCALL,))
    free_at_night = replace(free, active_hours=hours)

    assert min(at_night, held, key=lambda each: each.rank) == held
    assert min(free_at_night, free, key=lambda each: each.rank) == free_at_night
