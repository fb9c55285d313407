"""Pages of long lists of what is tracked, whatever is looked for and however many are skipped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection, select

from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.engine.engine import Store
from dashboard.store.schema import tracked_hashes
from dashboard.store.tracking.cohorts import mark_included, mark_rejected
from dashboard.store.tracking.search import (
    RecordStatus,
    TrackedFilter,
    count_by_age,
    count_follow_ups_by_age,
    count_tracked,
    search_tracked,
)
from dashboard.store.tracking.transactions import track, track_all
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, a_report
from tests.one_by_one import save_report

MANY = 7000
"""More than are looked at one by one."""


def is_labelled(number: int) -> bool:
    return number % 7 == 0


def has_case(number: int) -> bool:
    return number % 31 == 0


def is_rejected(number: int) -> bool:
    return number % 500 == 100


FITTING: tuple[tuple[TrackedFilter, Callable[[int], bool]], ...] = (
    (TrackedFilter(), lambda _: True),
    (TrackedFilter(A_NETWORK), lambda _: True),
    (TrackedFilter(search="TEAM"), is_labelled),
    (TrackedFilter(record_status=RecordStatus.REJECTED), is_rejected),
    (
        TrackedFilter(record_status=RecordStatus.UNANSWERED),
        lambda number: not is_rejected(number),
    ),
    (TrackedFilter(record_status=RecordStatus.UNREPORTED), lambda _: False),
    (TrackedFilter(search="zd-17"), has_case),
    (
        TrackedFilter(record_status=RecordStatus.REJECTED, search="ZD-17"),
        lambda number: is_rejected(number) and has_case(number),
    ),
    (
        TrackedFilter(record_status=RecordStatus.REJECTED, search="team"),
        lambda number: is_rejected(number) and is_labelled(number),
    ),
    (
        TrackedFilter(record_status=RecordStatus.UNANSWERED, search="team"),
        lambda number: is_labelled(number) and not is_rejected(number),
    ),
)
"""What is looked for, and which numbers fit."""


def test_every_page_of_a_long_list_is_found(store: Store) -> None:
    with store.write() as connection:
        wishes = [
            TrackRequest(
                a_hash(number),
                (A_NETWORK,),
                Remarks(
                    label="team 1" if is_labelled(number) else "",
                    note="of ZD-1742" if number % 62 == 0 else "",
                    case_id="ZD-1742" if has_case(number) else "",
                ),
            )
            for number in range(MANY)
        ]
        track_all(connection, wishes, A_MOMENT)
        hashes = [a_hash(number) for number in filter(is_rejected, range(MANY))]
        mark_rejected(connection, A_NETWORK, hashes)
        for wanted, fits in FITTING:
            # They are tracked in the order of falling hashes.
            check_pages(connection, wanted, list(filter(fits, range(MANY))))


def check_pages(connection: Connection, wanted: TrackedFilter, expected: Sequence[int]) -> None:
    """See that pages far and near hold what is expected."""
    assert count_tracked(connection, wanted) == len(expected), wanted
    ids = ids_of(connection, expected)
    for skipped in {0, 5, 40, len(expected) // 2, max(0, len(expected) - 3), len(expected)}:
        before = ids[min(skipped, len(expected)) - 1] if expected and skipped else None
        found = search_tracked(connection, wanted, 25, before)
        numbers = [int.from_bytes(each.tx_hash, "big") for each in found]
        assert numbers == expected[skipped : skipped + 25], wanted


def ids_of(connection: Connection, numbers: Sequence[int]) -> list[int]:
    """Return the ids of the hashes with these numbers, which fall with them."""
    column = tracked_hashes.c
    known = {
        row.tx_hash: row.tracked_id
        for row in connection.execute(select(column.tx_hash, column.tracked_id))
    }
    return [known[a_hash(number)] for number in numbers]


def test_report_of_a_tracked_hash_is_found_as_a_rejection_of_its_network(store: Store) -> None:
    rejected = RecordStatus.REJECTED
    with store.write() as connection:
        for number in (1, 2):
            request = TrackRequest(a_hash(number), (A_NETWORK, ANOTHER_NETWORK))
            track(connection, request, A_MOMENT)
        save_report(connection, a_report(), A_NETWORK, A_MOMENT)

        for network_id, expected in ((None, [1]), (A_NETWORK, [1]), (ANOTHER_NETWORK, [])):
            check_pages(connection, TrackedFilter(network_id, rejected), expected)


def test_what_no_database_keeps_fits_nothing(store: Store) -> None:
    text = "a\0b"
    with store.read() as connection:
        for wanted in (
            TrackedFilter(search=text),
            TrackedFilter(label=text),
            TrackedFilter(case_id=text),
            TrackedFilter(tag=text),
        ):
            assert search_tracked(connection, wanted, 5) == [], wanted


def test_what_is_watched_is_counted_by_network_age_record_and_block(store: Store) -> None:
    def request(number: int, ago: timedelta | None) -> TrackRequest:
        attempted: datetime | None = None if ago is None else A_MOMENT - ago
        return TrackRequest(a_hash(number), (A_NETWORK, ANOTHER_NETWORK), Remarks(attempted))

    day = timedelta(days=1)
    with store.write() as connection:
        requests = [request(1, None), request(2, None), request(3, 2 * day), request(4, 9 * day)]
        track_all(connection, requests, A_MOMENT)
        mark_rejected(connection, A_NETWORK, [a_hash(2)])
        for number, seconds in ((5, 10), (6, 20)):
            track(connection, request(number, None), A_MOMENT)
            at = A_MOMENT + timedelta(seconds=seconds)
            mark_included(connection, A_NETWORK, [a_hash(number)], at)
        found = count_by_age(connection, A_MOMENT - 7 * day)
        followed = count_follow_ups_by_age(connection, A_MOMENT - 7 * day)

    ours = {
        (each.is_rejected, each.born_at, each.included_after): each.many
        for each in found
        if each.network_id == A_NETWORK
    }
    assert ours == {
        (False, A_MOMENT, None): 1,
        (False, A_MOMENT, timedelta(seconds=15)): 2,
        (True, A_MOMENT, None): 1,
        (False, A_MOMENT - 2 * day, None): 1,
    }
    assert {
        (each.is_rejected, each.born_at, each.included_after): each.many
        for each in followed
        if each.network_id == A_NETWORK
    } == {
        (False, A_MOMENT, None): 3,  # whenever they were sent
        (False, A_MOMENT, timedelta(seconds=15)): 2,
        (True, A_MOMENT, None): 1,
    }
