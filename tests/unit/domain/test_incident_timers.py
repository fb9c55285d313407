"""What time alone does to an incident: quiet, reminders, escalation, the end of a silence."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from dashboard.domain.alerts.incident import Incident, IncidentEventKind, IncidentState, resolve
from dashboard.domain.alerts.incident_timers import (
    NO_DATA_PERIOD,
    TIMERS,
    IncidentTimers,
    Upcoming,
    end_silence,
    fire,
    lose_data,
    no_later_than,
    pass_time,
    regain_data,
    silence,
    timed,
    upcoming,
)
from tests.builders import A_MOMENT, HOUR, an_incident

REMINDING = IncidentTimers(remind_every=HOUR, escalate_after=2 * HOUR)
ESCALATING = IncidentTimers(escalate_after=HOUR)
REJECTIONS = an_incident()
BUSY = an_incident(troubled=1)


def what_happens(incident: Incident, timers: IncidentTimers, until: timedelta) -> list[str]:
    """Let time pass, as far as it is due each time; return what happened, in hours."""
    incident = timed(incident, timers)
    said = []
    while incident.next_at is not None and incident.next_at <= A_MOMENT + until:
        passed = pass_time(incident, timers, incident.next_at)
        assert passed is not None
        incident, event = passed
        said.append(f"{event.kind} {(event.at - A_MOMENT) / HOUR:g}")
    return said


def test_incident_that_nobody_takes_in_hand_is_repeated_and_escalates_once() -> None:
    assert timed(resolve(BUSY, A_MOMENT), REMINDING).next_at is None
    assert what_happens(BUSY, REMINDING, 4 * HOUR) == [
        *("reminded 1", "escalated 2", "reminded 2", "reminded 3", "reminded 4")
    ]


def test_incident_in_somebodys_hand_is_neither_repeated_nor_escalates() -> None:
    held = replace(BUSY, state=IncidentState.ACKNOWLEDGED)

    assert what_happens(held, REMINDING, 4 * HOUR) == []


def test_incident_of_transactions_goes_quiet_but_not_before_it_escalated() -> None:
    assert what_happens(REJECTIONS, TIMERS, HOUR) == ["resolved 0.25"]
    assert what_happens(REJECTIONS, ESCALATING, 2 * HOUR) == ["escalated 1", "resolved 1.25"]


def test_pending_incident_fires_when_its_period_ends_and_reminds_from_then_on() -> None:
    timers = replace(REMINDING, pending=HOUR)
    due = A_MOMENT + HOUR
    pending = replace(BUSY, state=IncidentState.PENDING, next_at=due)

    fired, event = fire(timed(pending, timers), timers, due)

    assert (fired.state, event.kind) == (IncidentState.FIRING, IncidentEventKind.FIRED)
    assert fired.next_at == due + HOUR


def test_pending_period_begins_again_where_nobody_looked_when_it_ended() -> None:
    timers = IncidentTimers(pending=HOUR)
    pending = replace(BUSY, state=IncidentState.PENDING, next_at=A_MOMENT)

    waiting, event = fire(pending, timers, A_MOMENT + 2 * HOUR)
    at_once, _ = fire(pending, TIMERS, A_MOMENT + 2 * HOUR)

    assert (waiting.state, event.kind) == (IncidentState.PENDING, IncidentEventKind.WAITS_AGAIN)
    assert waiting.next_at == A_MOMENT + 3 * HOUR
    assert at_once.state is IncidentState.FIRING


def test_reminders_and_escalation_count_from_the_first_message_where_that_came_late() -> None:
    notified_at = A_MOMENT + 3 * HOUR
    late = replace(BUSY, notified_at=notified_at)

    assert pass_time(late, REMINDING, notified_at) is None
    assert timed(late, REMINDING).next_at == notified_at + HOUR
    assert upcoming(late, IncidentTimers(escalate_after=HOUR)) == Upcoming(
        notified_at + HOUR, IncidentEventKind.ESCALATED
    )


def test_what_people_hear_next_is_the_first_of_reminder_and_escalation() -> None:
    held = replace(BUSY, state=IncidentState.ACKNOWLEDGED)

    assert upcoming(BUSY, REMINDING) == Upcoming(A_MOMENT + HOUR, IncidentEventKind.REMINDED)
    reminded = replace(BUSY, reminded_at=A_MOMENT + HOUR, reminders=1)
    assert upcoming(reminded, REMINDING) == Upcoming(
        A_MOMENT + 2 * HOUR, IncidentEventKind.ESCALATED
    )
    assert upcoming(held, REMINDING) is None


def test_pending_period_begins_again_while_what_it_rests_on_is_silent() -> None:
    pending = replace(BUSY, state=IncidentState.PENDING, next_at=A_MOMENT)

    waiting, event = fire(pending, IncidentTimers(pending=HOUR), A_MOMENT, "fees are stale")

    assert (waiting.next_at, event.note) == (A_MOMENT + HOUR, "fees are stale")


def test_incident_without_data_neither_reminds_nor_escalates_until_it_is_judged_again() -> None:
    lost = lose_data(BUSY, "fees are stale", A_MOMENT)
    assert lost is not None
    unknown, event = lost

    assert (unknown.state, event.note) == (IncidentState.NO_DATA, "fees are stale")
    assert timed(unknown, REMINDING).next_at == A_MOMENT + NO_DATA_PERIOD
    assert pass_time(unknown, REMINDING, A_MOMENT + 9 * HOUR) is None
    assert lose_data(unknown, "fees are stale", A_MOMENT) is None
    known, event = regain_data(unknown, REMINDING, A_MOMENT + HOUR)
    assert (known.state, event.kind) == (IncidentState.FIRING, IncidentEventKind.JUDGED_AGAIN)
    assert known.next_at == A_MOMENT + HOUR


def test_network_in_trouble_is_silenced_and_reminded_of_at_the_end_of_its_silence() -> None:
    passed = silence(BUSY, REMINDING, A_MOMENT)
    assert passed is not None
    silent, event = passed

    assert (silent.state, event.kind) == (IncidentState.SILENCED, IncidentEventKind.SILENCED)
    assert timed(silent, REMINDING, A_MOMENT + HOUR).next_at == A_MOMENT + HOUR
    assert silence(silent, REMINDING, A_MOMENT + 3 * HOUR) is None
    assert pass_time(silent, REMINDING, A_MOMENT + 3 * HOUR) is None
    again, reminded = end_silence(silent, REMINDING, A_MOMENT + HOUR)
    assert (again.state, again.reminders) == (IncidentState.FIRING, 1)
    assert reminded.kind is IncidentEventKind.REMINDED


def test_incident_in_somebodys_hand_stays_so_in_a_silence() -> None:
    held = replace(BUSY, state=IncidentState.ACKNOWLEDGED)

    assert silence(held, REMINDING, A_MOMENT) is None


def test_incident_of_transactions_escalates_before_it_ends_although_no_worker_was_running() -> None:
    found = pass_time(REJECTIONS, ESCALATING, A_MOMENT + 24 * HOUR)

    assert found is not None
    later, event = found
    assert event.kind is IncidentEventKind.ESCALATED
    assert later.next_at == A_MOMENT + 24 * HOUR + ESCALATING.quiet_after


def test_incident_of_rejections_escalates_after_its_silence_or_goes_quiet_within() -> None:
    until = A_MOMENT + HOUR
    quiet_at = A_MOMENT + 2 * HOUR + REMINDING.quiet_after

    assert timed(REJECTIONS, REMINDING, until).next_at == until
    assert silence(REJECTIONS, REMINDING, quiet_at - timedelta(seconds=1)) is None
    passed = silence(REJECTIONS, REMINDING, quiet_at)
    assert passed is not None
    assert passed[0].state is IncidentState.RESOLVED


def test_time_that_lies_ahead_since_the_clock_was_set_back_counts_as_now() -> None:
    ahead = replace(BUSY, reminded_at=A_MOMENT + HOUR, escalated_at=A_MOMENT)
    now = A_MOMENT - 24 * HOUR

    known = no_later_than(ahead, now)

    assert {known.opened_at, known.changed_at, known.reminded_at, known.escalated_at} == {now}
    assert timed(known, REMINDING).next_at == now + HOUR
    assert no_later_than(BUSY, A_MOMENT) == BUSY


def test_incident_that_pends_when_the_clock_is_set_back_waits_again() -> None:
    pending = replace(BUSY, state=IncidentState.PENDING, next_at=A_MOMENT)
    now = A_MOMENT - 24 * HOUR

    waiting, event = fire(pending, replace(REMINDING, pending=HOUR), now)

    assert (waiting.next_at, waiting.opened_at) == (now + HOUR, now)
    assert event.kind is IncidentEventKind.WAITS_AGAIN
