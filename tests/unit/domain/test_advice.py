"""What the sender of a rejected transaction is told to do."""

from __future__ import annotations

import pytest

from dashboard.domain.rejections.reasons import ModuleLimits, advise, parse_reason
from dashboard.domain.tracking.verdict import FollowUp
from tests.builders import A_MOMENT

MMU_OVER = "Transaction line count for module MMU=2163904 is above the limit 2097152"
RIPEMD = "Transaction line count for module PRECOMPILE_RIPEMD_BLOCKS=1 is above the limit 0"


@pytest.mark.parametrize(
    ("text", "first_step"),
    [
        (MMU_OVER, "Split the work"),
        ("TX_MODULE_LINE_COUNT_OVERFLOW(MMU)", "Split the work"),
        (RIPEMD, "Sending it again does not help: this network cannot prove PRECOMPILE_RIPEMD"),
        ("Module XYZ does not exist in the limits file.", "This points at the node"),
        ("TX_MODULE_LINE_COUNT_OVERFLOW_CACHED(MMU)", "The node remembers this very transaction"),
        ("Gas price too low", "Sign it again with the same nonce and a higher fee"),
        ("<b>who knows</b>", "Read the reason as sent"),
    ],
)
def test_advice_begins_with_what_fits_the_reason(text: str, first_step: str) -> None:
    assert advise(parse_reason(text), 7)[0].startswith(first_step)


def test_advice_names_the_nonce_that_is_stuck() -> None:
    assert "nonce 18446744073709551614" in advise(parse_reason(MMU_OVER), 2**64 - 2)[1]


@pytest.mark.parametrize(
    ("next_nonce", "step"),
    [
        (None, "Which nonce the node expects next from this sender is not known here"),
        (
            7,
            "At 2026-11-20 12:00:00 UTC the node expected nonce 7 next from this sender, which is ",
        ),
        (
            5,
            "At 2026-11-20 12:00:00 UTC the node expected nonce 5 next from this sender, so an ",
        ),
        (8, "Nonce 7 of this sender is used by now"),
    ],
)
def test_advice_knows_whose_turn_it_is(next_nonce: int | None, step: str) -> None:
    end = FollowUp(A_MOMENT, next_nonce=next_nonce)

    assert advise(parse_reason(MMU_OVER), 7, end)[1].startswith(step)


def test_advice_without_a_word_of_the_node_claims_nothing_about_the_nonce() -> None:
    step = advise(parse_reason(MMU_OVER), 340)[1]

    assert step.startswith("Which nonce the node expects next from this sender is not known here")
    assert "If it is 340, the sender's later transactions wait for it" in step


def test_operation_that_a_table_shows_as_unsupported_is_told_to_be_avoided() -> None:
    table = ModuleLimits("own", "1", "own", {"RIP": 0})

    advice = advise(parse_reason("TX_MODULE_LINE_COUNT_OVERFLOW(RIP)", table), 7)

    assert advice[0].startswith("Sending it again does not help: this network cannot prove RIP.")


def test_advice_never_repeats_foreign_text() -> None:
    assert not any("who knows" in step for step in advise(parse_reason("<b>who knows</b>"), 7))
