"""What is over before its message goes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dashboard.alert.compose import Links
from dashboard.alert.message_writer import MessageWriter, load_templates
from dashboard.application.incidents import Incidents
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.people.active_hours import ActiveHours, WeekSpan
from dashboard.domain.quantity import NetworkId
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.notifications import with_incidents
from tests.alert_watch import HOUR, PLAIN, Watch
from tests.builders import A_NETWORK, ANOTHER_NETWORK, a_transition, seconds

EVENING = ActiveHours((WeekSpan.parse("mon-sun 18:00-20:00"),))  # it is noon
HELD = replace(PLAIN, active_hours=EVENING)
MEANWHILE = "resolved meanwhile, by a person or by a change of the rules"


def turn(watch: Watch, number: int, network_id: NetworkId, after: State) -> None:
    """Let a network become busy, or calm again."""
    subject, at = Subject(SubjectKind.BUSYNESS, network_id), watch.clock.now()
    before = None if after is State.BUSY else State.BUSY
    turned = a_transition(number, subject=subject, before=before, after=after, at=at)
    with watch.store.write() as connection:
        assert record_transition(connection, turned, None)


def texts(watch: Watch) -> list[str]:
    """Return what was sent, as it reads now."""
    writer = MessageWriter(watch.store, load_templates({}, Links()))
    with watch.store.read() as connection:
        sent = with_incidents(connection, watch.sent())
    return [writer.write(each).text for each in sent]


@pytest.mark.parametrize("is_resolved", [True, False])
def test_what_was_held_says_that_a_person_resolved_it_meanwhile(
    watch: Watch, *, is_resolved: bool
) -> None:
    incident_id = watch.begin(HELD)
    if is_resolved:
        Incidents(watch.context).resolve(incident_id, watch.person("Ann"))
    watch.wait(7 * HOUR)

    [text] = texts(watch)
    assert (MEANWHILE in text) is is_resolved


def test_summary_names_what_a_person_resolved_meanwhile(watch: Watch) -> None:
    watch.rules(HELD)
    for number, network_id in enumerate((A_NETWORK, ANOTHER_NETWORK)):
        turn(watch, number, network_id, State.BUSY)
    watch.wait(seconds(1))
    ask = Incidents(watch.context)
    first, second = (each.incident for each in ask.open())
    ask.resolve(first.incident_id, watch.person("Ann"))
    ask.acknowledge(second.incident_id, watch.person("Ann"))
    watch.wait(7 * HOUR)

    [text] = texts(watch)
    resolved, acknowledged = text.index("Already resolved"), text.index("Already acknowledged")
    assert str(first.network_id) in text[resolved:acknowledged]
    assert str(second.network_id) in text[acknowledged:]
