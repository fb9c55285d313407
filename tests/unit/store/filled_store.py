"""A store in which something of every kind happened."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from msgspec.structs import replace

from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.incident_timers import IncidentTimers, lose_data
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.silence import SilenceKind, SilenceRequest
from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.people.access import Actor
from dashboard.domain.people.active_hours import WeekSpan
from dashboard.domain.people.recipients import (
    AddressOff,
    OffCause,
    RecipientProfile,
    SuspectAddress,
)
from dashboard.domain.quantity import TxHash
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.incidents import add_events, all_open_incidents, save_incident
from dashboard.store.alerts.outbox import expand, pending_expansion
from dashboard.store.alerts.recipients import save_profile, suspect, turn_off
from dashboard.store.alerts.rules import save_rules
from dashboard.store.alerts.silences import add_silence
from dashboard.store.chosen_settings import save_chosen
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.evidence.record_answers import record_poll
from dashboard.store.fees.save import save_gas
from dashboard.store.maintenance.copy import read_table
from dashboard.store.schema import metadata
from dashboard.store.tracking.cohorts import KnownHashes, read_cohorts, watched_after
from dashboard.store.tracking.poll_groups import join_groups
from dashboard.store.tracking.transactions import track
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    GWEI,
    a_hash,
    a_report,
    a_transition,
    an_id,
    seconds,
    suggested_gas_fees,
)
from tests.delivery_checks import DEV, claim_due, make_pending, take_lease
from tests.one_by_one import save_report
from tests.recording_channel import ONCALL
from tests.routes import by_subject, trusting
from tests.unit.store.fake_machine import Machine

A_DAY: Final = timedelta(days=1)
HOSTILE: Final = "back\\slash, \t tab, \n line, \0 nothing, \ud800 half, 😀, 'quote\""


def live(url: str) -> None:
    """Open a store and let everything happen in it."""
    with open_store(url, Machine().clock) as store:
        live_in(store)


def live_in(store: Store) -> None:
    """Watch fees, track, take reports, conclude, owe, claim, and hold incidents open."""
    make_pending(store, count=3)
    claim_due(store, take_lease(store), limit=1)
    with store.write() as connection:
        for number in range(3):
            at = A_MOMENT + seconds(number)
            fees = suggested_gas_fees()
            save_gas(
                connection,
                GasObservation(
                    A_NETWORK,
                    at,
                    suggested_gas_fees=fees,
                    base_fee_history=(5 * GWEI, 6 * GWEI),  # type: ignore[arg-type]  # wei are ints
                ),
                block_time=seconds(2),
            )
        for number in range(4, 8):
            keep_report(connection, a_hash(number))
        track(
            connection, TrackRequest(a_hash(9), (A_NETWORK,), Remarks(A_MOMENT, HOSTILE)), A_MOMENT
        )
        ask_together(connection)
        alert_in(connection)


def ask_together(connection: Connection) -> None:
    """Let a hash be asked in a group within another one."""
    *_, watched = watched_after(connection, A_NETWORK, 0)
    answers = [ExclusionAnswer(a_hash(9))]
    cohorts = read_cohorts(connection, A_NETWORK, [watched.cohort_id], KnownHashes())
    record_poll(connection, A_NETWORK, A_MOMENT, cohorts, answers)
    inner = join_groups(connection, A_NETWORK, A_MOMENT, [], [watched.cohort_id])
    outer = join_groups(connection, A_NETWORK, A_MOMENT + seconds(1), [], [])
    join_groups(connection, A_NETWORK, A_MOMENT + seconds(1), [outer, inner], [])


def alert_in(connection: Connection) -> None:
    """Let an incident be pending and another unknown, and decide what recipients get."""
    by = Actor("Ann", A_MOMENT)
    save_rules(connection, [Rule("busy", RuleKind.BUSY, pending=A_DAY)], by)
    matcher = Matcher(MatchedProperty.LABEL, HOSTILE)
    until = A_MOMENT + A_DAY
    wish = SilenceRequest(an_id(90), SilenceKind.SILENCE, (matcher,), A_MOMENT, until, HOSTILE)
    add_silence(connection, wish, by)
    turn_off(connection, AddressOff(DEV, OffCause.UNSUBSCRIBED, A_MOMENT, "Ann", HOSTILE))
    suspect(connection, SuspectAddress(ONCALL, A_MOMENT, "<1@example.org>", HOSTILE))
    save_chosen(connection, {"mail.smtp_port": 25, "mail.username": HOSTILE}, by)
    save_profile(
        connection, ONCALL, RecipientProfile("Europe/Berlin", (WeekSpan.parse("mon 09:00-17:00"),))
    )
    timers = (IncidentTimers(pending=A_DAY), IncidentTimers())
    for number, (kind, state) in enumerate(
        ((SubjectKind.BUSYNESS, State.BUSY), (SubjectKind.GAS_API, State.SILENT))
    ):
        transition = a_transition(80 + number, subject=Subject(kind, A_NETWORK), after=state)
        record_transition(connection, transition, None)
        [entry] = pending_expansion(connection, 10)
        [route] = by_subject(transition, [DEV])
        routed = [(entry, [replace(route, timers=timers[number])])]
        expand(connection, routed, A_MOMENT, trusting([ONCALL]))
    known = {each.next_at is None: each for each in all_open_incidents(connection, 10)}[True]
    lost = lose_data(known, HOSTILE, A_MOMENT)
    assert lost is not None
    save_incident(connection, lost[0])
    add_events(connection, [(known.incident_id, lost[1])])


def keep_report(connection: Connection, tx_hash: TxHash) -> None:
    """Keep the report of one rejection, whose reason is hard to copy."""
    report = a_report(tx_hash=tx_hash, raw=bytes(range(256)), reason_message=HOSTILE)
    save_report(connection, report, A_NETWORK, A_MOMENT)


def content(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables, in the same form from either database."""
    return {
        table.name: sorted(
            (row for rows in read_table(connection, table) for row in rows), key=repr
        )
        for table in metadata.sorted_tables
    }


def content_of(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of an open store."""
    with store.read() as connection:
        return content(connection)
