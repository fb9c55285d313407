"""Every kind is exported whole, exactly and in batches, from either database."""

from __future__ import annotations

import csv
import io
from datetime import timedelta

import pytest

from dashboard.domain.alerts.condition import State
from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.health.observation import ExclusionAnswer, Operation
from dashboard.domain.people.access import Action, Actor
from dashboard.domain.quantity import Wei
from dashboard.domain.rejections.exclusion import ModuleOverflow
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.errors import InputError
from dashboard.store.access.audit_log import note_action
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.fees.save import save_gas
from dashboard.store.maintenance.export import ExportKind, ExportRequest, export
from dashboard.store.maintenance.export_files import write_csv_rows
from dashboard.store.tracking.transactions import track
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    DISPUTE,
    a_disputed_answer,
    a_hash,
    a_record,
    a_report,
    an_address,
    seconds,
    suggested_gas_fees,
)
from tests.one_by_one import save_report
from tests.saved_record import save_record
from tests.unit.store.old_rows import reject

OF_NO_NETWORK = {ExportKind.AUDIT, ExportKind.DELIVERIES}
LARGEST = Wei(2**63 - 1)


def exported(store: Store, wanted: ExportRequest) -> list[dict[str, str]]:
    """Return what a reader of the CSV gets."""
    file = io.StringIO(newline="")
    with store.read() as connection:
        write_csv_rows(file, *export(connection, wanted))
    return list(csv.DictReader(io.StringIO(file.getvalue(), newline="")))


@pytest.fixture
def full_store(store: Store) -> Store:
    """Return a store with something of each kind."""
    reject(store, 1, A_MOMENT)
    with store.write() as connection:
        track(
            connection,
            TrackRequest(a_hash(2), (A_NETWORK, ANOTHER_NETWORK), Remarks(label="=1")),
            A_MOMENT,
        )
        record_lookup(connection, A_NETWORK, A_MOMENT + seconds(1), [ExclusionAnswer(a_hash(2))])
        for second in range(3):
            fees = suggested_gas_fees(estimated_base_fee=LARGEST)
            at = A_MOMENT + seconds(second)
            seen = GasObservation(A_NETWORK, at, fees, busy_threshold=Wei(second))
            save_gas(connection, seen, timedelta(seconds=2))
        note_action(connection, Actor("ann", A_MOMENT), Action.TRACK, "it", {"new": 1})
    return store


def test_rejection_is_exported_with_all_that_is_known_of_it(store: Store) -> None:
    overflow = ModuleOverflow("HUB", 5, 4)
    with store.write() as connection:
        save_record(connection, A_NETWORK, a_record(nonce=2**64 - 2), A_MOMENT)
        save_record(connection, A_NETWORK, a_record(nonce=2**64 - 2), A_MOMENT + seconds(7200))
        report = a_report(tx_hash=a_hash(2), reason_message="=cmd\r\n\0", overflows=(overflow,))
        save_report(connection, report, ANOTHER_NETWORK, A_MOMENT + seconds(1))
        record_lookup(connection, A_NETWORK, A_MOMENT, [a_disputed_answer(a_hash())])

    polled, reported = exported(store, ExportRequest(ExportKind.REJECTIONS))

    assert (polled["tx_hash"], polled["nonce"]) == (str(a_hash()), str(2**64 - 2))
    assert (polled["first_seen_at"], polled["last_seen_at"], polled["source"]) == (
        "2026-11-20T12:00:00.000Z",
        "2026-11-20T14:00:00.000Z",
        "polled",
    )
    assert (polled["recipient"], polled["reported_at"], polled["block_number"]) == ("", "", "")
    assert (reported["source"], reported["recipient"]) == ("reported", str(an_address(2)))
    assert reported["reason_message"] == "'=cmd\\u000d\\u000a\\u0000"
    assert reported["overflows"] == '[["HUB", 5, 4]]'
    assert reported["network_id"] == str(ANOTHER_NETWORK)
    assert (polled["endpoints_say"], reported["endpoints_say"]) == (DISPUTE, "")
    said = exported(store, ExportRequest(ExportKind.ENDPOINT_STATEMENTS))
    assert [(each["endpoint"], each["said"], each["status"]) for each in said] == [
        ("gateway", "rejected", ""),
        ("second", "status", "INCLUDED"),
    ]


def test_fees_are_exported_as_whole_wei(full_store: Store) -> None:
    rows = exported(full_store, ExportRequest(ExportKind.FEES))

    assert [row["estimated_base_fee"] for row in rows] == [str(LARGEST)] * 3
    assert rows[2]["asked_at"] == "2026-11-20T12:00:02.000Z"
    assert rows[0]["low_min_wait"] == "15000"


def test_tracked_hash_is_exported_once_for_each_network(full_store: Store) -> None:
    first, second = exported(full_store, ExportRequest(ExportKind.TRACKED))

    assert {first["network_id"], second["network_id"]} == {str(A_NETWORK), str(ANOTHER_NETWORK)}
    answered = {row["network_id"]: row["last_answered_at"] for row in (first, second)}
    assert answered == {
        str(A_NETWORK): "2026-11-20T12:00:01.000Z",
        str(ANOTHER_NETWORK): "",
    }
    assert (first["label"], first["tx_hash"]) == ("'=1", str(a_hash(2)))


def test_notification_is_exported_with_what_it_tells(full_store: Store) -> None:
    [notification] = exported(full_store, ExportRequest(ExportKind.NOTIFICATIONS))
    [delivery] = exported(full_store, ExportRequest(ExportKind.DELIVERIES))

    assert (notification["address"], notification["after"]) == ("ops@example.org", State.REJECTED)
    assert notification["tx_hash"] == str(a_hash(1))
    assert delivery["notification_id"] == notification["notification_id"]


def test_marks_roll_ups_and_acts_are_exported(full_store: Store) -> None:
    marks = exported(full_store, ExportRequest(ExportKind.FEE_PERCENTILES))
    [act] = exported(full_store, ExportRequest(ExportKind.AUDIT))

    assert {row["operation"] for row in marks} == {Operation.BUSY_THRESHOLD}
    assert (act["actor"], act["details"]) == ("ann", '{"new": 1}')


def test_every_kind_can_be_asked_for_by_time(full_store: Store) -> None:
    year = timedelta(days=400)
    for kind in ExportKind:
        everything = ExportRequest(kind, A_MOMENT - year, A_MOMENT + year)

        assert exported(full_store, everything) == exported(full_store, ExportRequest(kind)), kind
        assert exported(full_store, ExportRequest(kind, since=A_MOMENT + year)) == [], kind


def test_every_kind_of_networks_can_be_asked_for_by_network(full_store: Store) -> None:
    for kind in [each for each in ExportKind if each not in OF_NO_NETWORK]:
        rows = exported(full_store, ExportRequest(kind, network_id=A_NETWORK))

        assert {row["network_id"] for row in rows} <= {str(A_NETWORK)}, kind
        assert exported(full_store, ExportRequest(kind, network_id=ANOTHER_NETWORK)) == [
            row for row in exported(full_store, ExportRequest(kind)) if row not in rows
        ], kind


def test_kind_without_networks_says_so(store: Store) -> None:
    with store.read() as connection, pytest.raises(InputError, match="belong to no network"):
        export(connection, ExportRequest(ExportKind.AUDIT, network_id=A_NETWORK))


def test_rows_come_in_batches_of_one_moment(full_store: Store) -> None:
    with full_store.read() as connection:
        _, batches = export(connection, ExportRequest(ExportKind.REJECTIONS))
        reject(full_store, 9, A_MOMENT)

        found = list(batches)

    assert [len(columns[0]) for columns in found] == [1]
