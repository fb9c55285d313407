"""What needs attention, what belongs together, and changes of many at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import Connection

from dashboard.domain.health.observation import ExclusionAnswer, Failure, FailureKind
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import TxHash
from dashboard.domain.tracking.inclusion import Inclusion, InclusionAnswer, InclusionQuestion
from dashboard.domain.tracking.remarks import MOST_TAGS, Remarks, written_tags
from dashboard.domain.tracking.track_csv import TrackResult
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.domain.tracking.verdict import ENDS_WITHIN, UNANSWERED_AFTER, WATCHED_FOR, Need
from dashboard.errors import InputError
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.tracking.follow_ups import record_inclusion_answers
from dashboard.store.tracking.groups import (
    BulkChange,
    GroupedBy,
    NeedNow,
    TrackedGroup,
    change_all,
    count_needing,
    groups_of,
    ids_needing,
    untrack_all,
)
from dashboard.store.tracking.saved import (
    MOST_SAVED,
    read_saved_filters,
    remove_filter,
    save_filter,
)
from dashboard.store.tracking.search import (
    RecordStatus,
    TrackedFilter,
    count_tracked,
    count_up_to,
    matching_hashes,
    search_tracked,
)
from dashboard.store.tracking.transactions import track, track_all
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, a_record, seconds
from tests.one_by_one import newest_tracked
from tests.saved_record import save_record

ADA = Actor("Ada", A_MOMENT)
FAILURE = Failure(FailureKind.UNAVAILABLE, "no answer")
BOTH = (A_NETWORK, ANOTHER_NETWORK)


def needing(connection: Connection, need: Need, after: timedelta) -> list[int]:
    """Return the numbers of the hashes that need attention so long after they were tracked."""
    wanted = TrackedFilter(need=NeedNow(need, A_MOMENT + after))
    found = [int.from_bytes(each.tx_hash, "big") for each in search_tracked(connection, wanted, 9)]
    ids = ids_needing(connection, NeedNow(need, A_MOMENT + after), None, 9)
    assert len(ids) == count_needing(connection, NeedNow(need, A_MOMENT + after), None)
    assert count_tracked(connection, wanted) == count_up_to(connection, wanted, 9) == len(ids)
    assert len(found) == len(ids)
    return sorted(found)


def include(connection: Connection, tx_hash: TxHash) -> None:
    inclusion = Inclusion(7, bytes(32), is_successful=True)
    answer = InclusionAnswer(tx_hash, inclusion, next_nonce=5)
    question = InclusionQuestion(tx_hash)
    record_inclusion_answers(connection, A_NETWORK, A_MOMENT, [(question, answer)])


def test_rejected_silent_and_ending_ones_need_attention(store: Store) -> None:
    with store.write() as connection:
        for number in range(1, 7):
            track(connection, TrackRequest(a_hash(number), BOTH), A_MOMENT)
        for number in (1, 2):
            save_record(connection, A_NETWORK, a_record(tx_hash=a_hash(number)), A_MOMENT)
        for network_id in BOTH:
            answers = [ExclusionAnswer(a_hash(number)) for number in range(1, 6)]
            record_lookup(connection, network_id, A_MOMENT, answers)
        failed = [ExclusionAnswer(a_hash(3), failure=FAILURE)]
        record_lookup(connection, A_NETWORK, A_MOMENT, failed)
        include(connection, a_hash(2))
        include(connection, a_hash(5))

        soon = WATCHED_FOR - ENDS_WITHIN
        assert needing(connection, Need.REJECTED, seconds(1)) == [1]
        assert needing(connection, Need.UNANSWERED, UNANSWERED_AFTER - seconds(1)) == []
        assert needing(connection, Need.UNANSWERED, UNANSWERED_AFTER) == [3, 6]
        assert needing(connection, Need.ENDING, soon - seconds(1)) == []
        assert needing(connection, Need.ENDING, soon) == [3, 4, 6]
        for need in Need:
            assert needing(connection, need, WATCHED_FOR) == []
        elsewhere = NeedNow(Need.REJECTED, A_MOMENT)
        assert count_needing(connection, elsewhere, ANOTHER_NETWORK) == 0
        assert count_needing(connection, elsewhere, A_NETWORK) == 1


def test_rejected_one_needs_a_person_until_its_nonce_is_seen_used_twice(store: Store) -> None:
    with store.write() as connection:
        track(connection, TrackRequest(a_hash(1), BOTH), A_MOMENT)
        save_record(connection, A_NETWORK, a_record(tx_hash=a_hash(1)), A_MOMENT)
        used = (InclusionQuestion(a_hash(1), nonce=4), InclusionAnswer(a_hash(1), next_nonce=5))
        needed = []
        for look in range(2):
            record_inclusion_answers(connection, A_NETWORK, A_MOMENT + seconds(look), [used])
            needed.append(needing(connection, Need.REJECTED, seconds(9)))

    assert needed == [[1], []]


@pytest.fixture
def teams(store: Store) -> Store:
    """Track twelve hashes of two owners, three cases, four labels and two tags."""
    with store.write() as connection:
        requests = [
            TrackRequest(
                a_hash(number),
                (A_NETWORK,),
                Remarks(
                    label=f"label {number % 4}",
                    case_id=f"C-{number % 3}",
                    owner="Ada" if number % 2 else "",
                    tags="#vip" if number < 5 else "#bot #vip",
                ),
            )
            for number in range(12)
        ]
        track_all(connection, requests, A_MOMENT)
        save_record(connection, A_NETWORK, a_record(tx_hash=a_hash(1)), A_MOMENT)
    return store


FOUND: tuple[tuple[TrackedFilter, list[int]], ...] = (
    (TrackedFilter(owner="Ada"), [1, 3, 5, 7, 9, 11]),
    (TrackedFilter(owner="ada"), []),
    (TrackedFilter(case_id="C-1"), [1, 4, 7, 10]),
    (TrackedFilter(label="label 1", case_id="C-1"), [1]),
    (TrackedFilter(tag="bot"), [5, 6, 7, 8, 9, 10, 11]),
    (TrackedFilter(tag="bot", owner="Ada", search="label 3"), [7, 11]),
    (TrackedFilter(A_NETWORK, RecordStatus.REJECTED, owner="Ada"), [1]),
    (TrackedFilter(ANOTHER_NETWORK, owner="Ada"), []),
)


def test_transactions_are_found_by_whose_they_are(teams: Store) -> None:
    for wanted, numbers in FOUND:
        with teams.read() as connection:
            hashes = matching_hashes(connection, wanted, 99)
            assert count_tracked(connection, wanted) == len(numbers), wanted
        assert sorted(int.from_bytes(each, "big") for each in hashes) == numbers, wanted


def test_groups_come_by_name_with_their_numbers(teams: Store) -> None:
    with teams.read() as connection:
        cases = groups_of(connection, GroupedBy.CASE_ID, "", 9)
        assert cases == [TrackedGroup(f"C-{each}", 4) for each in range(3)]
        assert groups_of(connection, GroupedBy.CASE_ID, "C-0", 1) == cases[1:2]
        assert groups_of(connection, GroupedBy.CASE_ID, "C-2", 9) == []
        assert groups_of(connection, GroupedBy.OWNER, "", 9) == [TrackedGroup("Ada", 6)]
        tags = groups_of(connection, GroupedBy.TAG, "", 9)
        assert tags == [TrackedGroup("bot", 7), TrackedGroup("vip", 12)]
        assert len(groups_of(connection, GroupedBy.LABEL, "", 9)) == 4


def test_many_are_changed_at_once_and_what_is_left_open_stays(teams: Store) -> None:
    change = BulkChange(
        note="see #Night", owner="", with_tags=frozenset({"new"}), without_tags=frozenset({"vip"})
    )
    with teams.write() as connection:
        hashes = [a_hash(each) for each in (1, 6, 99)]
        changed = change_all(connection, hashes, change)
        assert len(changed) == 2
        assert change_all(connection, hashes, change) == []
        known = {each.tx_hash: each.remarks for each in newest_tracked(connection, 99)}
        one, six = known[a_hash(1)], known[a_hash(6)]
        assert (one.label, one.note, one.owner, one.tags) == (
            *("label 1", "see #Night", ""),
            "#new #night",
        )
        assert (six.tags, six.case_id) == ("#bot #new #night", "C-0")
        assert count_tracked(connection, TrackedFilter(tag="new")) == 2
        assert count_tracked(connection, TrackedFilter(tag="vip")) == 10

        assert untrack_all(connection, hashes) == 2
        assert count_tracked(connection, TrackedFilter()) == 10


def test_tag_of_a_label_goes_with_it(teams: Store) -> None:
    with teams.write() as connection:
        change_all(connection, [a_hash(1)], BulkChange(label="late #night"))
        [changed] = change_all(connection, [a_hash(1)], BulkChange(label="late"))

        assert (changed.before.tags, changed.after.tags) == ("#night #vip", "#vip")


def test_tags_of_one_transaction_are_bounded_and_nothing_is_changed_beyond(teams: Store) -> None:
    many = frozenset(f"t{number}" for number in range(MOST_TAGS))
    with teams.write() as connection:
        change_all(connection, [a_hash(1)], BulkChange(without_tags=frozenset({"vip"})))
        change_all(connection, [a_hash(1)], BulkChange(with_tags=many))
        with pytest.raises(InputError, match=f"{a_hash(1)} would have 301 tags, of 300 at most"):
            change_all(connection, [a_hash(1), a_hash(6)], BulkChange(note="see #more"))
        request = TrackRequest(a_hash(1), (A_NETWORK,), Remarks(case_id="17", tags="#more"))
        assert track_all(connection, [request] * 2, A_MOMENT) == [TrackResult.WITHOUT_TAGS] * 2

        known = {each.tx_hash: each.remarks for each in newest_tracked(connection, 99)}
        assert (known[a_hash(1)].tags, known[a_hash(6)].note) == (written_tags(many), "")


def test_filters_are_kept_by_name(store: Store) -> None:
    with store.write() as connection:
        save_filter(connection, "b", {"owner": "Ada"}, ADA)
        save_filter(connection, "a", {"tag": "vip"}, ADA)
        save_filter(connection, "b", {"owner": "Bob"}, ADA)
        found = read_saved_filters(connection)
        assert [(each.name, dict(each.parameters)) for each in found] == [
            ("a", {"tag": "vip"}),
            ("b", {"owner": "Bob"}),
        ]
        assert remove_filter(connection, "a")
        assert not remove_filter(connection, "a")
        for number in range(MOST_SAVED - 1):
            save_filter(connection, f"c{number}", {}, ADA)
        save_filter(connection, "b", {}, ADA)
        with pytest.raises(InputError, match="remove one that nobody needs"):
            save_filter(connection, "z", {}, ADA)
