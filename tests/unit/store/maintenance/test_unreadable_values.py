"""Values that have not the form of their column are told, and rebuilt where they can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.domain.people.access import Actor
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.errors import StoreError
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.maintenance.backup import back_up
from dashboard.store.maintenance.rebuild import rebuild
from dashboard.store.maintenance.restore import restore
from dashboard.store.maintenance.verify import verify
from dashboard.store.tracking.transactions import track_all
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_record
from tests.saved_record import save_record
from tests.unit.store.filled_store import live_in
from tests.unit.store.maintenance.test_rebuild import derived, see_fees, spoil

BY = Actor("operator", A_MOMENT)
OF_ANY = {
    "rejections.first_seen_at": "UPDATE rejections SET first_seen_at = 9223372036854775807",
    "fee_rollups.begins_at": "UPDATE fee_rollups SET begins_at = begins_at * 1000 WHERE level = 3",
    "tracked_hashes.tx_hash": "UPDATE tracked_hashes SET tx_hash = substr(tx_hash, 1, 3) "
    "WHERE tracked_id = (SELECT min(tracked_id) FROM tracked_hashes)",
}
OF_SQLITE = {
    "fee_rollups.total": "UPDATE fee_rollups SET total = 'much' WHERE level = 1",
    "rejections.overflows": "UPDATE rejections SET overflows = '{'",
    "installation.installation_id": "UPDATE installation SET installation_id = 'one'",
    "suggested_gas_fees.network_congestion": "UPDATE suggested_gas_fees "
    "SET network_congestion = 'little'",
}
COUNTED = {
    "tracked_labels.many": "INSERT INTO tracked_labels (label, many) VALUES ('ghost', 'some')",
    "rejection_days.day": "UPDATE rejection_days SET day = 'now'",
    "rejection_days.many": "UPDATE rejection_days SET many = 1.5",
}


@pytest.fixture
def lived(store: Store) -> Store:
    """Return a store with fees, a tracked hash under a label, and a rejection of it."""
    live_in(store)
    with store.write() as connection:
        see_fees(connection, 0)
        track_all(
            connection, [TrackRequest(a_hash(7), (A_NETWORK,), Remarks(label="case"))], A_MOMENT
        )
        save_record(connection, A_NETWORK, a_record(tx_hash=a_hash(7)), A_MOMENT)
    return store


def told_of(store: Store) -> list[tuple[str, bool]]:
    """Return the column that each finding names, and whether it can be rebuilt."""
    with store.read() as connection:
        found = list(verify(connection))
    return [(each.what.split()[2], each.is_rebuildable) for each in found]


def test_values_as_the_store_writes_them_have_the_form_of_their_columns(lived: Store) -> None:
    assert told_of(lived) == []


def test_values_that_cannot_be_read_are_named_and_left(lived: Store, database: str) -> None:
    wrong = OF_ANY | (OF_SQLITE if database == "sqlite" else {})
    spoil(lived, *wrong.values())

    assert rebuild(lived, BY).names == []
    assert sorted(told_of(lived)) == [(place, False) for place in sorted(wrong)]


def test_rejection_at_a_stage_that_nobody_knows_is_told(lived: Store) -> None:
    spoil(lived, "UPDATE rejections SET tx_rejection_stage = 'NOWHERE'")

    rebuild(lived, BY)

    with lived.read() as connection:
        (found,) = verify(connection)
    assert "rejections that differ from what was saved" in found.what


@pytest.mark.parametrize("database", ["sqlite"])
def test_counts_that_cannot_be_read_are_named_and_rebuilt(lived: Store) -> None:
    before = derived(lived)
    spoil(lived, *COUNTED.values())

    assert sorted(told_of(lived)) == [(place, True) for place in sorted(COUNTED)]
    assert rebuild(lived, BY).names
    assert told_of(lived) == []
    assert derived(lived) == before


@pytest.mark.parametrize("database", ["sqlite"])
def test_restore_rebuilds_unreadable_counters(lived: Store, url: str, tmp_path: Path) -> None:
    before = derived(lived)
    spoil(lived, *COUNTED.values())
    backup = back_up(lived, tmp_path / "backup.sqlite").path
    lived.close()

    restore(url, backup, BY, tmp_path)

    with open_store(url) as restored:
        assert told_of(restored) == []
        assert derived(restored) == before


@pytest.mark.parametrize("database", ["sqlite"])
def test_restore_refuses_what_cannot_be_read(lived: Store, url: str, tmp_path: Path) -> None:
    spoil(lived, OF_SQLITE["fee_rollups.total"])
    backup = back_up(lived, tmp_path / "backup.sqlite").path
    lived.close()

    with pytest.raises(StoreError, match=r"nothing was changed: .* of fee_rollups\.total"):
        restore(url, backup, BY, tmp_path)
