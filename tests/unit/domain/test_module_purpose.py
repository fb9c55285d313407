"""What prover modules work on: of the modules that limits name, where a description is public."""

from __future__ import annotations

from dashboard.domain.rejections.reasons import purpose_of


def test_purpose_names_the_operations_that_take_lines() -> None:
    assert purpose_of("MOD") == "divisions and remainders (DIV, MOD, SDIV, SMOD)"


def test_module_without_a_public_description_has_no_purpose() -> None:
    assert purpose_of("MADE_UP") is None
