"""Where alerting stands, told from conditions and notifications."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.holding import RuleRoute
from dashboard.domain.alerts.hourly_cap import Closing
from dashboard.domain.alerts.incident import Incident, resolve
from dashboard.domain.alerts.incident_timers import IncidentTimers
from dashboard.domain.alerts.notification import NotificationKind, Recipient
from dashboard.store.alerts.alert_status import (
    NotificationCounts,
    OpenIncident,
    PendingCondition,
    ends_of,
    notification_counts,
    notified_incidents,
    open_incidents,
    pending_conditions,
)
from dashboard.store.alerts.closings import close, open_notifications
from dashboard.store.alerts.conditions import record_transition, set_turning_since
from dashboard.store.alerts.incidents import (
    all_open_incidents,
    open_incidents_of_rule,
    save_incident,
)
from dashboard.store.alerts.notification_claims import mark_dead, mark_sent, release_claims
from dashboard.store.alerts.notifications import incidents_of
from dashboard.store.alerts.outbox import expand, pending_expansion
from dashboard.store.alerts.reminders_and_escalations import (
    Repetition,
    notified_of,
    repeat,
    withdraw,
)
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import acquire
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, a_transition, seconds
from tests.delivery_checks import DEV, claim_due, claim_for_all, make_pending, reject, take_lease
from tests.one_by_one import recent_notifications
from tests.recording_channel import ONCALL
from tests.routes import by_subject, expand_alone, trusting

BUSYNESS = Subject(SubjectKind.BUSYNESS, A_NETWORK)
GAS_API = Subject(SubjectKind.GAS_API, A_NETWORK)


def test_what_lasts_on_networks_is_open_and_rejections_are_not(store: Store) -> None:
    reject(store)
    with store.write() as connection:
        for number, subject, after in (
            (20, GAS_API, State.SILENT),
            (21, BUSYNESS, State.BUSY),
            (22, Subject(SubjectKind.FEES, A_NETWORK), State.FRESH),
        ):
            news = a_transition(number, subject=subject, after=after, at=A_MOMENT + seconds(number))
            assert record_transition(connection, news, None)

    with store.read() as connection:
        assert open_incidents(connection) == [
            OpenIncident(GAS_API, State.SILENT, A_MOMENT + seconds(20)),
            OpenIncident(BUSYNESS, State.BUSY, A_MOMENT + seconds(21)),
        ]


def test_what_waits_for_its_time_or_for_its_rule_is_not_reported(store: Store) -> None:
    waiting, other = (Subject(SubjectKind.BUSYNESS, each) for each in (A_NETWORK, ANOTHER_NETWORK))
    with store.write() as connection:
        for number, subject, after in (
            *((20, GAS_API, State.SILENT), (21, waiting, State.BUSY), (22, other, State.CALM)),
            (23, Subject(SubjectKind.FEES, A_NETWORK), State.STALE),
        ):
            news = a_transition(number, subject=subject, after=after, at=A_MOMENT + seconds(number))
            assert record_transition(connection, news, None)
        set_turning_since(connection, other, A_MOMENT + seconds(30))
        set_turning_since(connection, GAS_API, A_MOMENT + seconds(30))
        reported, pending, _, stale = pending_expansion(connection, 10)
        recipients = trusting([ONCALL, DEV])
        lasting = IncidentTimers(pending=seconds(60))
        routed = [
            (reported, by_subject(reported.transition, [ONCALL])),
            (pending, [replace(by_subject(pending.transition, [ONCALL])[0], timers=lasting)]),
            (stale, by_subject(stale.transition, [DEV])),
        ]
        expand(connection, routed, A_MOMENT + seconds(30), recipients)
        untold, conditions = notified_incidents(connection, ONCALL), pending_conditions(connection)
    claimed = {each.recipient: each for each in claim_due(store, take_lease(store))}
    with store.write() as connection:
        mark_sent(connection, claimed[ONCALL].notification_id, "200 OK", A_MOMENT + seconds(31))
        first = [notified_incidents(connection, each) for each in (ONCALL, DEV)]
        mark_sent(connection, claimed[DEV].notification_id, "200 OK", A_MOMENT + seconds(31))
        both = [notified_incidents(connection, each) for each in (ONCALL, DEV)]

    assert [[each.subject.kind for each in found] for found in first] == [[GAS_API.kind], []]
    assert [[each.subject.kind for each in found] for found in both] == [
        [GAS_API.kind],
        [SubjectKind.FEES],
    ]
    assert untold == []
    assert conditions == [PendingCondition(other, A_MOMENT + seconds(30))]


def test_escalation_tells_its_recipient_of_its_incident_alone(store: Store) -> None:
    outages = [Subject(SubjectKind.GAS_API, each) for each in (A_NETWORK, ANOTHER_NETWORK)]
    escalate(store, dict(zip(outages, (ONCALL, DEV), strict=True)))
    claimed = claim_due(store, take_lease(store))
    with store.write() as connection:
        for each in claimed:
            mark_sent(connection, each.notification_id, "250 ok", A_MOMENT)
        found = [notified_incidents(connection, each) for each in (ONCALL, DEV)]

    assert [[each.subject for each in some] for some in found] == [[each] for each in outages]


def test_end_of_one_incident_leaves_the_escalation_of_another_that_is_merged_with_its_own(
    store: Store,
) -> None:
    outages = [Subject(SubjectKind.GAS_API, each) for each in (A_NETWORK, ANOTHER_NETWORK)]
    ended, lasting = escalate(store, dict.fromkeys(outages, ONCALL))
    token = take_lease(store)
    with store.write() as connection:
        one, other = (each.notification_id for each in open_notifications(connection))
        close(connection, [Closing(one, (other,))], token, A_MOMENT)
        release_claims(connection, token, ONCALL)  # the server failed before
        withdraw(connection, ended)
        told = [notified_of(connection, each) for each in (ended, lasting)]
        [left] = recent_notifications(connection, 9)
        about = incidents_of(connection, [left.notification_id])
        withdraw(connection, lasting)
        nothing = recent_notifications(connection, 9)

    assert told == [[], [ONCALL]]
    assert about == {left.notification_id: [lasting.incident_id]}
    assert nothing == []


def escalate(store: Store, outages: Mapping[Subject, Recipient]) -> list[Incident]:
    """Let each of these last, and somebody hear of it who heard of no change; return incidents."""
    directory = trusting([ONCALL, DEV])
    escalated = Repetition(
        NotificationKind.ESCALATION, A_MOMENT, RuleRoute("rejections", (), ()), directory
    )
    with store.write() as connection:
        for number, subject in enumerate(outages, 1):
            silent = a_transition(number, subject=subject, after=State.SILENT)
            assert record_transition(connection, silent, None)
        entries = pending_expansion(connection, 10)
        routed = [(each, by_subject(each.transition, [])) for each in entries]
        expand(connection, routed, A_MOMENT, trusting([]))
        opened = {each.group[0][1]: each for each in all_open_incidents(connection, 9)}
        for subject, recipient in outages.items():
            assert repeat(connection, opened[subject.key()], escalated, [recipient]) == [recipient]
    return [opened[each.key()] for each in outages]


@pytest.mark.parametrize("resolved", ["one", "another"])
def test_who_heard_of_what_a_person_resolved_is_not_reminded_by_another_rule(
    store: Store, resolved: str
) -> None:
    rules = {"one": ONCALL, "another": DEV}
    with store.write() as connection:
        silent = a_transition(1, subject=GAS_API, after=State.SILENT)
        assert record_transition(connection, silent, None)
        [entry] = pending_expansion(connection, 10)
        routes = [replace(by_subject(silent, [each])[0], rule=rule) for rule, each in rules.items()]
        expand(connection, [(entry, routes)], A_MOMENT, trusting([ONCALL, DEV]))
    for each in claim_due(store, take_lease(store)):
        with store.write() as connection:
            mark_sent(connection, each.notification_id, "250 ok", A_MOMENT)
    with store.write() as connection:
        [incident] = open_incidents_of_rule(connection, resolved)
        before = ends_of(connection, [GAS_API])
        save_incident(connection, resolve(incident, A_MOMENT + seconds(90)))
        found = {rule: notified_incidents(connection, each) for rule, each in rules.items()}
        after = ends_of(connection, [GAS_API])

    assert {rule for rule, some in found.items() if some} == rules.keys() - {resolved}
    assert (before, after) == ({}, {GAS_API: A_MOMENT + seconds(90)})


def test_what_was_wrong_is_over_when_it_ended(store: Store) -> None:
    busy = a_transition(20, subject=BUSYNESS, after=State.BUSY)
    calm = a_transition(
        21,
        subject=BUSYNESS,
        before=State.BUSY,
        after=State.CALM,
        at=A_MOMENT + seconds(90),
        since=A_MOMENT + seconds(60),
    )
    silent = a_transition(22, subject=GAS_API, after=State.SILENT)
    with store.write() as connection:
        for each in (busy, calm, silent):
            assert record_transition(connection, each, None)

        assert ends_of(connection, [BUSYNESS, GAS_API]) == {BUSYNESS: A_MOMENT + seconds(60)}


def test_counts_say_what_is_pending_sent_and_given_up(store: Store) -> None:
    with store.read() as connection:
        assert notification_counts(connection, A_MOMENT) == NotificationCounts(0, None, 0, None, 0)
    make_pending(store, 3)
    claimed = {
        each.transition.subject.tx_hash: each for each in claim_due(store, take_lease(store))
    }
    with store.write() as connection:
        mark_sent(connection, claimed[a_hash(1)].notification_id, "250 ok", A_MOMENT + seconds(2))
        assert mark_dead(connection, claimed[a_hash(2)], "550 no such user", A_MOMENT)

    with store.read() as connection:
        counts = notification_counts(connection, A_MOMENT)
        later = notification_counts(connection, A_MOMENT + seconds(1))

    assert replace(counts, in_delivery=0, in_delivery_since=None) == NotificationCounts(
        1, A_MOMENT, 1, A_MOMENT + seconds(2), 1
    )
    assert (later.pending, later.oldest_pending, later.sent, later.dead) == (1, A_MOMENT, 0, 0)


def test_what_waits_for_its_time_is_not_in_delivery(store: Store) -> None:
    with store.write() as connection:
        record_transition(connection, a_transition(), None)
        before = notification_counts(connection, A_MOMENT)
        expand_alone(connection, pending_expansion(connection, 1)[0], [ONCALL], A_MOMENT)
        groups = notification_counts(connection, A_MOMENT)
        token = acquire(connection, "worker", "a", seconds(60)) or 0
        claim_for_all(connection, token, A_MOMENT + seconds(9), 1)
        claimed = notification_counts(connection, A_MOMENT)

    assert (before.pending_changes, before.pending) == (1, 0)
    assert before.is_any_pending
    assert (groups.pending_changes, groups.pending, groups.in_delivery) == (0, 1, 0)
    assert (claimed.pending, claimed.in_delivery) == (1, 1)
    assert claimed.in_delivery_since == A_MOMENT + seconds(9)
