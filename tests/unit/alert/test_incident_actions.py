"""What people do about incidents is notified."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from dashboard.alert.compose import Links
from dashboard.alert.message_writer import MessageWriter, load_templates
from dashboard.application.incidents import Incidents
from dashboard.application.signed_links import LinkActions
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.kinds.rejections import InclusionGrounds
from dashboard.domain.alerts.notification import NotificationKind
from dashboard.domain.alerts.rule import DEFAULT_RULES, Rule, RuleScope, Severity
from dashboard.domain.alerts.signed_link import LinkPurpose, SignedLink
from dashboard.domain.people.access import Action
from dashboard.domain.people.active_hours import ActiveHours, WeekSpan
from dashboard.errors import DeliveryBlocked, InputError, NotFound
from dashboard.store.alerts.closings import open_notifications
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.engine.engine import Store
from tests.alert_watch import BUSY, PLAIN, REMINDING, Watch
from tests.builders import A_NETWORK, HOUR, a_hash, a_transition, an_address, an_id, seconds
from tests.delivery_checks import reject
from tests.one_by_one import audited
from tests.recording_channel import ONCALL, OTHERS


def test_what_a_person_does_reaches_all_others_in_the_thread(watch: Watch) -> None:
    incident_id = watch.begin(replace(PLAIN, recipients=(ONCALL, OTHERS)))
    ask = Incidents(watch.context)
    watch.clock.wait(seconds(1))
    ask.acknowledge(incident_id, watch.person(OTHERS.address), "looking")
    ask.acknowledge(incident_id, watch.person("Bob"))
    watch.wait(seconds(1))
    ask.hand_over(incident_id, "Bob", watch.person(ONCALL.address))
    watch.wait(seconds(1))
    ask.unacknowledge(incident_id, watch.person("Bob"))
    watch.wait(seconds(1))
    ask.resolve(incident_id, watch.person("Bob"))
    watch.wait()

    assert watch.kinds(ONCALL) == ["change", "acknowledged", "unacknowledged", "resolved"]
    assert watch.kinds(OTHERS) == ["change", "handed over", "unacknowledged", "resolved"]
    writer = MessageWriter(watch.store, load_templates({}, Links()))
    said = [
        writer.write(replace(each, incident=watch.incident())).subject.split(":")[0]
        for each in watch.sent()
        if each.recipient == ONCALL
    ]
    by_others = f"Acknowledged by {OTHERS.address}"
    assert said[1:] == [by_others, "Unacknowledged", "Resolved by Bob"]
    opening = {each.recipient: each.message_id for each in watch.sent() if not each.in_reply_to}
    assert all(each.in_reply_to in {"", opening[each.recipient]} for each in watch.sent())


@pytest.mark.parametrize(
    ("named", "said", "notified"),
    [
        (OTHERS.address, "others@example.org is notified.", True),
        ("others@EXAMPLE.org", "others@EXAMPLE.org is notified.", True),
        ("Bob", "No recipient is called Bob, so they are not notified.", False),
    ],
)
def test_whoever_is_handed_an_incident_is_notified_if_they_are_a_recipient(
    watch: Watch, named: str, said: str, *, notified: bool
) -> None:
    incident_id, ask = watch.begin(REMINDING), Incidents(watch.context)

    done = ask.hand_over(incident_id, named, watch.person("Ann"))
    watch.wait()

    assert ask.owner_notified(done) == said
    assert sorted(watch.kinds(ONCALL)) == ["change", "handed over"]
    assert watch.kinds(OTHERS) == (["handed over"] if notified else [])


MORNING = ActiveHours((WeekSpan.parse("mon-sun 11:00-13:00"),))


def test_of_what_people_do_in_quiet_hours_the_last_is_said_when_they_end(watch: Watch) -> None:
    incident_id = watch.begin(replace(PLAIN, active_hours=MORNING))
    watch.clock.wait(3 * HOUR)
    ask = Incidents(watch.context)
    ask.acknowledge(incident_id, watch.person("Bob"))
    watch.wait(HOUR)
    ask.hand_over(incident_id, "Eve", watch.person("Bob"))
    watch.wait(HOUR)
    ask.resolve(incident_id, watch.person("Eve"))
    watch.wait(HOUR)
    assert watch.kinds() == ["change"]
    watch.wait(20 * HOUR)

    assert watch.kinds() == ["change", "resolved"]
    assert watch.sent()[1].held_for == "quiet hours of the rule busy"


def two_rules(watch: Watch, **of_payouts: Any) -> dict[str, UUID]:  # noqa: ANN401 - any field
    """Let one rejection fit two rules; return the incident of each by the name of the rule."""
    payouts = replace(
        Rule("payouts", RuleKind.REJECTED, severity=Severity.CRITICAL, recipients=(ONCALL,)),
        **of_payouts,
    )
    watch.rules(payouts, Rule("rejections", RuleKind.REJECTED, recipients=(OTHERS,)))
    reject(watch.store, 1)
    watch.wait()
    ask = Incidents(watch.context)
    return {each.incident.rule: each.incident.incident_id for each in ask.open()}


def owners(watch: Watch) -> dict[str, str]:
    ask = Incidents(watch.context)
    return {each.incident.rule: each.incident.owner for each in ask.open()}


def test_incident_whose_every_change_is_in_another_goes_with_it(watch: Watch) -> None:
    ids, ask = two_rules(watch), Incidents(watch.context)
    ann = watch.person("Ann")

    acknowledged = ask.acknowledge(ids["payouts"], ann, "looking")
    taken = owners(watch)
    watch.wait()
    ask.hand_over(ids["payouts"], "Bob", ann)
    handed = owners(watch)
    ask.unacknowledge(ids["payouts"], ann)

    assert [each.rule for each in acknowledged.others] == ["rejections"]
    assert ask.with_it(acknowledged.others).startswith(
        "This also applies to “network 424242: 1 rejected"
    )
    assert (taken, handed, owners(watch)) == (
        {"payouts": "Ann", "rejections": "Ann"},
        {"payouts": "Bob", "rejections": "Bob"},
        {"payouts": "", "rejections": ""},
    )
    told = [to for to, kind in watch.taken() if kind is NotificationKind.ACKNOWLEDGED]
    assert sorted(told, key=str) == [ONCALL, OTHERS]
    entries = audited(watch.store)
    [note] = {each.details["note"] for each in entries if each.action is Action.ACKNOWLEDGE}
    assert note == "looking"
    assert {each.subject for each in entries} >= {str(each) for each in ids.values()}


def two_modules(watch: Watch, **more: Any) -> list[UUID]:  # noqa: ANN401 - any field
    """Let two modules reject, and notify both people; return the incident of each."""
    rule = Rule("rejections", RuleKind.REJECTED, recipients=(ONCALL, OTHERS))
    watch.rules(replace(rule, **more))
    for number, module in enumerate(("HUB", "ADD")):
        reject(watch.store, number, reason_message=f"TX_MODULE_LINE_COUNT_OVERFLOW({module})")
    watch.wait()
    return [each.incident.incident_id for each in Incidents(watch.context).open()]


def owners_of(watch: Watch, *ids: UUID) -> list[str]:
    found = {each.incident.incident_id: each.incident for each in Incidents(watch.context).open()}
    return [found[each].owner for each in ids]


def test_several_are_acknowledged_and_freed_at_once_which_others_hear_in_one_mail(
    watch: Watch,
) -> None:
    ids, ask = two_modules(watch), Incidents(watch.context)
    first = len(watch.kinds(OTHERS))

    done = ask.acknowledge_all(ids, watch.person(ONCALL.address), "storm")
    again = ask.acknowledge_all(ids, watch.person("Bob"))
    watch.wait(seconds(1))
    taken = owners_of(watch, *ids)
    ask.take_back(done, "", watch.person(ONCALL.address))
    watch.wait(seconds(1))

    assert [each.event is not None for each in (*done, *again)] == [True, True, False, False]
    assert (taken, owners_of(watch, *ids)) == ([ONCALL.address] * 2, ["", ""])
    assert watch.kinds(OTHERS)[first:] == ["acknowledged", "unacknowledged"]
    writer = MessageWriter(watch.store, load_templates({}, Links()))
    sent = [writer.write(each) for each in watch.sent() if each.recipient == OTHERS]
    said = sent[first].text
    assert "These 2 incidents were acknowledged by oncall@example.org. Note: “storm”." in said
    assert sent[first].subject.startswith("Acknowledged by oncall@example.org: 2 incidents")
    assert "HUB" in said
    assert "ADD" in said
    entries = audited(watch.store)
    kept = [(each.action, each.subject) for each in entries if each.actor == ONCALL.address]
    assert sorted(kept) == sorted(
        (action, str(each)) for action in (Action.ACKNOWLEDGE, Action.UNACKNOWLEDGE) for each in ids
    )


def test_of_several_all_are_acknowledged_or_none(watch: Watch) -> None:
    ids, ask = two_modules(watch), Incidents(watch.context)

    with pytest.raises(NotFound):
        ask.acknowledge_all([*ids, an_id(99)], watch.person("Ann"))
    left = owners_of(watch, *ids)
    ask.resolve(ids[0], watch.person("Ann"))
    resolved, acknowledged = ask.acknowledge_all(ids, watch.person("Ann"))
    handed = ask.hand_over(ids[1], "Bob", watch.person("Bob"))
    with pytest.raises(InputError, match="Bob owns"):
        ask.take_back([resolved, acknowledged], "", watch.person("Ann"))
    assert ask.take_back([handed], "Ann", watch.person("Bob"))[0].incident.owner == "Ann"

    watch.rules(replace(PLAIN, pending=HOUR))
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait(seconds(1))
    [waiting] = [each.incident for each in ask.open() if not each.incident.owner]
    pending, _ = ask.acknowledge_all([waiting.incident_id, ids[1]], watch.person("Ann"))
    with pytest.raises(InputError, match="is pending until"):
        ask.acknowledge_all([waiting.incident_id], watch.person("Ann"))

    assert left == ["", ""]
    assert (pending.event, pending.incident.state) == (None, IncidentState.PENDING)
    assert (resolved.event, resolved.incident.state) == (None, IncidentState.RESOLVED)
    assert acknowledged.incident.owner == "Ann"


def test_news_of_several_that_waits_is_of_those_alone_of_which_it_is_still_so(watch: Watch) -> None:
    ids = two_modules(watch, recipients=(OTHERS,), active_hours=MORNING)
    ask = Incidents(watch.context)
    watch.clock.wait(3 * HOUR)
    ask.acknowledge_all(ids, watch.person("Ann"))
    ask.resolve(ids[0], watch.person("Ann"))

    with watch.store.read() as connection:
        waiting = open_notifications(connection)

    assert sorted((each.kind, each.incident_id) for each in waiting) == [
        (NotificationKind.ACKNOWLEDGED, ids[1]),
        (NotificationKind.RESOLVED, ids[0]),
    ]


def test_what_was_done_is_taken_back_and_nothing_else(watch: Watch) -> None:
    ids, ask, ann = two_rules(watch), Incidents(watch.context), watch.person("Ann")
    ask.acknowledge(ids["rejections"], ann)  # which everybody who owns the other one would free
    before = ask.acknowledge(ids["payouts"], ann)
    ask.take_back([before], "", ann)
    left = owners(watch)
    both = ask.unacknowledge(ids["rejections"], ann), ask.acknowledge(ids["payouts"], ann)
    ask.take_back(both[1:], "", ann)

    assert left == {"payouts": "", "rejections": "Ann"}
    assert [each.rule for each in both[1].others] == ["rejections"]
    assert owners(watch) == {"payouts": "", "rejections": ""}


def test_link_says_before_it_acts_what_else_is_acknowledged(watch: Watch) -> None:
    links, incident_id = LinkActions(watch.context), two_rules(watch)["payouts"]
    until = watch.clock.now() + HOUR
    link = SignedLink(LinkPurpose.ACKNOWLEDGE, ONCALL, until, incident_id)

    asked = links.about(link)
    done = links.act(link, {"name": "Ann"})

    assert asked.preview.startswith("This also applies to “network 424242: 1 rejected")
    assert asked.preview in done.text
    assert links.about(link).preview == ""
    assert owners(watch) == {"payouts": "Ann", "rejections": "Ann"}


def test_whoever_acknowledges_by_link_under_any_name_is_not_notified_of_it(watch: Watch) -> None:
    watch.begin(Rule("busy", RuleKind.BUSY, recipients=(ONCALL, OTHERS)))
    until, incident_id = watch.clock.now() + HOUR, watch.incident().incident_id
    link = SignedLink(LinkPurpose.ACKNOWLEDGE, ONCALL, until, incident_id)

    LinkActions(watch.context).act(link, {"name": "Ann"})
    watch.wait(seconds(1))

    told = [to for to, kind in watch.taken() if kind is NotificationKind.ACKNOWLEDGED]
    assert told == [OTHERS]


def test_incident_with_a_change_of_its_own_or_more_urgent_is_left_alone(watch: Watch) -> None:
    ids = two_rules(watch, scope=RuleScope(senders=(an_address(),)))
    reject(watch.store, 2, sender=an_address(7))
    watch.wait()
    ask = Incidents(watch.context)

    for rule, left in (("payouts", "rejections"), ("rejections", "payouts")):
        response = ask.acknowledge(ids[rule], watch.person("Ann"))
        assert response.others == ()
        assert owners(watch) == {rule: "Ann", left: ""}
        ask.unacknowledge(ids[rule], watch.person("Ann"))


@pytest.mark.parametrize(("is_over", "kinds"), [(False, ["change"]), (True, ["change", "change"])])
def test_reminder_that_waits_is_not_sent_once_somebody_acted_or_it_ended(
    watch: Watch, *, is_over: bool, kinds: list[str]
) -> None:
    incident_id = watch.begin(replace(BUSY, active_hours=MORNING))
    watch.wait(3 * HOUR)
    ask = Incidents(watch.context)
    if is_over:
        watch.turn(2, State.BUSY, State.CALM)
    else:
        ask.acknowledge(incident_id, watch.person(ONCALL.address))
    watch.wait(20 * HOUR)

    assert watch.kinds() == kinds
    story = ask.story(incident_id)
    assert story is not None
    reasons = {(each.recipient, each.reason) for each in story.withheld}
    assert (OTHERS, "somebody acted, or it ended, before that") in reasons


def test_who_heard_of_an_escalation_hears_of_the_end(watch: Watch) -> None:
    watch.begin(BUSY)
    watch.wait(2 * HOUR)
    watch.turn(2, State.BUSY, State.CALM)
    watch.wait(seconds(1))

    assert watch.kinds(OTHERS) == ["escalation", "change"]
    assert len({each.in_reply_to for each in watch.sent() if each.recipient == OTHERS}) == 2


def test_who_heard_of_an_escalation_beside_other_changes_hears_of_the_end(watch: Watch) -> None:
    watch.channel.errors[OTHERS.address] = DeliveryBlocked("the mail server is down")
    watch.begin(BUSY, Rule("rejections", RuleKind.REJECTED, recipients=(OTHERS,)))
    for number, module in enumerate(("ADD", "MUL", "HUB")):
        reason = f"Transaction line count for module {module}=9 is above the limit 8"
        reject(watch.store, number, reason_message=reason)
        watch.wait(seconds(1))
    watch.wait(2 * HOUR)
    watch.channel.errors.clear()
    watch.wait(2 * HOUR)
    watch.turn(2, State.BUSY, State.CALM)
    watch.wait(seconds(1))

    assert "escalation" not in watch.kinds(OTHERS)
    [*_, end] = [each for each in watch.sent() if each.recipient == OTHERS]
    assert end.transition.after is State.CALM


def test_incident_that_grows_stays_acknowledged(watch: Watch) -> None:
    reject(watch.store, 1)
    watch.wait()
    Incidents(watch.context).acknowledge(watch.incident().incident_id, watch.person("Ann"))
    reject(watch.store, 2)
    watch.wait(timedelta(minutes=1))

    grown = watch.incident()
    assert (grown.state, grown.owner) == (IncidentState.ACKNOWLEDGED, "Ann")
    assert grown.transitions == 2


def test_programs_hear_of_each_change_of_what_a_person_resolved(watch: Watch) -> None:
    for number in (1, 2):
        reject(watch.store, number)
        watch.wait()
    watch.wait(timedelta(minutes=1))
    Incidents(watch.context).resolve(watch.incident().incident_id, watch.person("Ann"))
    watch.wait(seconds(1))
    writer = MessageWriter(watch.store, load_templates({}, Links()), programs={"mail"})

    data = writer.write(replace(watch.sent()[-1], incident=watch.incident())).payload["data"]

    assert isinstance(data, dict)
    told = [each["transaction"]["hash"] for each in data["members"]]
    assert told == [str(a_hash(number)) for number in (1, 2)]


def test_what_becomes_of_a_transaction_answers_the_message_about_its_rejection(
    watch: Watch,
) -> None:
    watch.rules(*DEFAULT_RULES)
    reject(watch.store, 1)
    watch.wait()
    reject(watch.store, 2)
    reject(watch.store, 3)
    watch.wait(timedelta(minutes=1))
    include(watch.store, 2, watch.clock.now())
    watch.wait(timedelta(minutes=1))

    first, grouped, included = watch.channel.taken
    assert grouped.in_reply_to == first.message_id
    assert included.in_reply_to == grouped.message_id
    assert included.thread == f"{first.message_id} {grouped.message_id}"


def include(store: Store, number: int, at: datetime) -> None:
    """Let the transaction with this number be found in a block."""
    subject = Subject(SubjectKind.INCLUSION, A_NETWORK, a_hash(number))
    found = a_transition(
        900 + number,
        subject=subject,
        after=State.INCLUDED,
        at=at,
        grounds=InclusionGrounds(7, is_successful=True),
    )
    with store.write() as connection:
        assert record_transition(connection, found, None)
