"""A rebuild may end at any commit: each part is old or new, and the same again completes."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from typing import TypeAlias

import pytest
from sqlalchemy import func, select, text

from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.people.access import Action, Actor
from dashboard.domain.quantity import Wei
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.errors import StoreUnavailable
from dashboard.store.engine.engine import Store
from dashboard.store.fees.save import save_gas
from dashboard.store.maintenance.rebuild import Rebuilt, rebuild
from dashboard.store.maintenance.verify import verify
from dashboard.store.schema import audit_log
from dashboard.store.tracking.transactions import track_all
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_record, seconds
from tests.flaky_store import FlakyStore
from tests.saved_record import save_record
from tests.unit.store.filled_store import content_of
from tests.unit.store.maintenance.test_rebuild import COUNTED, derived, spoil

BY = Actor("operator", A_MOMENT)
LATER = timedelta(days=10)
"""Beyond the days of a series that one transaction rebuilds."""

DAMAGE = (
    "UPDATE rejection_days SET many = many + 3",
    "DELETE FROM tracked_labels",
    "UPDATE cohorts SET size = 77",
    "UPDATE watched_cohorts SET is_rejected = true",
    "UPDATE fee_rollups SET median = median + 1 WHERE level = 1",
    "DELETE FROM fee_rollups WHERE level = 3",
)
"""Several statements for most parts, so that one half of a part could be new without the other."""

Parts: TypeAlias = dict[str, list[object]]
"""The rows of what one transaction rebuilds, by its name."""


@pytest.fixture
def lived(store: Store) -> Store:
    """Return a store with tracked hashes, a rejection of one, and one series of fees."""
    with store.write() as connection:
        for offset in (0, 20, 3600):
            for at in (A_MOMENT, A_MOMENT + LATER):
                seen = GasObservation(
                    A_NETWORK, at + seconds(offset), base_fee_percentile=Wei(1000 + offset)
                )
                save_gas(connection, seen, block_time=seconds(2))
        requests = [
            TrackRequest(a_hash(each), (A_NETWORK,), Remarks(label="vault")) for each in range(4)
        ]
        track_all(connection, requests, A_MOMENT)
        save_record(connection, A_NETWORK, a_record(tx_hash=a_hash(0)), A_MOMENT)
    return store


def parts_of(store: Store) -> Parts:
    """Return what each transaction of a rebuild replaces."""
    of = derived(store)
    parts = defaultdict[str, list[object]](list)
    parts["counters"] = [of[name] for name in sorted(COUNTED - {"tracked_labels", "fee_rollups"})]
    parts["labels"] = [of["tracked_labels"]]
    parts["cohorts"] = [of["cohorts"], of["watched_cohorts"]]
    later = (A_MOMENT + LATER / 2).timestamp() * 1000
    with store.read() as connection:
        query = "SELECT * FROM fee_rollups ORDER BY network_id, series, level, begins_at"
        for row in connection.execute(text(query)):
            when = "later" if row.begins_at > later else "first"
            parts[f"{when} days of series {row.series} of network {row.network_id}"].append(row)
    return dict(parts)


def rebuilds_on_record(store: Store) -> int:
    """Count the entries of rebuilds in the audit log."""
    query = select(func.count()).where(audit_log.c.action == Action.REBUILD)
    with store.read() as connection:
        return connection.scalar(query) or 0


def test_rebuild_that_ends_before_any_commit_leaves_each_part_old_or_new_and_completes_again(
    lived: Store,
) -> None:
    whole, flaky = parts_of(lived), FlakyStore(lived)
    assert len(whole) == 5
    for commits in range(len(whole)):
        spoil(lived, *DAMAGE)
        old, on_record = parts_of(lived), rebuilds_on_record(lived)
        assert [name for name in whole if old[name] == whole[name]] == []

        flaky.fail_after(commits)
        with pytest.raises(StoreUnavailable):
            rebuild(flaky, BY)

        found = parts_of(lived)
        new = [name for name in whole if found[name] == whole[name]]
        assert len(new) == commits
        assert [name for name in whole if name not in new and found[name] != old[name]] == []
        assert rebuilds_on_record(lived) == on_record + commits
        rebuild(lived, BY)
        assert parts_of(lived) == whole

    with lived.read() as connection:
        assert list(verify(connection)) == []
    content = content_of(lived)
    assert rebuild(lived, BY) == Rebuilt([], 0)
    assert content_of(lived) == content
