"""What fits a filter of rejections, and what does not for a single reason."""

from __future__ import annotations

import pytest

from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.rejections.reasons import ReasonKind, parse_reason
from dashboard.domain.rejections.search import HashRange, RejectionFilter
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_record,
    a_rejection,
    an_address,
    seconds,
)

MESSAGE = "Transaction line count for module ADD=600000 is above the limit 524288"
KIND = parse_reason(MESSAGE).kind
OTHER_KIND = next(kind for kind in ReasonKind if kind is not KIND)
SEEN = A_MOMENT + seconds(60)
REJECTION = a_rejection(
    record=a_record(reason_message=MESSAGE, timestamp=A_MOMENT), first_seen_at=SEEN
)
AFTER, BEFORE = seconds(1), -seconds(1)


@pytest.mark.parametrize(
    "wanted",
    [
        RejectionFilter(),
        RejectionFilter(A_NETWORK, RejectionStage.RPC, "ADD", KIND, an_address(), a_hash()),
        RejectionFilter(since=SEEN, until=SEEN, claimed_since=A_MOMENT, claimed_until=A_MOMENT),
        RejectionFilter(text="MODULE add=6"),
        RejectionFilter(network_ids=frozenset({A_NETWORK, ANOTHER_NETWORK})),
        RejectionFilter(tx_hashes=HashRange.parse(str(a_hash())[:10])),
        RejectionFilter(label="only the store knows labels"),
    ],
)
def test_rejection_that_agrees_in_all_that_is_asked_fits(wanted: RejectionFilter) -> None:
    assert wanted.fits(REJECTION)


@pytest.mark.parametrize(
    "wanted",
    [
        RejectionFilter(ANOTHER_NETWORK),
        RejectionFilter(tx_rejection_stage=RejectionStage.P2P),
        RejectionFilter(module="MUL"),
        RejectionFilter(module=""),
        RejectionFilter(reason_kind=OTHER_KIND),
        RejectionFilter(sender=an_address(9)),
        RejectionFilter(tx_hash=a_hash(9)),
        RejectionFilter(since=SEEN + AFTER),
        RejectionFilter(until=SEEN + BEFORE),
        RejectionFilter(claimed_since=A_MOMENT + AFTER),
        RejectionFilter(claimed_until=A_MOMENT + BEFORE),
        RejectionFilter(text="module mul"),
        RejectionFilter(network_ids=frozenset({ANOTHER_NETWORK})),
        RejectionFilter(tx_hashes=HashRange(a_hash(7), a_hash(9))),
    ],
)
def test_one_thing_that_differs_is_enough_not_to_fit(wanted: RejectionFilter) -> None:
    assert not wanted.fits(REJECTION)


def test_letters_beyond_ascii_are_told_apart_by_their_case() -> None:
    shouting = a_rejection(record=a_record(reason_message="ÄRGER \ud800"))

    assert RejectionFilter(text="Ärger \ud800").fits(shouting)
    assert not RejectionFilter(text="ärger").fits(shouting)
