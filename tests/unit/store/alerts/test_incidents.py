"""What is notified of one subject is one thread, from its opening to its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from dashboard.domain.alerts.condition import Condition, Opening, State, Subject, SubjectKind
from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.notification import Notification, Recipient
from dashboard.domain.quantity import NetworkId
from dashboard.store.alerts.closings import close
from dashboard.store.alerts.conditions import (
    current_condition,
    record_transition,
    set_turning_since,
)
from dashboard.store.alerts.incident_list import (
    FinishedFilter,
    change_times,
    count_finished_incidents,
    finished_incident_stories,
    incidents_beginning,
    incidents_within,
    open_incident_stories,
)
from dashboard.store.alerts.incidents import (
    OpenCounts,
    count_changes,
    count_open_incidents,
    count_opened,
    due_incidents,
    insert_incident,
    is_incident_due,
    make_lasting_due,
    open_counts,
    unattended_incidents,
)
from dashboard.store.alerts.notification_claims import mark_sent
from dashboard.store.alerts.outbox import entries_of_incident, expand, pending_expansion
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_record,
    a_transition,
    an_id,
    an_incident,
    seconds,
)
from tests.delivery_checks import DEV, tell_rejection
from tests.one_by_one import recent_notifications
from tests.recording_channel import ONCALL
from tests.routes import by_subject, closings_for, trusting
from tests.saved_record import save_record

NETWORK = Subject(SubjectKind.BUSYNESS, A_NETWORK)
LATER = A_MOMENT + seconds(60)


def go_through(store: Store, *states: State) -> list[Notification]:
    """Lead the network's condition through these states; return what ONCALL and DEV get."""
    befores = [None, *states]
    with store.write() as connection:
        for number, (before, after) in enumerate(zip(befores, states, strict=False), start=1):
            at = A_MOMENT + seconds(60 * number)
            transition = a_transition(number, subject=NETWORK, before=before, after=after, at=at)
            assert record_transition(connection, transition, None)
        expand_and_close(connection, [ONCALL, DEV])
        return recent_notifications(connection, 100)[::-1]


def expand_and_close(connection: Connection, recipients: Sequence[Recipient]) -> None:
    """Make each transition a notification by itself, as if each were sent at once."""
    for entry in pending_expansion(connection, 100):
        at = entry.transition.at
        routes = by_subject(entry.transition, recipients)
        expand(connection, [(entry, routes)], at, trusting(recipients))
        for each in recipients:
            closings = closings_for(connection, each)
            close(connection, closings, 1, at)
            for closing in closings:
                mark_sent(connection, closing.notification_id, "250 taken", at)


def test_opening_and_end_name_the_same_opening(store: Store) -> None:
    notifications = go_through(store, State.CALM, State.BUSY, State.CALM)

    of_incident = [each for each in notifications if each.transition.is_notifiable]
    opening = Opening(an_id(2), A_MOMENT + seconds(120))
    assert [each.opening for each in of_incident] == [opening] * 4


def test_end_answers_the_message_in_which_the_same_recipient_heard_of_it(store: Store) -> None:
    notifications = go_through(store, State.BUSY, State.CALM)

    for recipient in (ONCALL, DEV):
        opening, end = (each for each in notifications if each.recipient == recipient)
        assert opening.in_reply_to == ""
        assert end.in_reply_to == opening.message_id


def test_turning_point_is_kept_until_the_condition_changes(store: Store) -> None:
    with store.write() as connection:
        record_transition(connection, a_transition(1, subject=NETWORK, after=State.CALM), None)
        set_turning_since(connection, NETWORK, LATER)
        turning = current_condition(connection, NETWORK)
        busy = a_transition(2, subject=NETWORK, before=State.CALM, after=State.BUSY, at=LATER)
        record_transition(connection, busy, None)
        turned = current_condition(connection, NETWORK)

    assert turning == Condition(State.CALM, A_MOMENT, LATER)
    assert turned == Condition(State.BUSY, LATER)


def test_reader_may_ask_whether_an_incident_is_due(store: Store) -> None:
    with store.read() as connection:  # where PostgreSQL locks no row
        assert not is_incident_due(connection, LATER)


def test_pending_incident_is_looked_at_before_all_that_are_due_longer(store: Store) -> None:
    numbers = range(1, 4)
    with store.write() as connection:
        for number in numbers:
            state = IncidentState.PENDING if number == max(numbers) else IncidentState.FIRING
            due_at = A_MOMENT + seconds(number)
            mine = an_incident(
                incident_id=an_id(number), rule=f"rule-{number}", state=state, next_at=due_at
            )
            insert_incident(connection, mine)
        found = [due_incidents(connection, LATER, limit) for limit in (1, 2, 9)]

    assert [[each.incident_id.int for each in some] for some in found] == [[3], [3, 1], [3, 1, 2]]


def test_what_lasts_is_looked_at_again_and_known_with_all_its_changes(store: Store) -> None:
    [first, *_] = go_through(store, State.BUSY, State.CALM, State.BUSY)
    with store.write() as connection:
        save_record(connection, A_NETWORK, a_record(), A_MOMENT)
        record_transition(connection, a_transition(9), None)
        expand_and_close(connection, [ONCALL])
        [over, lasting, rejection] = sorted(
            (*finished_incident_stories(connection, 9), *open_incident_stories(connection, 9)),
            key=lambda each: (each.incident.is_open, each.incident.troubled == 0),
        )
        make_lasting_due(connection, LATER)
        due = due_incidents(connection, LATER, 10)
        entries = entries_of_incident(connection, over.incident.incident_id)

    assert not rejection.incident.troubled
    assert [each.incident_id for each in due] == [lasting.incident.incident_id]
    assert due[0].version > lasting.incident.version
    assert [each.transition.after for each in entries] == [State.BUSY, State.CALM]
    assert entries[0].transition == first.transition


def test_incidents_of_a_network_are_found_however_many_others_are_open(store: Store) -> None:
    one = an_incident(incident_id=an_id(1), opened_at=A_MOMENT + seconds(1))
    free = an_incident(incident_id=an_id(2), rule="disk", group=())
    others = [
        an_incident(
            incident_id=an_id(number),
            severity="critical",
            group=(("network", str(ANOTHER_NETWORK)), ("label", str(number))),
        )
        for number in range(3, 9)
    ]
    with store.write() as connection:
        for each in (one, free, *others):
            insert_incident(connection, each)

    with store.read() as connection:
        mine = open_incident_stories(connection, 2, A_NETWORK)
        unattended = unattended_incidents(connection, 2, A_NETWORK)
        assert count_open_incidents(connection, {A_NETWORK}) == 2
        assert open_counts(connection) == OpenCounts(8, 8, A_MOMENT)
        assert open_counts(connection, A_NETWORK) == OpenCounts(2, 2, A_MOMENT)
    assert {each.incident.incident_id for each in mine} == {one.incident_id, free.incident_id}
    assert [each.incident for each in mine] == unattended


def test_change_that_several_rules_report_counts_once(store: Store) -> None:
    with store.write() as connection:
        for number in (1, 2):
            record_transition(connection, a_transition(number), None)
        for entry in pending_expansion(connection, 9):
            [route] = by_subject(entry.transition, [ONCALL])
            rules = ("rejections", "payouts")[: entry.position]
            routes = [replace(route, rule=each) for each in rules]
            expand(connection, [(entry, routes)], A_MOMENT, trusting([ONCALL]))
        several = [each.incident for each in open_incident_stories(connection, 9)]
        [payouts] = [each for each in several if each.rule == "payouts"]

        assert sum(each.transitions for each in several) == 3
        assert count_changes(connection, several) == 2
        assert count_changes(connection, [payouts]) == 1


def test_good_news_waits_for_nobody(store: Store) -> None:
    included = an_incident(kind="included", severity="warning")
    with store.write() as connection:
        insert_incident(connection, included)

    with store.read() as connection:
        assert unattended_incidents(connection, 9) == []


def test_pages_of_incidents_hold_each_once_though_all_opened_and_ended_at_once(
    store: Store,
) -> None:
    numbers = range(1, 10)
    open_ones = [an_incident(incident_id=an_id(each), group=group_of(each)) for each in numbers]
    over = [
        an_incident(
            incident_id=an_id(20 + each),
            group=group_of(each),
            state=IncidentState.RESOLVED,
            resolved_at=LATER,
            severity="critical" if each % 2 else "info",
        )
        for each in numbers
    ]
    with store.write() as connection:
        for each in (*over, *open_ones):
            insert_incident(connection, each)

    with store.read() as connection:
        pages = [
            read(connection, 4, offset=offset)
            for read in (open_incident_stories, finished_incident_stories)
            for offset in (0, 4, 8)
        ]
        critical = FinishedFilter(LATER, "rejections", "critical", A_NETWORK)
        found = finished_incident_stories(connection, 9, critical)
        many = count_finished_incidents(connection, critical)
        named = incidents_beginning(connection, an_id(21).hex)

    shown = [each.incident.incident_id for page in pages for each in page]
    assert [len(page) for page in pages] == [4, 4, 1, 4, 4, 1]
    assert len(set(shown)) == 18
    assert [each.incident.severity for each in found] == ["critical"] * 5
    assert many == 5
    assert [each.incident_id for each in named] == [an_id(21)]


def group_of(number: int, network: NetworkId = A_NETWORK) -> tuple[tuple[str, str], ...]:
    return ("network", str(network)), ("label", str(number))


def test_what_needs_somebody_most_comes_first(store: Store) -> None:
    taken = {"state": IncidentState.ACKNOWLEDGED, "owner": "Ada"}
    fields: list[dict[str, Any]] = [
        {"severity": "critical", "opened_at": LATER, **taken},
        {},
        {"opened_at": LATER},
        taken,
    ]
    with store.write() as connection:
        for number, each in reversed([*enumerate(fields, 1)]):
            made = {"incident_id": an_id(10 - number), "group": group_of(number)}
            insert_incident(connection, an_incident(**made, **each))
        found = [each.incident for each in open_incident_stories(connection, 9)]
        unattended = unattended_incidents(connection, 9)

    assert [each.incident_id.int for each in found] == [9, 8, 7, 6]
    assert [each.incident_id.int for each in unattended] == [8, 7]


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (FinishedFilter(), [4, 3, 2, 1]),
        (FinishedFilter(since=LATER), [4, 3, 2]),
        (FinishedFilter(since=LATER + seconds(1)), []),
        (FinishedFilter(rule="payouts"), [2]),
        (FinishedFilter(severity="critical"), [3]),
        (FinishedFilter(network_id=ANOTHER_NETWORK), [4]),
    ],
)
def test_what_is_over_is_found_by_each_of_its_properties(
    store: Store, wanted: FinishedFilter, numbers: list[int]
) -> None:
    fields: list[dict[str, Any]] = [
        {"resolved_at": A_MOMENT},
        {"rule": "payouts"},
        {"severity": "critical"},
        {"group": group_of(4, ANOTHER_NETWORK)},
    ]
    with store.write() as connection:
        for number, each in enumerate(fields, 1):
            over = {
                "state": IncidentState.RESOLVED,
                "resolved_at": LATER,
                "group": group_of(number),
            }
            insert_incident(connection, an_incident(**over | each, incident_id=an_id(10 - number)))
        found = [each.incident for each in finished_incident_stories(connection, 9, wanted)]
        many = count_finished_incidents(connection, wanted)

    assert [10 - each.incident_id.int for each in found] == numbers
    assert many == len(numbers)


def test_incidents_are_counted_that_opened_after_one_moment_and_up_to_another(store: Store) -> None:
    with store.write() as connection:
        for number in range(4):
            opened = {"incident_id": an_id(number + 1), "opened_at": A_MOMENT + seconds(number)}
            insert_incident(connection, an_incident(**opened, group=group_of(number)))

        assert count_opened(connection, A_MOMENT) == 3
        assert count_opened(connection, A_MOMENT, A_MOMENT + seconds(2)) == 2


def test_incident_whose_changes_are_all_in_another_is_found_within_it(store: Store) -> None:
    with store.write() as connection:
        tell_rejection(connection, a_record(), a_transition())
        [entry] = pending_expansion(connection, 10)
        routes = [
            replace(each, rule=rule)
            for rule in ("one", "another")
            for each in by_subject(entry.transition, [ONCALL])
        ]
        expand(connection, [(entry, routes)], A_MOMENT, trusting([ONCALL]))
        first, second = (each.incident for each in open_incident_stories(connection, 9))

        assert incidents_within(connection, first) == [second]
        assert change_times(connection, first.incident_id, 10) == [entry.transition.at]
        assert change_times(connection, an_id(99), 10) == []
