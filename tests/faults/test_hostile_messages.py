"""Short runs: messages of all kinds are answered in good form."""

from __future__ import annotations

from pathlib import Path

from tests.faults.hostile_messages import HOSTILE_MESSAGES
from tests.faults.rows import play_short


def test_message_of_any_kind_is_answered_in_good_form(tmp_path: Path) -> None:
    play_short(HOSTILE_MESSAGES, tmp_path)
