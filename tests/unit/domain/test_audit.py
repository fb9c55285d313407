"""Names of those who act: as they give them, in one line."""

from __future__ import annotations

import pytest

from dashboard.domain.people.access import parse_name
from dashboard.errors import InputError


def test_name_is_taken_as_it_is_given_with_its_blanks_joined() -> None:
    assert parse_name("  Ada \n Lovelace ") == "Ada Lovelace"


@pytest.mark.parametrize(
    ("text", "said"), [(" ", "nobody is named"), ("x" * 81, "81 characters: write at most 80")]
)
def test_name_that_says_nothing_or_too_much_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_name(text)
