"""Short runs: hostile messages, bytes and questions, a storm of fees, and a faulty upstream."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import hostile_gas, hostile_messages, upstream_faults
from tests.faults.rows import Row, play_short


@pytest.mark.parametrize(
    "row",
    [
        hostile_messages.HOSTILE_MESSAGES,
        hostile_messages.HOSTILE_BYTES,
        hostile_gas.HOSTILE_GAS_QUESTIONS,
        hostile_gas.GAS_STORM,
    ],
    ids=lambda row: row.name,
)
def test_whatever_is_asked_is_answered_in_good_form(row: Row, tmp_path: Path) -> None:
    play_short(row, tmp_path)


def test_faulty_upstream_makes_no_false_verdict(tmp_path: Path) -> None:
    play_short(upstream_faults.FAULTY_UPSTREAM, tmp_path)
