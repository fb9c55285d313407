"""Texts that commands read end in time, whatever a person names."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest

from dashboard.cli.installation import octets_of, text_of
from dashboard.errors import InputError
from dashboard.settings.layers import Unreadable, read_file

ENDLESS = Path("/dev/zero")


def test_text_is_read_up_to_just_past_its_limit() -> None:
    file = BytesIO(b"x" * 1_000)

    with pytest.raises(InputError, match="the text has more than 10 characters: give at most 10"):
        octets_of(file, 10)

    assert file.tell() == 41  # a character has at most four bytes


def test_text_of_as_many_characters_as_the_limit_is_taken_in_any_encoding() -> None:
    for encoding in ("utf-8", "utf-16"):
        assert octets_of(BytesIO("😀😀".encode(encoding)), 3) == "😀😀".encode(encoding)


def test_file_that_never_ends_is_refused() -> None:
    with pytest.raises(InputError, match=r"/dev/zero cannot be read: .* more than 4,000,000 c"):
        text_of(ENDLESS)
    with pytest.raises(Unreadable, match="cannot be read: it has more than 4,000,000 characters"):
        read_file(ENDLESS)
