"""Short runs: messages of all kinds are answered in good form."""

from __future__ import annotations

from pathlib import Path

from tests.faults.hostile_gas import HOSTILE_GAS_QUESTIONS
from tests.faults.hostile_messages import HOSTILE_BYTES, HOSTILE_MESSAGES
from tests.faults.rows import play_short


def test_message_of_any_kind_is_answered_in_good_form(tmp_path: Path) -> None:
    play_short(HOSTILE_MESSAGES, tmp_path)


def test_bytes_of_any_kind_are_read_as_others_read_them_or_refused(tmp_path: Path) -> None:
    play_short(HOSTILE_BYTES, tmp_path)


def test_gas_api_is_as_its_document_says_whatever_is_asked(tmp_path: Path) -> None:
    play_short(HOSTILE_GAS_QUESTIONS, tmp_path)
