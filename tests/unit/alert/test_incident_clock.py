"""What the clock, quiet hours and silences do to incidents and to who is notified of them."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from msgspec.structs import replace
from sqlalchemy import select
from structlog.testing import capture_logs

from dashboard.alert.compose import Links
from dashboard.alert.message_writer import MessageWriter, load_templates
from dashboard.application.incidents import Incidents
from dashboard.application.silences import matchers_of
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.incident import IncidentEventKind, IncidentState, acknowledge
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.notification import NotificationKind
from dashboard.domain.alerts.rule import Rule, Severity
from dashboard.domain.alerts.rule_table import RuleEdit, replaced_by, turned
from dashboard.domain.alerts.silence import SilenceKind, SilenceRequest
from dashboard.domain.people.active_hours import ActiveHours, WeekSpan
from dashboard.domain.people.recipients import AddressOff, OffCause
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.incident_list import open_incident_stories, respond
from dashboard.store.alerts.recipients import turn_off
from dashboard.store.alerts.silences import add_silence, end_silence
from dashboard.store.schema import notification_members
from tests.alert_watch import ANN, BUSY, REMINDING, Watch
from tests.builders import A_NETWORK, HOUR, MINUTE, a_hash, a_transition, an_id, seconds
from tests.delivery_checks import reject
from tests.recording_channel import ONCALL, OTHERS


def test_person_whose_first_message_waits_hears_of_what_was_done_as_well(watch: Watch) -> None:
    night = ActiveHours((WeekSpan.parse("mon-sun 14:00-20:00"),))
    watch.begin(replace(BUSY, active_hours=night))
    Incidents(watch.context).acknowledge(watch.incident().incident_id, ANN)
    watch.wait(2 * HOUR)
    watch.wait(seconds(60))

    [summary] = watch.sent()
    assert summary.kind is NotificationKind.CHANGE
    message = MessageWriter(watch.store, load_templates({}, Links())).write(
        replace(summary, incident=watch.incident())
    )
    assert "It is acknowledged by Ann." in message.text


@pytest.mark.parametrize("ends_early", [True, False])
def test_end_of_a_silence_notifies_of_what_lasts_for_the_first_time(
    watch: Watch, *, ends_early: bool
) -> None:
    watch.silence(SilenceKind.SILENCE, 8 * HOUR if ends_early else HOUR)
    watch.begin()
    watch.wait(HOUR / 2)
    if ends_early:
        with watch.store.write() as connection:
            end_silence(connection, SilenceKind.SILENCE, 1, watch.person("Ann"))
    assert watch.sent() == []
    watch.wait(HOUR / 2)

    assert watch.taken() == [(ONCALL, NotificationKind.CHANGE)]
    assert watch.story()[-1] == f"{IncidentEventKind.REMINDED} to {ONCALL.address}"
    watch.wait(HOUR)
    assert len(watch.taken()) == 1


@pytest.mark.parametrize("remind_every", [None, HOUR])
def test_silenced_incident_that_is_given_back_after_the_silence_notifies_then(
    watch: Watch, remind_every: timedelta | None
) -> None:
    watch.silence(SilenceKind.SILENCE, HOUR)
    rule = replace(REMINDING, remind_every=remind_every)
    incident_id, ask = watch.begin(rule), Incidents(watch.context)
    ask.acknowledge(incident_id, watch.person("Ann"))
    watch.wait(HOUR)
    assert watch.sent() == []

    ask.unacknowledge(incident_id, watch.person("Ann"))
    watch.wait()

    assert watch.taken() == [(ONCALL, NotificationKind.CHANGE)]
    assert watch.incident().state is IncidentState.FIRING


def test_incident_that_is_given_back_within_the_silence_stays_silenced(watch: Watch) -> None:
    watch.silence(SilenceKind.SILENCE, HOUR)
    incident_id, ask = watch.begin(REMINDING), Incidents(watch.context)
    ask.acknowledge(incident_id, watch.person("Ann"))
    ask.unacknowledge(incident_id, watch.person("Ann"))
    watch.wait(HOUR / 2)
    assert (watch.sent(), watch.incident().state) == ([], IncidentState.SILENCED)

    watch.wait(HOUR / 2)

    assert watch.taken() == [(ONCALL, NotificationKind.CHANGE)]


def test_end_of_a_silence_keeps_why_others_heard_nothing_of_the_same_change(watch: Watch) -> None:
    watch.silence(SilenceKind.SILENCE, HOUR)
    mine, other = (replace(REMINDING, name=each) for each in ("busy", "other"))
    watch.begin(replace(mine, recipients=(ONCALL,)), replace(other, recipients=(OTHERS,)))
    with watch.store.write() as connection:
        stories = open_incident_stories(connection, 2)
        [known] = [each.incident for each in stories if each.incident.rule == "other"]
        respond(connection, known.incident_id, partial(acknowledge, by=ANN))
    watch.wait(HOUR)

    assert watch.taken() == [(ONCALL, NotificationKind.CHANGE)]
    with watch.store.read() as connection:
        members = connection.execute(select(notification_members)).all()
    reasons = {row.address: row.reason for row in members}
    assert reasons[ONCALL.address] == ""
    assert reasons[OTHERS.address].startswith("silenced until ")


def test_silence_that_begins_later_stops_reminders_while_it_lasts(watch: Watch) -> None:
    watch.begin(REMINDING)
    watch.silence(SilenceKind.SILENCE, 2 * HOUR)
    watch.wait(HOUR)
    assert watch.incident().state is IncidentState.SILENCED
    watch.wait(HOUR)

    assert watch.kinds() == ["change", "reminder"]


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (replaced_by([replace(BUSY, name="other")]), "its rule was removed"),
        (turned("busy", is_enabled=False), "its rule was turned off"),
    ],
)
def test_incident_of_a_rule_that_is_gone_ends_with_one_note_to_who_heard_of_it(
    watch: Watch, edit: RuleEdit, why: str
) -> None:
    watch.begin(BUSY)
    watch.wait(HOUR)
    incident = watch.incident()
    watch.change_rules(edit)
    watch.wait(3 * HOUR)
    watch.turn(2, State.BUSY, State.CALM)
    watch.wait(3 * HOUR)

    first, _, note = watch.channel.taken[:3]
    assert watch.taken()[:3] == [
        (ONCALL, NotificationKind.CHANGE),
        (ONCALL, NotificationKind.REMINDER),
        (ONCALL, NotificationKind.CLOSED),
    ]
    assert note.in_reply_to == first.message_id
    assert watch.story("busy")[-1] == f"resolved by Ann: {why}"
    message = MessageWriter(watch.store, load_templates({}, Links())).write(
        replace(watch.sent()[2], incident=incident)
    )
    assert "Ann changed the rules, which closed this incident" in message.text


@pytest.mark.parametrize("kind", SilenceKind)
@pytest.mark.parametrize(("labels", "reminders"), [(["#pay", "b #pay"], 0), (["#pay", "b"], 1)])
def test_incident_is_silent_while_all_its_changes_have_the_tag_that_is_silenced(
    watch: Watch, kind: SilenceKind, labels: list[str], reminders: int
) -> None:
    watch.rules(Rule("rejections", RuleKind.REJECTED, remind_every=HOUR / 6))
    for number, label in enumerate(labels):
        watch.label(number, label)
        reject(watch.store, number)
    watch.wait()
    watch.silence(kind, HOUR, Matcher(MatchedProperty.TAG, "pay"))

    watch.wait(HOUR / 6)

    kinds = [kind for _, kind in watch.taken()]
    assert kinds.count(NotificationKind.REMINDER) == reminders


def test_maintenance_holds_reminders_until_it_ends(watch: Watch) -> None:
    watch.begin(REMINDING)
    watch.silence(SilenceKind.MAINTENANCE, HOUR + seconds(60))
    watch.wait(HOUR)
    assert len(watch.sent()) == 1

    watch.wait(seconds(60))

    assert watch.kinds() == ["change", "reminder"]


@pytest.mark.parametrize("back", [HOUR / 4, 24 * HOUR])
def test_reminders_go_on_after_the_clock_was_set_back(watch: Watch, back: timedelta) -> None:
    watch.rules(REMINDING)
    watch.wait()
    watch.wait(HOUR / 2)
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait()
    watch.clock.set_clock(-back)
    watch.wait(seconds(1))
    watch.wait(HOUR)

    assert sorted(kind.value for _, kind in watch.taken()) == ["change", "reminder"]


def test_reminder_of_one_incident_keeps_back_none_of_another(watch: Watch) -> None:
    often = timedelta(minutes=10)
    watch.begin(
        replace(REMINDING, remind_every=often),
        Rule("rejections", RuleKind.REJECTED, remind_every=often),
    )
    watch.wait(3 * MINUTE)
    reject(watch.store, transition=a_transition(at=watch.clock.now()))
    watch.wait()
    watch.wait(7 * MINUTE)
    watch.wait(3 * MINUTE)

    assert watch.kinds() == ["change", "change", "reminder", "reminder"]


def test_edited_reminder_interval_counts_for_what_is_open(watch: Watch) -> None:
    calm = replace(BUSY, remind_every=24 * HOUR, escalate_after=None, escalate_to=())
    watch.begin(calm)
    watch.wait(2 * HOUR)
    watch.rules(replace(calm, remind_every=HOUR))
    watch.wait()

    assert watch.kinds() == ["change", "reminder"]


def test_log_counts_what_was_attempted_and_says_nothing_of_nothing(watch: Watch) -> None:
    with capture_logs() as lines:
        watch.wait()
        before = len(lines)
        reject(watch.store, 1)
        watch.wait()

    assert before == 0
    [counts] = [each["counts"] for each in lines if each["subject"] == "delivery"]
    assert counts == {"sent": 1, "deferred": 0, "refused": 0}


@pytest.mark.parametrize("is_off", [False, True])
def test_end_reaches_whoever_heard_of_the_trouble_although_its_rule_names_others_now(
    watch: Watch, *, is_off: bool
) -> None:
    watch.begin(replace(BUSY, recipients=(ONCALL,)))
    watch.change_rules(replaced_by([replace(BUSY, recipients=(OTHERS,))]))
    watch.wait(MINUTE)
    if is_off:
        off = AddressOff(ONCALL, OffCause.UNSUBSCRIBED, watch.clock.now(), "Ann")
        with watch.store.write() as connection:
            assert turn_off(connection, off)
    watch.turn(2, State.BUSY, State.CALM)
    watch.wait()

    assert watch.kinds(ONCALL) == ["change"] * (1 if is_off else 2)
    assert watch.kinds(OTHERS) == ["change"]


@pytest.mark.parametrize("was", ["off", "resolved"])
def test_incident_outlasts_a_trouble_that_began_before_it(watch: Watch, was: str) -> None:
    upstream = Rule("upstream", RuleKind.UPSTREAM_SILENT)
    watch.rules(replace(upstream, is_enabled=was != "off"))
    watch.go_silent()
    watch.wait(seconds(1))
    if was == "off":
        watch.change_rules(turned("upstream", is_enabled=True))
    else:
        Incidents(watch.context).resolve(watch.incident().incident_id, watch.person("Ann"))
    turn_exclusion_api(watch, None, State.SILENT)
    watch.go_silent(is_over=True)
    watch.wait(seconds(1))

    incident = watch.incident()
    assert (incident.state, incident.troubled) == (IncidentState.FIRING, 1)
    turn_exclusion_api(watch, State.SILENT, State.ANSWERING)
    assert not watch.incident().is_open


def turn_exclusion_api(watch: Watch, before: State | None, after: State) -> None:
    subject, at = Subject(SubjectKind.EXCLUSION_API, A_NETWORK), watch.clock.now()
    number = 301 if before is None else 302
    turned = a_transition(number, subject=subject, before=before, after=after, at=at)
    with watch.store.write() as connection:
        assert record_transition(connection, turned, None)
    watch.wait(seconds(1))


OVER_LIMIT = "TX_MODULE_LINE_COUNT_OVERFLOW(ADD)"
UNKNOWN = "Module ADD does not exist in the limits file."


@pytest.mark.parametrize(
    "reasons",
    [
        ("Internal Error: do not know what to do", "Internal Error: another one", OVER_LIMIT),
        (UNKNOWN, UNKNOWN, OVER_LIMIT),
        (OVER_LIMIT, OVER_LIMIT, UNKNOWN),
    ],
    ids=["without module", "unknown module", "over its limit"],
)
def test_silence_of_an_incident_keeps_no_other_group_of_rejections_from_anybody(
    watch: Watch, reasons: tuple[str, str, str]
) -> None:
    reject(watch.store, 1, reason_message=reasons[0])
    watch.wait()
    incident = watch.incident()
    now = watch.clock.now()
    request = SilenceRequest(
        an_id(7), SilenceKind.SILENCE, matchers_of(incident), now, now + HOUR, "known"
    )
    with watch.store.write() as connection:
        add_silence(connection, request, watch.person("Ann"))
    reject(watch.store, 2, reason_message=reasons[1])
    reject(watch.store, 3, reason_message=reasons[2])
    watch.wait(timedelta(minutes=1))

    told = [each.transition.subject.tx_hash for each in watch.sent()]
    assert told == [a_hash(1), a_hash(3)]


def test_mailbox_that_is_written_in_several_ways_gets_each_message_once(watch: Watch) -> None:
    again = replace(ONCALL, address="oncall@EXAMPLE.org")
    here = replace(BUSY, recipients=(ONCALL, again), escalate_to=(again, ONCALL))
    watch.begin(here, replace(REMINDING, name="other", recipients=(again,)))
    watch.wait(HOUR)
    watch.wait(HOUR)

    of_two_rules = ["reminder"] * 2
    assert sorted(watch.kinds()) == ["change", "escalation", *of_two_rules, "reminder"]


def test_incident_is_as_severe_as_its_rule_becomes(watch: Watch) -> None:
    of_warnings = Matcher(MatchedProperty.SEVERITY, "warning")
    watch.silence(SilenceKind.SILENCE, 8 * HOUR, of_warnings)
    watch.begin(REMINDING)
    watch.change_rules(replaced_by([replace(REMINDING, severity=Severity.CRITICAL)]))
    watch.wait(seconds(1))

    assert watch.taken() == [(ONCALL, NotificationKind.CHANGE)]
    assert (watch.incident().severity, watch.incident().state) == (
        "critical",
        IncidentState.FIRING,
    )
