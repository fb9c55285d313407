"""What the sender of a rejected transaction is told to do."""

from __future__ import annotations

import pytest

from dashboard.domain.reason import parse_reason
from dashboard.domain.remedy import advise

MMU_OVER = "Transaction line count for module MMU=2163904 is above the limit 2097152"
RIPEMD = "Transaction line count for module PRECOMPILE_RIPEMD_BLOCKS=1 is above the limit 0"


@pytest.mark.parametrize(
    ("text", "first_step"),
    [
        (MMU_OVER, "Split the work"),
        ("TX_MODULE_LINE_COUNT_OVERFLOW(MMU)", "Split the work"),
        (RIPEMD, "Sending it again does not help: this network cannot prove PRECOMPILE_RIPEMD"),
        ("Module XYZ does not exist in the limits file.", "This points at the node"),
        ("<b>who knows</b>", "Read the reason as sent"),
    ],
)
def test_advice_begins_with_what_fits_the_reason(text: str, first_step: str) -> None:
    assert advise(parse_reason(text), 7)[0].startswith(first_step)


def test_advice_names_the_nonce_that_is_stuck() -> None:
    assert "nonce 18446744073709551614" in advise(parse_reason(MMU_OVER), 2**64 - 2)[1]


def test_advice_never_repeats_foreign_text() -> None:
    assert not any("who knows" in step for step in advise(parse_reason("<b>who knows</b>"), 7))
