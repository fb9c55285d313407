"""What is over before its message goes: nobody hears of the end first, nor waits because of it."""

from __future__ import annotations

from datetime import datetime

import pytest
from msgspec.structs import replace

from dashboard.alert.compose import Links
from dashboard.alert.message_writer import MessageWriter, load_templates
from dashboard.application.incidents import Incidents
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.kinds.kind import Dimension, RuleKind
from dashboard.domain.alerts.kinds.rejections import InclusionGrounds
from dashboard.domain.alerts.rule import Rule, Severity
from dashboard.domain.alerts.rule_table import RuleEdit, removed, replaced_by, turned
from dashboard.domain.people.active_hours import ActiveHours, WeekSpan
from dashboard.domain.quantity import NetworkId
from dashboard.errors import DeliveryDeferred
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.notifications import with_incidents
from dashboard.store.engine.engine import Store
from tests.alert_watch import PLAIN, Watch
from tests.builders import A_NETWORK, ANOTHER_NETWORK, HOUR, MINUTE, a_hash, a_transition, seconds
from tests.delivery_checks import notifications, reject
from tests.recording_channel import ONCALL

EVENING = ActiveHours((WeekSpan.parse("mon-sun 18:00-20:00"),))  # it is noon
HELD = replace(PLAIN, active_hours=EVENING)
CRITICAL = Rule("rejections", RuleKind.REJECTED, Severity.CRITICAL)
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


def test_ends_that_wait_for_what_is_held_keep_nothing_else_back(watch: Watch) -> None:
    watch.rules(HELD, CRITICAL)
    networks = [NetworkId(each) for each in range(1000, 1008)]
    for number, network_id in enumerate(networks):
        turn(watch, number, network_id, State.BUSY)
    watch.wait(seconds(1))
    watch.change_rules(replaced_by([PLAIN, CRITICAL]))  # what is held stays held
    for number, network_id in enumerate(networks):
        turn(watch, 100 + number, network_id, State.CALM)
    watch.wait(MINUTE)
    reject(watch.store, 1000, transition=a_transition(1000, at=watch.clock.now()))
    watch.wait(seconds(1))
    assert [each.transition.after for each in watch.sent()] == [State.REJECTED]

    watch.wait(6 * HOUR)

    assert sum(each.member_count for each in watch.sent()) == 1 + 2 * len(networks)


@pytest.mark.parametrize(
    "edit", [turned("busy", is_enabled=False), removed(["busy"])], ids=["off", "removed"]
)
def test_change_of_the_rules_is_told_with_what_is_held_and_not_before(
    watch: Watch, edit: RuleEdit
) -> None:
    watch.begin(HELD, CRITICAL)
    watch.wait(HOUR)
    watch.change_rules(edit)
    watch.wait(HOUR)
    assert watch.sent() == []

    watch.wait(5 * HOUR)

    [text] = texts(watch)
    assert MEANWHILE in text


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


def test_summary_says_by_which_rule_it_is_critical(watch: Watch) -> None:
    watch.rules(HELD, replace(CRITICAL, active_hours=EVENING))
    turn(watch, 2, A_NETWORK, State.BUSY)
    watch.wait(5 * HOUR + 55 * MINUTE)
    reject(watch.store, 1)
    watch.wait()
    watch.wait(10 * MINUTE)

    [text] = texts(watch)
    assert text.startswith("Critical, by the rule rejections. Held until ")


def test_answers_to_a_message_that_fails_alone_keep_nothing_else_back(watch: Watch) -> None:
    watch.rules(
        Rule("rejections", RuleKind.REJECTED, group_by=(Dimension.NETWORK,)),
        Rule("included", RuleKind.INCLUDED, group_by=(Dimension.LABEL,)),
        PLAIN,
    )
    numbers = range(1, 9)
    for number in numbers:
        watch.label(number, f"bot {number}")
    reject(watch.store, *numbers)
    watch.channel.errors[ONCALL.address] = DeliveryDeferred("450 later")
    watch.wait(seconds(1))
    [alone] = notifications(watch.store)
    watch.channel.errors = {alone.message_id: DeliveryDeferred("450 the scanner fails")}
    turn(watch, 100, A_NETWORK, State.BUSY)
    for number in numbers:
        watch.wait(MINUTE)
        include(watch.store, number, watch.clock.now())
    watch.wait(15 * MINUTE)
    turn(watch, 101, ANOTHER_NETWORK, State.BUSY)
    watch.wait(seconds(1))

    assert [each.transition.after for each in watch.sent()] == [State.BUSY] * 2


def include(store: Store, number: int, at: datetime) -> None:
    """Let the transaction with this number be found in a block."""
    subject = Subject(SubjectKind.INCLUSION, A_NETWORK, a_hash(number))
    grounds = InclusionGrounds(7, is_successful=True)
    found = a_transition(
        900 + number, subject=subject, after=State.INCLUDED, at=at, grounds=grounds
    )
    with store.write() as connection:
        assert record_transition(connection, found, None)
