"""What follows the first notification of an incident is grouped until it is claimed."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

from dashboard.detect.routing import routes_of
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.holding import RuleRoute
from dashboard.domain.alerts.hourly_cap import Closing
from dashboard.domain.alerts.incident import IncidentEventKind, IncidentState
from dashboard.domain.alerts.notification import Notification, NotificationState
from dashboard.domain.alerts.rule import DEFAULT_RULES
from dashboard.store.alerts.closings import open_notifications
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.incident_list import (
    NotifiedRecipient,
    incident_story,
    open_incident_stories,
)
from dashboard.store.alerts.incidents import incident_events_of
from dashboard.store.alerts.notification_claims import (
    ClaimRequest,
    claim,
    mark_sent,
    release_claims,
)
from dashboard.store.alerts.notifications import all_members
from dashboard.store.alerts.outbox import expand, pending_expansion
from dashboard.store.engine.engine import Store
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    a_hash,
    a_record,
    a_transition,
    an_id,
    seconds,
)
from tests.delivery_checks import DEV, claim_due, reject, take_lease
from tests.one_by_one import recent_notifications
from tests.recording_channel import ONCALL
from tests.routes import trusting
from tests.saved_record import save_record

OF_MUL = "Transaction line count for module MUL=6 is above the limit 5"


def change(store: Store, number: int) -> None:
    with store.write() as connection:
        record = a_record(tx_hash=a_hash(number), nonce=9)
        rejection_id = save_record(connection, A_NETWORK, record, A_MOMENT)
        transition = a_transition(number, transition_id=an_id(100 + number), before=State.REJECTED)
        assert record_transition(connection, transition, rejection_id)


def take_in(store: Store, now: datetime = A_MOMENT) -> int:
    with store.write() as connection:
        entries = pending_expansion(connection, 10_000)
        routed = [
            (each, routes_of(DEFAULT_RULES, each.change, [ONCALL, DEV], now)) for each in entries
        ]
        return expand(connection, routed, now, trusting([ONCALL, DEV]))


def to_ops(store: Store) -> list[Notification]:
    with store.read() as connection:
        found = recent_notifications(connection, 100)
    return [each for each in found if each.recipient == ONCALL][::-1]


def test_first_goes_at_once_and_followers_wait_for_each_other(store: Store) -> None:
    reject(store, 1)
    take_in(store)
    claim_due(store, take_lease(store))
    reject(store, 2, 3)
    take_in(store, A_MOMENT + seconds(1))
    reject(store, 4)
    take_in(store, A_MOMENT + seconds(9))

    first, followers = to_ops(store)

    assert (first.member_count, first.release_at) == (1, A_MOMENT)
    assert followers.member_count == 3
    assert followers.release_at == A_MOMENT + seconds(1 + 30)


def test_other_module_is_an_incident_of_its_own(store: Store) -> None:
    reject(store, 1)
    reject(store, 2, reason_message=OF_MUL)
    take_in(store)

    assert [each.member_count for each in to_ops(store)] == [1, 1]


def test_change_waits_for_others_and_answers_the_rejection(store: Store) -> None:
    reject(store, 1, 2)
    take_in(store)
    token = take_lease(store)
    claim_due(store, token)
    change(store, 2)
    take_in(store, A_MOMENT + seconds(1))
    with store.write() as connection:
        openings = open_notifications(connection)
        closings = [Closing(each.notification_id) for each in openings if each.recipient == ONCALL]
        claim(connection, token, [ClaimRequest(ONCALL, 9, closings=closings)], A_MOMENT)
    rejections, changed = to_ops(store)

    assert changed.release_at == A_MOMENT + seconds(1 + 30)
    assert changed.in_reply_to == rejections.message_id


def test_claimed_notification_carries_its_incident(store: Store) -> None:
    reject(store, *range(1, 31))
    assert take_in(store) == 60

    claimed = claim_due(store, take_lease(store))[0]

    assert claimed.member_count == 30
    assert claimed.incident is not None
    assert (claimed.incident.rule, claimed.incident.transitions) == ("rejections", 30)
    members = [*all_members(store, claimed.notification_id)]
    assert [each.transition.transition_id for each in members] == [an_id(n) for n in range(1, 31)]
    with store.read() as connection:
        incident_id = claimed.incident.incident_id
        (event,) = incident_events_of(connection, {incident_id})[incident_id]
    assert (event.kind, event.transitions) == (IncidentEventKind.OPENED, 30)


def test_what_was_claimed_is_closed(store: Store) -> None:
    reject(store, 1)
    take_in(store)
    claim_due(store, take_lease(store))
    reject(store, 2)
    take_in(store)

    assert [each.member_count for each in to_ops(store)] == [1, 1]


def test_what_was_claimed_and_never_tried_stays_open(store: Store) -> None:
    reject(store, 1)
    take_in(store)
    token = take_lease(store)
    claim_due(store, token)
    with store.write() as connection:
        release_claims(connection, token, ONCALL)
    reject(store, 2)
    take_in(store)

    assert [each.member_count for each in to_ops(store)] == [2]


def test_merged_notifications_are_one_with_all_members_in_order(store: Store) -> None:
    reject(store, 1)
    reject(store, 2, reason_message=OF_MUL)
    reject(store, 3)
    take_in(store)
    token = take_lease(store)
    with store.write() as connection:
        first, second = (
            each for each in open_notifications(connection) if each.recipient == ONCALL
        )
        merged = Closing(first.notification_id, (second.notification_id, an_id(99)))
        (claimed,) = claim(
            connection, token, [ClaimRequest(ONCALL, 9, closings=[merged])], A_MOMENT
        )

    assert claimed.member_count == 3
    members = all_members(store, claimed.notification_id)
    assert [each.transition.transition_id for each in members] == [*map(an_id, (1, 2, 3))]
    assert (claimed.incident, claimed.in_reply_to) == (None, "")
    assert [each.notification_id for each in to_ops(store)] == [claimed.notification_id]


def test_end_of_an_incident_answers_its_beginning_and_ends_it(store: Store) -> None:
    network = Subject(SubjectKind.BUSYNESS, A_NETWORK)
    states = [None, State.CALM, State.BUSY, State.CALM, State.BUSY]
    token = take_lease(store)
    claimed = []
    for number, (before, after) in enumerate(pairwise(states), start=1):
        at = A_MOMENT + timedelta(minutes=number)
        with store.write() as connection:
            turned = a_transition(number, subject=network, before=before, after=after, at=at)
            record_transition(connection, turned, None)
        take_in(store, at)
        for each in claim_due(store, token, at):
            claimed += [each] if each.recipient == ONCALL else []
            with store.write() as connection:
                mark_sent(connection, each.notification_id, "250", at)

    busy, calm, again = claimed
    assert calm.in_reply_to == busy.message_id
    assert (busy.in_reply_to, again.in_reply_to) == ("", "")
    assert calm.incident is not None
    assert busy.incident is not None
    assert calm.incident.incident_id == busy.incident.incident_id
    assert calm.incident.state is IncidentState.RESOLVED
    with store.read() as connection:
        incident_id = busy.incident.incident_id
        story = incident_story(connection, incident_id)
    assert story is not None
    assert [each.kind.value for each in story.events] == ["opened", "grew", "resolved"]
    assert story.notified == tuple(
        NotifiedRecipient(each, {NotificationState.SENT: 2}, A_MOMENT + timedelta(minutes=3))
        for each in (DEV, ONCALL)
    )


def test_what_ends_and_begins_again_in_one_batch_is_another_incident(store: Store) -> None:
    network = Subject(SubjectKind.BUSYNESS, A_NETWORK)
    states = [None, State.CALM, State.BUSY, State.CALM, State.BUSY]
    last = A_MOMENT + timedelta(minutes=4)
    for number, (before, after) in enumerate(pairwise(states), start=1):
        at = A_MOMENT + timedelta(minutes=number)
        with store.write() as connection:
            turned = a_transition(number, subject=network, before=before, after=after, at=at)
            record_transition(connection, turned, None)
        if len(states) == 2 * number + 1:
            take_in(store, at)  # what follows is taken in together
    take_in(store, last)

    with store.read() as connection:
        found = {each.incident.opened_at for each in open_incident_stories(connection, 9)}
    assert found == {last}


def test_rule_that_pierces_reaches_at_once_whom_an_earlier_rule_holds_until_morning(
    store: Store,
) -> None:
    reject(store, 1)
    night = RuleRoute("night", (), (ONCALL, DEV)).hold_until(A_MOMENT + seconds(900), "night")
    critical = RuleRoute("critical", (), (ONCALL,), is_urgent=True)
    with store.write() as connection:
        [entry] = pending_expansion(connection, 9)
        expand(connection, [(entry, [night, critical])], A_MOMENT, trusting([ONCALL, DEV]))
        found = {each.recipient: each for each in open_notifications(connection)}

    assert (found[ONCALL].is_urgent, found[ONCALL].release_at) == (True, A_MOMENT)
    assert found[DEV].was_held
