"""A worker measures what rules ask for, and reports it once while it lasts, and its end."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace
from sqlalchemy import update

from dashboard.domain.alerts.condition import INSTALLATION, State, Subject, SubjectKind
from dashboard.domain.alerts.kinds.credit_budget import BudgetPeriod, CreditMeasure
from dashboard.domain.alerts.kinds.expiry import ExpiryMeasure
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.kinds.rejection_rate import RateMeasure
from dashboard.domain.alerts.notification import NotificationState, Recipient
from dashboard.domain.alerts.rule import Rule, RuleScope
from dashboard.domain.health.coverage import CoverageChange, Covered, Gap, GapCause, Watched
from dashboard.domain.health.observation import Spent
from dashboard.domain.people.access import KeyLimits
from dashboard.domain.people.recipients import SuspectAddress
from dashboard.poll.lease import LeaseLost
from dashboard.store.access.api_keys import Credential, create_key, rotate_key
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.notification_claims import mark_dead, mark_sent, reschedule
from dashboard.store.alerts.recipients import end_suspicion, suspect
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.coverage import save_coverage
from dashboard.store.monitoring.upkeep import record_credits
from dashboard.store.schema import notifications
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    a_transition,
    seconds,
)
from tests.delivery_checks import claim_due, make_pending
from tests.unit.poll.condition_scene import told
from tests.unit.poll.rule_watch import Watch

pytestmark = pytest.mark.parametrize("database", ["sqlite"])

STORM = Rule(
    "storm",
    RuleKind.REJECTION_RATE,
    scope=RuleScope(takes_all_reports=True),
    measure=RateMeasure(2, seconds(60)),
    keep_firing=seconds(30),
)
EXPIRY = Rule("expiry", RuleKind.EXPIRY, measure=ExpiryMeasure(14 * seconds(86_400)))
RATE = Subject(SubjectKind.REJECTION_RATE, A_NETWORK, rule="storm")


def test_storm_is_told_once_and_its_end_after_a_while(watch: Watch) -> None:
    watch.hold(STORM)
    watch.reject(1, 2)
    watch.go_on(2)
    assert watch.told() == []

    watch.reject(3)
    watch.go_on(2)
    assert watch.told() == [(RATE, State.BEYOND_LIMITS)]

    watch.go_on(30)
    assert watch.told() == [(RATE, State.BEYOND_LIMITS), (RATE, State.WITHIN_LIMITS)]


def test_storm_is_not_over_because_nobody_sees_rejections_arrive(watch: Watch) -> None:
    watch.hold(STORM)
    watch.reject(1, 2, 3)
    watch.go_on(1)
    silent = Subject(SubjectKind.EXCLUSION_API, A_NETWORK)
    with watch.store.write() as connection:
        fell_silent = a_transition(50, subject=silent, before=None, after=State.SILENT)
        assert record_transition(connection, fell_silent, None)

    watch.go_on(60)

    assert (RATE, State.WITHIN_LIMITS) not in watch.told()
    assert (RATE, State.BEYOND_LIMITS) in watch.told()


def test_restart_in_a_storm_tells_nobody_again(watch: Watch) -> None:
    watch.hold(STORM)
    watch.reject(1, 2, 3)
    watch.go_on(1)
    watch.restart()

    watch.go_on(3)

    assert watch.told() == [(RATE, State.BEYOND_LIMITS)]


def test_rule_that_is_off_or_gone_measures_nothing_and_ends_what_lasts(watch: Watch) -> None:
    watch.hold(STORM)
    watch.reject(1, 2, 3)
    watch.go_on(1)

    watch.hold(replace(STORM, is_enabled=False))
    watch.go_on(3)

    assert watch.told() == [(RATE, State.BEYOND_LIMITS), (RATE, State.WITHIN_LIMITS)]


GAP = Rule("gaps", RuleKind.COVERAGE_GAP, pending=seconds(60))
WORKER = Rule("worker", RuleKind.WORKER_SILENT, pending=seconds(60))
WORKER_SUBJECT = Subject(SubjectKind.WORKER, INSTALLATION, rule="worker")


def covered_until(watch: Watch, *found: Gap) -> None:
    """Write down these gaps."""
    held = Covered(A_NETWORK, Watched.FEES, A_MOMENT, A_MOMENT)
    with watch.store.write() as connection:
        save_coverage(connection, None, CoverageChange(held, found))


def a_gap(ends: datetime | None, cause: GapCause = GapCause.NOT_WATCHED) -> Gap:
    """Return a gap from an hour ago."""
    return Gap(A_NETWORK, Watched.FEES, A_MOMENT - timedelta(hours=1), ends, cause, "")


@pytest.mark.parametrize(
    ("rule", "kind", "states"),
    [
        (GAP, SubjectKind.COVERAGE, (State.NOT_WATCHED, State.WATCHED)),
        (WORKER, SubjectKind.WORKER, (State.SILENT, State.ANSWERING)),
    ],
    ids=["coverage", "worker"],
)
def test_time_without_a_worker_is_reported_once_by_the_next_one_as_over(
    watch: Watch, rule: Rule, kind: SubjectKind, states: tuple[State, State]
) -> None:
    watch.hold(rule)
    covered_until(watch, a_gap(A_MOMENT))

    watch.go_on(1)
    at_once = told(watch.store)
    watch.go_on(120)

    begun, over = A_MOMENT - timedelta(hours=1), A_MOMENT
    assert [(each.subject.kind, each.after, each.began_at) for each in at_once] == [
        (kind, states[0], begun),
        (kind, states[1], over),
    ]
    assert told(watch.store) == at_once


def test_network_that_the_settings_name_again_is_no_absence_of_the_worker(watch: Watch) -> None:
    watch.hold(WORKER, GAP)
    covered_until(watch, a_gap(A_MOMENT))
    elsewhere = Covered(A_NETWORK, Watched.REJECTIONS, A_MOMENT - timedelta(hours=2), A_MOMENT)
    with watch.store.write() as connection:
        save_coverage(connection, None, CoverageChange(elsewhere))

    watch.go_on(1)

    assert [subject.kind for subject, _ in watch.told()] == [SubjectKind.COVERAGE] * 2


def test_rejections_without_line_limits_hide_no_absence_of_the_worker(watch: Watch) -> None:
    watch.hold(WORKER)
    covered_until(watch, a_gap(A_MOMENT))
    limits = Subject(SubjectKind.LINE_LIMITS, A_NETWORK)
    ended = a_transition(50, subject=limits, before=None, after=State.NO_LINE_LIMITS)
    elsewhere = Covered(A_NETWORK, Watched.REJECTIONS, A_MOMENT - timedelta(hours=2), A_MOMENT)
    with watch.store.write() as connection:
        save_coverage(connection, None, CoverageChange(elsewhere))
        assert record_transition(connection, ended, None)

    watch.go_on(1)

    assert (WORKER_SUBJECT, State.SILENT) in watch.told()


def test_gap_that_was_reported_while_it_lasted_ends_when_it_ended(watch: Watch) -> None:
    watch.hold(GAP)
    covered_until(watch, a_gap(None, GapCause.NOT_ANSWERED))
    watch.go_on(1)
    covered_until(watch, a_gap(A_MOMENT + seconds(6), GapCause.NOT_ANSWERED))

    watch.go_on(3)

    assert [(each.after, each.began_at) for each in told(watch.store)] == [
        (State.NOT_WATCHED, A_MOMENT - timedelta(hours=1)),
        (State.WATCHED, A_MOMENT + seconds(6)),
    ]


def test_gap_that_is_over_fires_on_for_as_long_as_its_rule_keeps_it(watch: Watch) -> None:
    watch.hold(replace(WORKER, keep_firing=seconds(60)))
    covered_until(watch, a_gap(A_MOMENT))

    watch.go_on(11)
    during = [after for _, after in watch.told()]
    watch.go_on(1)

    assert during == [State.SILENT]
    assert [each.began_at for each in told(watch.store)][1:] == [A_MOMENT]


@pytest.mark.parametrize("per", BudgetPeriod)
def test_credits_are_told_when_the_share_of_the_budget_is_spent(
    watch: Watch, per: BudgetPeriod
) -> None:
    measure = CreditMeasure(1000, per, 80)
    watch.hold(Rule("budget", RuleKind.CREDITS_SHORT, measure=measure))
    for credits_, told_by_then in ((799, 0), (1, 1)):
        with watch.store.write() as connection:
            spent = {"suggestedGasFees": Spent(1, credits_)}
            record_credits(connection, A_NETWORK, watch.fake_clock.now(), spent)
        watch.go_on(1)
        assert len(watch.told()) == told_by_then


def test_key_and_certificate_that_end_soon_are_told_once(watch: Watch) -> None:
    day = timedelta(days=1)
    watch.certificates += [("Our CA", A_MOMENT + 3 * day), ("Other CA", A_MOMENT + 90 * day)]
    watch.restart()
    watch.hold(EXPIRY)
    limits = KeyLimits(may_report=False)
    with watch.store.write() as connection:
        create_key(connection, "wallet", limits, Credential(b"k" * 32, b"s" * 32, A_MOMENT))
        fresh = Credential(b"l" * 32, b"t" * 32, A_MOMENT)
        rotate_key(connection, "wallet", fresh, A_MOMENT + day)

    watch.go_on(2)

    assert [subject.dimension for subject, _ in watch.told()] == [
        "key wallet",
        "certificate Our CA",
    ]


def test_certificate_of_a_server_is_judged_as_it_was_seen_at_the_last_connection(
    watch: Watch,
) -> None:
    day = timedelta(days=1)
    watch.hold(EXPIRY)
    watch.connected_to = {
        "smtp.example.org": A_MOMENT + 13 * day,
        "api.example.org": A_MOMENT + 16 * day,
        "nobody.example.org": A_MOMENT,
    }
    watch.go_on(1)
    watch.fake_clock.wait(10 * day)  # the other one may have been renewed meanwhile
    watch.go_on(1)
    watch.restart()
    watch.go_on(1)
    opened = [(subject.dimension, after) for subject, after in watch.told()]
    watch.connected_to = {"smtp.example.org": A_MOMENT + 90 * day}
    watch.go_on(1)
    every = [(subject.dimension, after) for subject, after in watch.told()]

    of_mail = "certificate of the mail server"
    assert opened == [(of_mail, State.BEYOND_LIMITS)]
    assert every == [*opened, (of_mail, State.WITHIN_LIMITS)]


def set_notifications(store: Store, **values: object) -> None:
    """Change all notifications as their delivery would."""
    with store.write() as connection:
        connection.execute(update(notifications).values(**values))


def test_channel_that_takes_nothing_is_told_and_its_recovery(watch: Watch) -> None:
    rule = Rule("delivery", RuleKind.DELIVERY_FAILING, pending=seconds(10))
    watch.hold(rule)
    make_pending(watch.store)
    watch.go_on(4)
    assert watch.told() == []

    set_notifications(watch.store, attempts=3, outcome="451 try later")
    watch.go_on(4)
    set_notifications(watch.store, state=NotificationState.SENT)
    watch.go_on(1)

    assert [(subject.dimension, after) for subject, after in watch.told()] == [
        ("mail", State.FAILING),
        ("mail", State.DELIVERING),
    ]


def test_channel_works_again_once_it_accepts_something_and_not_when_all_is_dead(
    watch: Watch,
) -> None:
    watch.hold(Rule("delivery", RuleKind.DELIVERY_FAILING))
    make_pending(watch.store, 2)
    one, other = claim_due(watch.store, watch.term.token)
    with watch.store.write() as connection:
        reschedule(connection, one, "451 try later", A_MOMENT)
    watch.go_on(1)
    [one] = claim_due(watch.store, watch.term.token, besides=[other])
    with watch.store.write() as connection:
        mark_dead(connection, one, "451 try later", A_MOMENT)
    watch.go_on(2)
    assert [after for _, after in watch.told()] == [State.FAILING]

    with watch.store.write() as connection:
        mark_sent(connection, other.notification_id, "250 taken", A_MOMENT)
    watch.go_on(1)

    assert [after for _, after in watch.told()] == [State.FAILING, State.DELIVERING]


def test_address_from_which_a_mail_came_back_is_told_and_its_end(watch: Watch) -> None:
    ops = Recipient("mail", "Ops <ops@Example.org>")
    watch.hold(Rule("delivery", RuleKind.DELIVERY_FAILING))
    with watch.store.write() as connection:
        suspect(connection, SuspectAddress(ops, A_MOMENT, "<1@example.org>", "550"))
    watch.go_on(1)
    with watch.store.write() as connection:
        end_suspicion(connection, ops)
    watch.go_on(1)

    told = [(subject.dimension, after) for subject, after in watch.told()]
    assert told == [(ops.address[5:-1].lower(), each) for each in (State.FAILING, State.DELIVERING)]


def test_worker_that_lost_its_lease_writes_nothing(watch: Watch) -> None:
    watch.hold(STORM)
    watch.reject(1, 2, 3)
    watch.term = replace(watch.term, token=watch.term.token + 1)

    with pytest.raises(LeaseLost):
        watch.go_on(1)

    assert watch.told() == []


@pytest.mark.parametrize(("took", "looks"), [(0.25, 3), (10, 10)])
def test_look_that_takes_long_is_followed_by_a_rest_of_a_minute_at_most(
    watch: Watch, took: float, looks: int
) -> None:
    watch.hold(STORM, EXPIRY)
    watch.reading_certificates_takes = seconds(took)
    watch.go_on(1)
    watch.reading_certificates_takes = seconds(0)
    watch.reject(1, 2, 3)

    watch.go_on(looks - 1)
    assert watch.told() == []
    watch.go_on(1)

    assert watch.told() == [(RATE, State.BEYOND_LIMITS)]
