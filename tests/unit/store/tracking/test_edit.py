"""Looking after what is tracked: finding, correcting, removing."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from sqlalchemy import Connection, select

from dashboard.domain.health.observation import ExclusionAnswer, Failure, FailureKind
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.search import HashRange
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_csv import TrackResult
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.schema import tracked_labels, tracked_tags
from dashboard.store.tracking.cohorts import KnownHashes, mark_rejected, read_cohorts, watched_after
from dashboard.store.tracking.search import (
    RecordStatus,
    TrackedFilter,
    count_tracked,
    search_tracked,
)
from dashboard.store.tracking.transactions import (
    edit_tracked,
    track,
    track_all,
    tracked_among,
    untrack,
)
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, a_record, seconds
from tests.one_by_one import newest_tracked, read_evidence
from tests.saved_record import save_record


@pytest.fixture
def store(store: Store) -> Store:
    """Track one that was rejected, one that was answered, one that failed and one not asked."""
    labels = ("Case 17", "", "100% of C:\\", "")
    with store.write() as connection:
        for number, label in enumerate(labels, start=1):
            networks = (A_NETWORK,) if number == 4 else (A_NETWORK, ANOTHER_NETWORK)
            request = TrackRequest(
                a_hash(number), networks, Remarks(label=label, note=f"Note {number}")
            )
            track(connection, request, A_MOMENT + seconds(number))
        save_record(connection, A_NETWORK, a_record(), A_MOMENT)
        failure = Failure(FailureKind.UNAVAILABLE, "no answer")
        answers = [
            ExclusionAnswer(a_hash(1)),
            ExclusionAnswer(a_hash(2)),
            ExclusionAnswer(a_hash(3), failure=failure),
        ]
        record_lookup(connection, A_NETWORK, A_MOMENT, answers)
    return store


FOUND: tuple[tuple[TrackedFilter, list[int]], ...] = (
    (TrackedFilter(), [4, 3, 2, 1]),
    (TrackedFilter(record_status=RecordStatus.REJECTED), [1]),
    (TrackedFilter(record_status=RecordStatus.UNREPORTED), [2]),
    (TrackedFilter(record_status=RecordStatus.UNANSWERED), [4, 3]),
    (TrackedFilter(ANOTHER_NETWORK, RecordStatus.REJECTED), []),
    (TrackedFilter(ANOTHER_NETWORK, RecordStatus.UNANSWERED), [3, 2, 1]),
    (TrackedFilter(tx_hashes=HashRange.of(a_hash(2))), [2]),
    (TrackedFilter(search="case"), [1]),
    (TrackedFilter(search="NOTE 4"), [4]),
    (TrackedFilter(search="c:\\"), [3]),
    (TrackedFilter(search="%"), [3]),
    (TrackedFilter(A_NETWORK, RecordStatus.REJECTED, search="case"), [1]),
    (TrackedFilter(A_NETWORK, RecordStatus.UNANSWERED, search="note"), [4, 3]),
    (TrackedFilter(record_status=RecordStatus.UNREPORTED, search="case"), []),
    (TrackedFilter(tx_hashes=HashRange.of(a_hash(2)), search="case"), []),
)
"""What is searched for, and the numbers of the hashes that fit."""


def test_tracked_are_found_by_what_is_known_of_them(store: Store) -> None:
    for wanted, numbers in FOUND:
        with store.read() as connection:
            found = [number_of(each.tx_hash) for each in search_tracked(connection, wanted, 10)]
            assert (found, count_tracked(connection, wanted)) == (numbers, len(numbers)), wanted


def test_corrected_time_of_the_attempt_is_taken_up_again(store: Store) -> None:
    with store.write() as connection:
        last_seen = watched_after(connection, A_NETWORK, 0)[-1].cohort_id
        edit_tracked(connection, a_hash(3), Remarks(A_MOMENT, "Case 3", ""), A_MOMENT)
        edit_tracked(connection, a_hash(3), Remarks(A_MOMENT, "Case 3, again", ""), A_MOMENT)
        [taken_up] = watched_after(connection, ANOTHER_NETWORK, last_seen)
        [here] = watched_after(connection, A_NETWORK, last_seen)
        [cohort] = read_cohorts(connection, A_NETWORK, [here.cohort_id], KnownHashes())

    assert (taken_up.cohort_id, taken_up.born_at) == (here.cohort_id, A_MOMENT)
    assert ([*cohort.hashes], here.last_result.is_answered) == ([a_hash(3)], False)


def test_removed_hash_is_watched_nowhere_and_what_was_seen_of_it_stays(store: Store) -> None:
    with store.write() as connection:
        [seen] = read_evidence(connection, A_NETWORK, a_hash(1))
        assert untrack(connection, a_hash(1))
        assert not untrack(connection, a_hash(1))

    with store.read() as connection:
        assert not tracked_among(connection, [a_hash(1)])
        assert a_hash(1) not in hashes_asked(connection, A_NETWORK)
        assert read_evidence(connection, A_NETWORK, a_hash(1)) == [replace(seen, tracked_at=None)]


def test_hashes_that_are_asked_again_and_again_stay_in_memory_up_to_a_bound(store: Store) -> None:
    with store.read() as connection:
        ids = [each.cohort_id for each in watched_after(connection, A_NETWORK, 0)]
        for known, kept in (
            (KnownHashes(), len(ids)),
            (KnownHashes(most=1), 1),
            (KnownHashes(most_hashes=0), 0),
        ):
            twice = [read_cohorts(connection, A_NETWORK, ids, known) for _ in range(2)]
            pairs = zip(*twice, strict=True)
            assert sum(first.hashes is second.hashes for first, second in pairs) == kept

    assert len(ids) > 1


def hashes_asked(connection: Connection, network_id: NetworkId) -> set[TxHash]:
    ids = [each.cohort_id for each in watched_after(connection, network_id, 0)]
    return {
        each
        for cohort in read_cohorts(connection, network_id, ids, KnownHashes())
        for each in cohort.hashes
    }


def number_of(tx_hash: TxHash) -> int:
    return int.from_bytes(tx_hash, "big")


def test_record_that_is_noted_twice_tells_nothing_of_others(store: Store) -> None:
    hashes = [a_hash(number) for number in range(1001, 1601)]
    with store.write() as connection:
        wishes = [TrackRequest(each, (A_NETWORK,)) for each in hashes]
        track_all(connection, wishes, A_MOMENT)
        mark_rejected(connection, A_NETWORK, [*hashes[:500], *hashes[:100]])

        assert count_tracked(connection, TrackedFilter(record_status=RecordStatus.REJECTED)) == 501


def test_record_of_a_network_where_a_hash_is_not_watched_counts_without_a_network(
    store: Store,
) -> None:
    rejected = RecordStatus.REJECTED
    with store.write() as connection:
        save_record(connection, ANOTHER_NETWORK, a_record(tx_hash=a_hash(4)), A_MOMENT)

        found = search_tracked(connection, TrackedFilter(record_status=rejected), 10)
        assert [number_of(each.tx_hash) for each in found] == [4, 1]
        for network_id in (A_NETWORK, ANOTHER_NETWORK):
            of_network = search_tracked(connection, TrackedFilter(network_id, rejected), 10)
            assert a_hash(4) not in {each.tx_hash for each in of_network}


def test_each_page_goes_on_where_the_one_before_it_ended(store: Store) -> None:
    for wanted in (TrackedFilter(), TrackedFilter(search="note")):
        with store.read() as connection:
            pages = [search_tracked(connection, wanted, 3)]
            for _ in range(2):
                last = pages[-1][-1].tracked_id if pages[-1] else 0
                pages.append(search_tracked(connection, wanted, 3, last))

        numbers = [[number_of(each.tx_hash) for each in page] for page in pages]
        assert numbers == [[4, 3, 2], [1], []], wanted


def test_words_in_label_and_note_are_counted_once(store: Store) -> None:
    with store.write() as connection:
        edit_tracked(connection, a_hash(1), Remarks(None, "Case 17", "see case 4"), A_MOMENT)
        edit_tracked(connection, a_hash(2), Remarks(None, "", "see case 17"), A_MOMENT)

        for wanted in (TrackedFilter(search="case"), TrackedFilter(A_NETWORK, search="case")):
            assert count_tracked(connection, wanted) == 2
            assert len(search_tracked(connection, wanted, 10)) == 2


def test_labels_are_counted_as_they_come_and_go(store: Store) -> None:
    with store.write() as connection:
        edit_tracked(connection, a_hash(1), Remarks(None, "", "Case"), A_MOMENT)
        untrack(connection, a_hash(3))
        track(connection, TrackRequest(a_hash(2), (A_NETWORK,), Remarks(label="Case 18")), A_MOMENT)

        assert connection.execute(select(tracked_labels)).all() == [("Case 18", 1)]


def test_hashes_that_fail_alike_in_other_words_stay_together(store: Store) -> None:
    hashes = [a_hash(number) for number in range(2001, 2004)]
    with store.write() as connection:
        wishes = [TrackRequest(each, (A_NETWORK,)) for each in hashes]
        track_all(connection, wishes, A_MOMENT)
        failures = [Failure(FailureKind.UNAVAILABLE, words) for words in ("b", "a", "a")]
        told = zip(hashes, failures, strict=True)
        answers = [ExclusionAnswer(each, failure=failure) for each, failure in told]
        record_lookup(connection, A_NETWORK, A_MOMENT, answers)

        assert watched_after(connection, A_NETWORK, 0)[-1].size == 3
        [known] = read_evidence(connection, A_NETWORK, hashes[0])
        assert known.failure == Failure(FailureKind.UNAVAILABLE, "a")


def test_case_owner_and_tags_are_kept_and_filled_in(store: Store) -> None:
    wish = TrackRequest(
        a_hash(1), (A_NETWORK,), Remarks(note="say #VIP", case_id="C-1", owner="Ada", tags="#bot")
    )
    with store.write() as connection:
        assert track_all(connection, [wish, wish], A_MOMENT) == [
            TrackResult.FILLED_IN,
            TrackResult.KNOWN,
        ]
        other = replace(wish, remarks=Remarks(case_id="C-2", owner="Ada", tags="#late"))
        assert track_all(connection, [other], A_MOMENT) == [TrackResult.FILLED_IN]
        known = {each.tx_hash: each for each in newest_tracked(connection, 9)}[a_hash(1)]

        said = known.remarks
        assert (said.case_id, said.owner, said.tags) == ("C-1", "Ada", "#bot #late")
        assert tags_of(connection) == {("bot", known.tracked_id), ("late", known.tracked_id)}


def test_hash_is_found_by_the_tags_that_it_has_now(store: Store) -> None:
    with store.write() as connection:
        new = TrackRequest(a_hash(7), (A_NETWORK,), Remarks(label="#a", note="#b", tags="#c #a"))
        track(connection, new, A_MOMENT)
        [latest] = newest_tracked(connection, 1)
        assert latest.remarks.tags == "#a #b #c"
        assert {tag for tag, _ in tags_of(connection)} == {"a", "b", "c"}
        edit_tracked(
            connection, a_hash(7), Remarks(None, "#a", "", owner="Bob", tags="#d"), A_MOMENT
        )
        assert {tag for tag, _ in tags_of(connection)} == {"a", "d"}
        untrack(connection, a_hash(7))
        assert tags_of(connection) == set()


def tags_of(connection: Connection) -> set[tuple[str, int]]:
    return {(row.tag, row.tracked_id) for row in connection.execute(select(tracked_tags))}
