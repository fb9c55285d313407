"""What the store derives from its own data is verified against that, and rebuilt from it."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import zip_longest
from pathlib import Path

import pytest
from sqlalchemy import text

from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.people.access import Action, Actor
from dashboard.domain.quantity import Wei
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.fees.save import save_gas
from dashboard.store.maintenance.purge import apply_retention
from dashboard.store.maintenance.rebuild import Rebuilt, rebuild, wrong_derived
from dashboard.store.maintenance.verify import broken_references, verify
from dashboard.store.schema import tracked_hashes
from dashboard.store.tracking.transactions import track_all
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_record,
    a_suggestion,
    seconds,
    suggested_gas_fees,
)
from tests.databases import copied_store
from tests.one_by_one import audited
from tests.saved_record import save_record
from tests.unit.store.fake_machine import Machine
from tests.unit.store.filled_store import content_of, live_in

BY = Actor("operator", A_MOMENT)
DAYS_OF_FEES = 12


def found_in(store: Store) -> list[str]:
    """Return all that is wrong of what is derived."""
    with store.read() as connection:
        return [each.what for each in wrong_derived(connection)]


def spoil(store: Store, *statements: str) -> None:
    """Write past the store."""
    with store.write() as connection:
        for each in statements:
            changed = connection.execute(text(each)).rowcount
            assert changed, f"{each} changes nothing"


def forget(store: Store, before: Mapping[str, datetime]) -> None:
    """Forget as a worker does."""
    deque(apply_retention(store, before), maxlen=0)


def derived(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of what is derived, but for the numbers of cohorts."""
    of = content_of(store)
    named = [column.name for column in tracked_hashes.columns].index("cohort_id")
    members = defaultdict[object, list[object]](list)
    for row in of["tracked_hashes"]:
        members[row[named]].append(row[1])
    sizes: list[tuple[object, ...]] = [
        (row[2], sorted(map(repr, members[row[0]]))) for row in of["cohorts"]
    ]
    watched: list[tuple[object, ...]] = [
        (row[1], row[5], sorted(map(repr, members[row[0]]))) for row in of["watched_cohorts"]
    ]
    own = {name: of[name] for name in COUNTED}
    return {**own, "cohorts": sorted(sizes, key=repr), "watched_cohorts": sorted(watched, key=repr)}


def see_fees(connection: Connection, offset: int) -> None:
    """Keep all four series at some seconds after the moment."""
    fee = 1000 + offset % 977
    fees = suggested_gas_fees(estimated_base_fee=Wei(fee), medium=a_suggestion(fee + 1, fee))
    at = A_MOMENT + seconds(offset)
    seen = GasObservation(A_NETWORK, at, fees, base_fee_percentile=Wei(fee), busy_threshold=Wei(9))
    save_gas(connection, seen, block_time=seconds(2))


def live(url: str) -> None:
    """Fill a store with two days of fees, tracked hashes, and rejections of some of them."""
    with open_store(url, Machine().clock) as store:
        live_in(store)
        with store.write() as connection:
            for offset in (*range(0, 200, 20), *range(3600, 3700, 30), 90_000, 90_030, 300_000):
                see_fees(connection, offset)
            requests = [
                TrackRequest(a_hash(number), (A_NETWORK, ANOTHER_NETWORK))
                for number in range(100, 106)
            ]
            track_all(connection, requests, A_MOMENT)
            for number in range(2):
                at = A_MOMENT + timedelta(days=20 * number)
                save_record(connection, A_NETWORK, a_record(tx_hash=a_hash(100 + number)), at)


@pytest.fixture
def lived(database: str, tmp_path: Path) -> Iterator[Store]:
    """Yield a store in which everything happened."""
    with copied_store(database, tmp_path, live) as url, open_store(url) as store:
        yield store


COUNTED = {"rejection_days", "tracked_labels", "tracked_tags", "fee_rollups"}
COUNTERS = {
    "counter of a day": (
        "UPDATE rejection_days SET many = many + 3",
        r"counter of rejections of network \d+ of 20\d\d-\d\d-\d\d, .* at \w+, says 1?\d, ",
    ),
    "counter of a day that had none": (
        "INSERT INTO rejection_days VALUES (0, 'GHOST', 'over_limit', 'P2P', 1, 1)",
        r"naming GHOST at \w+, says 1, and 0 are stored",
    ),
    "lost counters": ("DELETE FROM rejection_days", r"says 0, and \d+ are stored"),
}
LABELS_AND_TAGS = {
    "labels": ("DELETE FROM tracked_labels", "hashes labelled .* are counted wrong"),
    "tags": (
        "INSERT INTO tracked_tags (tag, tracked_id) VALUES ('ghost', 1)",
        "hashes are not found by the tags that they have",
    ),
}
COHORTS = {
    "size of a cohort": (
        "UPDATE cohorts SET size = 77 WHERE size = 4",
        r"the cohort \d+ has 4 hashes, and its size says 77",
    ),
    "records that nobody holds": (
        "UPDATE watched_cohorts SET is_rejected = true",
        r"has 0x\w+ as rejected on the network \d+, and no record is stored",
    ),
    "known records": (
        "UPDATE cohorts SET is_rejected = true",
        "as rejected on any network, and no record",
    ),
    "unknown records": (
        "UPDATE cohorts SET is_rejected = false",
        "as not rejected on any network, and a record",
    ),
    "records that are held": (
        "UPDATE watched_cohorts SET is_rejected = false",
        r"has 0x\w+ as not rejected on the network \d+, and a record is stored",
    ),
    "poll group within one that is within another": (
        "UPDATE poll_groups SET within_id = 1 WHERE group_id = 2",
        "the poll group 1 is in 2, which is not asked",
    ),
}
ROLL_UPS = {
    "sum of a minute": (
        "UPDATE fee_rollups SET total = histogram WHERE level = 1",
        r"in the minute from 20.* on: recomputed, it differs in total",
    ),
    "count of an hour": (
        "UPDATE fee_rollups SET seen = seen + 1 WHERE level = 2",
        r"in the hour from .* differs in seen",
    ),
    "highest of a day": (
        "UPDATE fee_rollups SET highest = highest + 1 WHERE level = 3",
        r"in the day from .* differs in highest",
    ),
    "last value": ('UPDATE fee_rollups SET "last" = lowest', "differs in last"),
    "estimated": ("UPDATE fee_rollups SET estimated = 1 - estimated", "differs in estimated"),
    "median": ("UPDATE fee_rollups SET median = median + 1", "it differs in median"),
    "histogram": (
        "UPDATE fee_rollups SET histogram = (SELECT min(histogram) FROM fee_rollups)",
        "differs in .*histogram",
    ),
    "no histogram": ("UPDATE fee_rollups SET histogram = total", "differs in .*histogram"),
    "missing minutes": (
        "DELETE FROM fee_rollups WHERE level = 1 AND series = 2",
        r"medium_max_priority_fee of network \d+ in the minute from .*: it is missing",
    ),
    "missing day": (
        "DELETE FROM fee_rollups WHERE level = 3",
        "in the day from .*: it is missing",
    ),
    "all roll-ups": ("DELETE FROM fee_rollups", "in the hour from .*: it is missing"),
}
SPOILT = (COUNTERS, LABELS_AND_TAGS, COHORTS, ROLL_UPS)
"""By kind of what is derived; nothing of one kind is computed from another."""


def test_store_in_which_everything_happened_is_whole(lived: Store) -> None:
    with lived.read() as connection:
        assert list(verify(connection)) == []


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        (
            "UPDATE incidents SET next_at = NULL WHERE state = 'pending'",
            "incidents that are pending but have no time at which they fire: 1 (",
        ),
        (
            "UPDATE notification_members SET notification_id = NULL",
            "changes that were withheld from a recipient without a reason",
        ),
    ],
)
def test_incident_that_nobody_would_hear_of_is_found(
    store: Store, statement: str, complaint: str
) -> None:
    live_in(store)
    spoil(store, statement)

    with store.read() as connection:
        [found] = broken_references(connection)
    assert complaint in found.what


def test_derived_data_that_is_wrong_is_named_and_rebuilt(lived: Store) -> None:
    before = derived(lived)
    for one_of_each in zip_longest(*(kind.items() for kind in SPOILT)):
        spoilt = dict(filter(None, one_of_each))
        for statement, _ in spoilt.values():
            spoil(lived, statement)

        with lived.read() as connection:
            found = list(wrong_derived(connection))
        assert [each for each in found if each.is_rebuildable] == found, spoilt
        for what, (_, complaint) in spoilt.items():
            assert any(re.search(complaint, each.what) for each in found), (what, found)

        assert len(rebuild(lived, BY).names) == len(spoilt), spoilt
        assert found_in(lived) == [], spoilt
        assert derived(lived) == before, spoilt


def test_rebuilding_is_on_record_and_done_once(lived: Store) -> None:
    spoil(lived, "UPDATE cohorts SET size = 77", "DELETE FROM rejection_days")
    spoil(lived, "DELETE FROM fee_rollups WHERE level = 3")
    names = {"counters of rejections", "cohorts of tracked hashes", "roll-ups of fees"}

    first = rebuild(lived, BY)
    before = content_of(lived)
    second = rebuild(lived, BY)

    assert (set(first.names), first.left) == (names, 0)
    assert second == Rebuilt([], 0)
    assert content_of(lived) == before
    entries = audited(lived, Action.REBUILD)
    assert {(each.actor, each.subject) for each in entries} == {("operator", it) for it in names}


def test_cohort_without_hashes_is_found_and_deleted(lived: Store) -> None:
    spoil(
        lived,
        "INSERT INTO cohorts (cohort_id, tracked_at, size) VALUES (99, 0, 5)",
        "INSERT INTO watched_cohorts (cohort_id, network_id, watch_id, watched_at, born_at, "
        "is_rejected) VALUES (99, 1, 99, 0, 0, false)",
    )

    assert found_in(lived)[-1] == "the cohort 99 has 0 hashes, and its size says 5"
    rebuild(lived, BY)
    assert found_in(lived) == []


def test_hours_that_are_lost_cannot_be_rebuilt_without_minutes(lived: Store) -> None:
    spoil(lived, "DELETE FROM fee_rollups WHERE level <> 3")
    spoil(lived, "DELETE FROM suggested_gas_fees", "DELETE FROM estimated_base_fees")
    spoil(lived, "DELETE FROM fee_percentiles")

    with lived.read() as connection:
        found = list(wrong_derived(connection))

    assert {each.is_rebuildable for each in found} == {False}
    assert rebuild(lived, BY) == Rebuilt([], DAYS_OF_FEES)
    assert "hours of it are missing" in found[0].what
    assert "linewatch restore FILE" in found[0].remedy


@pytest.mark.parametrize(
    "kept", [{"fees": A_MOMENT + seconds(120)}, {"fees": A_MOMENT + timedelta(days=9)}]
)
def test_purged_fees_are_no_damage(lived: Store, kept: Mapping[str, datetime]) -> None:
    forget(lived, kept)
    assert found_in(lived) == []

    with lived.write() as connection:
        for offset in (7, 67, 3607, 5000, 90_001):
            see_fees(connection, offset)

    assert found_in(lived) == []


def test_purged_minutes_are_no_damage_and_late_values_neither(lived: Store) -> None:
    before = A_MOMENT + timedelta(hours=3)
    forget(lived, {"fees": before, "fee_minutes": before})
    with lived.write() as connection:
        for offset in (7, 67, 3607, 5000, 90_001):
            see_fees(connection, offset)

    assert found_in(lived) == []


@pytest.mark.parametrize("column", ["highest = lowest", "seen = seen + 4", "first_at = 0"])
def test_roll_up_whose_values_are_purged_has_to_agree_with_itself(
    lived: Store, column: str
) -> None:
    forget(lived, {"fees": A_MOMENT + timedelta(days=9)})
    spoil(lived, f"UPDATE fee_rollups SET {column}")  # noqa: S608 - columns of ours

    with lived.read() as connection:
        assert any(not each.is_rebuildable for each in wrong_derived(connection))


def test_minute_that_lost_its_percentiles_finds_them_in_its_histogram(lived: Store) -> None:
    forget(lived, {"fees": A_MOMENT + timedelta(days=9)})
    before = derived(lived)
    spoil(lived, "UPDATE fee_rollups SET p90 = 0, median = 1 WHERE level = 1")

    assert "its percentiles do not match its histogram" in found_in(lived)[0]
    rebuild(lived, BY)
    assert derived(lived) == before


def test_many_findings_of_one_kind_are_told_in_few_lines(lived: Store) -> None:
    spoil(lived, "DELETE FROM rejection_days", "DELETE FROM fee_rollups")

    found = found_in(lived)

    assert len(found) < 30
    assert re.match(
        r"roll-ups of fees that differ from what they are computed from: \d+ more", found[-1]
    )
