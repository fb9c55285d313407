"""Follow-up: what a node's answer makes of what was held of a transaction's end."""

from __future__ import annotations

from typing import Final

import pytest
from msgspec.structs import replace

from dashboard.domain.tracking.inclusion import (
    SETTLES_AFTER,
    FollowUp,
    Inclusion,
    InclusionAnswer,
    conclude_follow_up,
)
from tests.builders import A_MOMENT, a_hash, seconds

NONCE: Final = 5
IN_BLOCK: Final = InclusionAnswer(a_hash(), Inclusion(7, bytes(32)))
NOTHING: Final = InclusionAnswer(a_hash(), next_nonce=NONCE)
USED: Final = InclusionAnswer(a_hash(), next_nonce=NONCE + 1)
LATER: Final = A_MOMENT + seconds(60)


def after(*answers: InclusionAnswer, nonce: int | None = NONCE) -> FollowUp:
    """Conclude from answers that came a minute apart."""
    held: FollowUp | None = None
    for place, answer in enumerate(answers):
        held = conclude_follow_up(held, answer, nonce, A_MOMENT + place * seconds(60))
    assert held is not None
    return held


def test_receipt_is_remembered_with_the_time_it_was_first_seen() -> None:
    held = after(IN_BLOCK, IN_BLOCK)

    assert (held.inclusion, held.included_since) == (IN_BLOCK.inclusion, A_MOMENT)
    assert held.answered_at == LATER


def test_receipt_that_vanished_leaves_nothing() -> None:
    assert after(IN_BLOCK, NOTHING) == FollowUp(LATER, next_nonce=NONCE)


def test_receipt_of_another_block_begins_anew() -> None:
    elsewhere = replace(IN_BLOCK, inclusion=Inclusion(8, bytes(32)))

    assert after(IN_BLOCK, elsewhere).included_since == LATER


def test_nonce_that_was_used_is_believed_at_the_second_look() -> None:
    assert not after(USED).is_replaced
    assert after(USED, USED).is_replaced
    assert after(USED, USED).replaced_since == A_MOMENT


def test_nonce_used_by_this_very_transaction_replaces_nothing() -> None:
    held = after(replace(IN_BLOCK, next_nonce=NONCE + 1))

    assert held.replaced_since is None


def test_receipt_that_came_after_all_ends_the_suspicion() -> None:
    held = after(USED, IN_BLOCK)

    assert (held.replaced_since, held.included_since) == (None, LATER)


@pytest.mark.parametrize("answer", [NOTHING, replace(USED, next_nonce=None)])
def test_nonce_that_is_next_or_unknown_replaces_nothing(answer: InclusionAnswer) -> None:
    assert after(answer, answer) == FollowUp(LATER, next_nonce=answer.next_nonce)


def test_nonce_of_an_unknown_record_replaces_nothing() -> None:
    assert not after(USED, USED, nonce=None).is_replaced


@pytest.mark.parametrize("answer", [IN_BLOCK, USED])
def test_end_settles_when_it_has_stood_long_enough(answer: InclusionAnswer) -> None:
    held = conclude_follow_up(None, answer, NONCE, A_MOMENT)
    end = A_MOMENT + SETTLES_AFTER

    assert conclude_follow_up(held, answer, NONCE, end - seconds(1)).settled_at is None
    assert conclude_follow_up(held, answer, NONCE, end).settled_at == end


def test_settled_inclusion_outlives_a_receipt_that_the_node_pruned() -> None:
    held = conclude_follow_up(None, IN_BLOCK, NONCE, A_MOMENT)
    settled = conclude_follow_up(held, IN_BLOCK, NONCE, A_MOMENT + SETTLES_AFTER)
    weeks_later = A_MOMENT + seconds(1_000_000)

    assert conclude_follow_up(settled, USED, NONCE, weeks_later) == settled
    assert conclude_follow_up(settled, NOTHING, NONCE, weeks_later) == settled


def test_settled_replacement_gives_way_to_a_receipt_and_to_nothing() -> None:
    held = conclude_follow_up(None, USED, NONCE, A_MOMENT)
    end = A_MOMENT + SETTLES_AFTER
    settled = conclude_follow_up(held, USED, NONCE, end)

    assert conclude_follow_up(settled, IN_BLOCK, NONCE, end).included_since == end
    assert conclude_follow_up(settled, NOTHING, NONCE, end).settled_at is None


def test_transaction_that_still_waits_never_settles() -> None:
    held = conclude_follow_up(None, NOTHING, NONCE, A_MOMENT)

    assert conclude_follow_up(held, NOTHING, NONCE, A_MOMENT + 9 * SETTLES_AFTER).settled_at is None
