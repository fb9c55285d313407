"""What Overview asks of a seeded store, and what it says needs attention."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlalchemy import Engine, event

from dashboard.application.application import Application
from dashboard.application.attention import Attention, Remedy
from dashboard.application.health import WorkerHealth
from dashboard.application.health_troubles import health_troubles
from dashboard.application.incidents import MOST_UNATTENDED
from dashboard.application.network_status import NetworkProfile, NetworkStatus
from dashboard.application.overview import (
    LINE_STEPS,
    ChangesSince,
    UsualNow,
    needed_attention,
    severities,
    verdict_in_words,
    worst_first,
)
from dashboard.application.source_health import NetworkHealth, OperationHealth
from dashboard.domain.alerts.condition import (
    INSTALLATION,
    Condition,
    Signal,
    State,
    Subject,
    SubjectKind,
)
from dashboard.domain.alerts.incident import Incident
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.silence import SilenceKind, SilenceRequest
from dashboard.domain.fees.busy_spells import UsualSpells
from dashboard.domain.health.observation import Operation
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import TxHash
from dashboard.domain.tracking.remarks import NO_REMARKS
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.incidents import insert_incident
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.engine.leases import Holder
from tests.browser.seeded_store import FLAT, SILENT, SIMULATED, tx_hash
from tests.builders import MINUTE, a_transition, an_id, an_incident

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.fixture
def queries(store: Store) -> Application:
    return Application(store, (SIMULATED, SILENT, FLAT), None, lambda: NOW)


@pytest.fixture
def statuses(queries: Application) -> tuple[NetworkStatus, ...]:
    return queries.network_statuses()


def test_rejections_of_an_hour_take_as_many_queries_for_all_networks_as_for_one(
    store: Store,
) -> None:
    asked: list[list[str]] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        asked[-1].append(statement)

    every = tuple(
        dataclasses.replace(each, has_exclusion=True) for each in (SIMULATED, SILENT, FLAT)
    )
    for networks in (every[:1], every):
        asked.append([])
        event.listen(Engine, "before_cursor_execute", note)
        found = Application(store, networks, None, lambda: NOW).overview.hourly()
        event.remove(Engine, "before_cursor_execute", note)
        assert len(found) == len(networks)

    assert len(asked[0]) == len(asked[1])


def firing(store: Store, incident: Incident) -> None:
    """Let an incident be open."""
    with store.write() as connection:
        insert_incident(connection, incident)


def test_nothing_is_usual_of_a_network_that_is_known_for_an_hour(
    queries: Application, statuses: tuple[NetworkStatus, ...]
) -> None:
    assert [queries.overview.usual(each) for each in statuses] == [UsualNow()] * 3


def test_line_of_a_day_has_a_hole_where_nothing_was_seen(
    queries: Application, statuses: tuple[NetworkStatus, ...]
) -> None:
    line = queries.overview.day_line(statuses[0])

    assert len(line.fees) == len(line.busy_parts) == LINE_STEPS
    assert [each is not None for each in line.fees[-6:]] == [False, True, True, True, True, True]
    assert any(0 < each < 1 for each in line.busy_parts[-6:])
    assert not any(line.busy_parts[:-6])
    assert line.busy_share is not None
    assert 0 < line.busy_share < 0.03


def test_line_of_a_flat_fee_is_that_of_the_priority_fee(
    queries: Application, statuses: tuple[NetworkStatus, ...]
) -> None:
    line = queries.overview.day_line(statuses[2])

    assert statuses[2].figures.signal is Signal.PRIORITY_FEE
    assert max(each for each in line.fees if each is not None) > 30_000_000


def test_rejections_of_an_hour_are_counted_where_they_are_asked_for(store: Store) -> None:
    no_worker_since = dataclasses.replace(SILENT, has_exclusion=False)
    queries = Application(store, (SIMULATED, no_worker_since), None, lambda: NOW)

    hourly = queries.overview.hourly()

    assert list(hourly) == [SIMULATED.network_id]
    assert hourly[SIMULATED.network_id].count == 5
    assert hourly[SIMULATED.network_id].watched.is_whole


def test_transaction_comes_once_with_the_number_of_its_versions(queries: Application) -> None:
    newest = queries.overview.newest(8)

    assert [each.latest.record.tx_hash for each in newest] == [tx_hash(n) for n in (1, 2, 3, 4, 5)]
    assert [each.versions for each in newest] == [1, 2, 1, 1, 1]


def changes(several: Sequence[Incident]) -> int:
    return sum(each.transitions for each in several)


def test_what_needs_attention_comes_with_its_remedy(
    store: Store, queries: Application, statuses: tuple[NetworkStatus, ...]
) -> None:
    firing(store, an_incident(opened_at=NOW - 9 * MINUTE))
    titled = [(each, "Title") for each in queries.incidents.unattended()]

    troubles = health_troubles(queries.health.health(), NOW)

    needed = needed_attention(titled, troubles, statuses, NOW, changes)

    assert [each.remedy for each in needed] == [
        Remedy.WORKER,
        Remedy.INCIDENT,
        Remedy.SOURCES,
        Remedy.SOURCES,
    ]
    assert needed[1].text == "open since 11:51:00 UTC, unassigned."
    assert needed[2].headline.startswith("Linea: gas API down ")
    assert needed[2].text == "The Linea gas endpoint gave no answer within 5 s."


def test_most_urgent_comes_first_and_good_tidings_need_nobody(
    store: Store, queries: Application, statuses: tuple[NetworkStatus, ...]
) -> None:
    severities = ("warning", "info", "critical", "warning")
    for number, severity in enumerate(severities):
        incident = an_incident(
            incident_id=an_id(number),
            kind="changed",
            severity=severity,
            group=(("network", str(SIMULATED.network_id)), ("label", str(number))),
            opened_at=NOW - number * MINUTE,
            changed_at=NOW + number * MINUTE,
        )
        firing(store, incident)

    shown = queries.needed_attention(statuses, NOW)
    troubles = health_troubles(queries.health.health(), NOW)

    assert [(each.incident_id, each.severity) for each in shown if each.incident_id] == [
        (an_id(2), "critical"),
        (an_id(3), "warning"),
        (an_id(0), "warning"),
    ]
    assert [each.severity for each in shown] == ["critical"] * 2 + ["warning"] * 4
    assert [each.severity for each in troubles] == ["critical"] + ["warning"] * 2


def test_rejections_of_a_network_are_one_line_as_urgent_as_the_worst(
    statuses: tuple[NetworkStatus, ...],
) -> None:
    network = ("network", str(SIMULATED.network_id))
    rejected = [
        an_incident(
            incident_id=an_id(number),
            kind="rejected",
            severity=severity,
            group=(network, ("module", module)),
            opened_at=NOW - number * MINUTE,
            transitions=number + 1,
        )
        for number, (module, severity) in enumerate(
            (("HUB", "warning"), ("ADD", "critical"), ("", "info"), ("HUB", "warning"))
        )
    ]

    [needed] = needed_attention([(each, "x") for each in rejected], [], statuses, NOW, changes)

    assert needed.headline == "Devnet: 10 rejections unassigned, 2 modules:"
    assert needed.text == "4 incidents since 11:57:00 UTC."
    assert (needed.severity, needed.incident_id) == ("critical", None)
    assert needed.incidents == tuple(each.incident_id for each in rejected)
    assert severities([needed]) == {SIMULATED.network_id: "critical"}
    assert worst_first(statuses[0], 0, "critical") < worst_first(statuses[1], 9, "warning")


def test_stale_network_beside_a_worker_that_runs_is_not_for_want_of_one(
    queries: Application,
) -> None:
    old = OperationHealth(Operation.BUSY_THRESHOLD, NOW - 9 * MINUTE, MINUTE)
    health = replace(queries.health.health(), networks=[NetworkHealth(SIMULATED, (old,))])
    running = replace(health, worker=WorkerHealth({"worker": Holder("host/1/x", 1)}))

    [_, without] = health_troubles(health, NOW)
    [beside] = health_troubles(running, NOW)

    assert without.advice == "Polling resumes as soon as a worker runs."
    assert beside.advice == "The log of the worker says why no answer arrived."


def test_trouble_of_another_network_is_not_shown_with_this_one(
    queries: Application, statuses: tuple[NetworkStatus, ...]
) -> None:
    troubles = health_troubles(queries.health.health(), NOW)

    needed = needed_attention([], troubles, [statuses[0]], NOW, changes)

    assert [each.headline for each in needed] == ["Monitoring stopped: the worker is not running."]


def test_what_the_verdict_says_already_is_not_said_again(
    statuses: tuple[NetworkStatus, ...],
) -> None:
    said = Attention("Devnet fails.", "why.", Remedy.SOURCES, SIMULATED)

    [needed] = needed_attention(
        [], [said], [replace(statuses[0], activity_reason="why")], NOW, changes
    )

    assert needed == replace(said, text="")


def test_incident_that_somebody_has_in_hand_needs_nobody_else(
    store: Store, queries: Application
) -> None:
    firing(store, an_incident(owner="Ada"))

    assert queries.incidents.unattended() == ()
    assert queries.incidents.count_open(SIMULATED.network_id) == 1


def test_incident_behind_many_silenced_ones_still_needs_somebody(
    store: Store, queries: Application
) -> None:
    with store.write() as connection:
        for number in range(MOST_UNATTENDED):
            group = (("network", "1"), ("module", f"M{number}"))
            storm = an_incident(incident_id=an_id(100 + number), severity="critical", group=group)
            insert_incident(connection, storm)
    firing(store, an_incident(rule="late"))
    matchers = (Matcher(MatchedProperty.SEVERITY, "critical"),)
    request = SilenceRequest(an_id(1), SilenceKind.SILENCE, matchers, NOW, NOW + MINUTE, "known")
    queries.silences.add(request, Actor("Ada", NOW))

    assert [each.rule for each in queries.incidents.unattended()] == ["late"]


@pytest.mark.parametrize(("networks", "counted"), [((SIMULATED,), 1), ((SIMULATED, SILENT), 0)])
def test_incident_of_linewatch_itself_is_counted_with_the_only_network(
    store: Store, networks: tuple[NetworkProfile, ...], counted: int
) -> None:
    firing(store, an_incident(group=(("network", str(INSTALLATION)),)))

    queries = Application(store, networks, None, lambda: NOW)

    assert queries.incidents.count_open(SIMULATED.network_id) == counted


def test_what_another_process_wrote_shows_after_a_second(store: Store, tmp_path: Path) -> None:
    at = [NOW]
    queries = Application(store, (SIMULATED, SILENT, FLAT), None, lambda: at[-1])
    known = queries.incidents.unattended(), queries.incidents.count_open(SIMULATED.network_id)

    with open_store(f"sqlite:///{tmp_path / 'linewatch.sqlite'}") as of_another:
        firing(of_another, an_incident())

    assert (queries.incidents.unattended(), known[1]) == known
    at.append(NOW + timedelta(seconds=1))
    assert len(queries.incidents.unattended()) == 1
    assert queries.incidents.count_open(SIMULATED.network_id) == known[1] + 1


def test_who_acts_sees_it_at_once_though_answers_are_shared(
    store: Store, queries: Application
) -> None:
    incident, tracked = an_incident(), TxHash(b"n" * 32)
    firing(store, incident)
    assert len(queries.incidents.unattended()) == 1
    assert queries.tracked_among(tracked) == frozenset()

    queries.incidents.acknowledge(incident.incident_id, Actor("Ada", NOW))
    queries.track([tracked], NO_REMARKS, queries.context.unnamed())

    assert queries.incidents.unattended() == ()
    assert queries.tracked_among(tracked) == {tracked}


def test_several_stale_networks_make_one_line(queries: Application) -> None:
    health = queries.health.health()
    old = OperationHealth(Operation.BUSY_THRESHOLD, NOW - 9 * MINUTE, MINUTE)
    stale = [NetworkHealth(SIMULATED, (old,))] * 3

    needed = health_troubles(replace(health, networks=stale), NOW)

    assert needed[-1].headline == "All 3 networks are stale."
    assert not needed[-1].text


def test_verdict_says_state_since_usual_length_and_incidents(
    statuses: tuple[NetworkStatus, ...],
) -> None:
    held = Condition(State.BUSY, NOW - 9 * MINUTE)
    busy = replace(statuses[0], figures=replace(statuses[0].figures, busyness=held))
    usual = UsualNow(spells=UsualSpells(5, 4 * MINUTE, 9 * MINUTE, is_of_hour=True))

    assert verdict_in_words(busy, usual, 2, NOW) == (
        "Busy for 9 min, since 11:51:00 UTC. Busy spells that begin around this hour usually last "
        "4 min. 2 incidents are open."
    )


def test_changes_since_a_moment_are_counted(store: Store, queries: Application) -> None:
    firing(store, an_incident(opened_at=NOW - 9 * MINUTE))
    with store.write() as connection:
        subject = Subject(SubjectKind.BUSYNESS, SIMULATED.network_id)
        busy = a_transition(subject=subject, before=None, after=State.BUSY, at=NOW - 5 * MINUTE)
        assert record_transition(connection, busy, None)

    words = [queries.overview.changes_since(NOW - n * MINUTE).in_words() for n in (10, 8, 0)]

    assert words == [
        "1 new incident, 2 new rejections, 1 change of state (Devnet)",
        "2 new rejections, 1 change of state (Devnet)",
        "1 new rejection",
    ]


def test_networks_that_changed_are_counted_where_not_all_are_named() -> None:
    names = tuple("ABCDEFG")

    said = [ChangesSince(0, 0, 7, names[:many]).in_words() for many in (5, 7)]

    assert said == [
        "7 changes of state (A, B, C, D, E)",
        "7 changes of state (A, B, C, D, E and 2 more)",
    ]


def test_worst_network_comes_first(statuses: tuple[NetworkStatus, ...]) -> None:
    ranked = sorted(statuses, key=lambda each: worst_first(each, 0))

    assert [each.profile.name for each in ranked] == ["Linea", "Devnet", "Linea Sepolia"]
