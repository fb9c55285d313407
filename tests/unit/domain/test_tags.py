"""Tags are words behind #, and are written in one form."""

from __future__ import annotations

import pytest

from dashboard.domain.tracking.paste import own_tags, tags_in, typed_tags, written_tags
from dashboard.errors import InputError


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("", set()),
        ("#vip", {"vip"}),
        ("a #One,#two-b #3", {"one", "two-b", "3"}),
        ("no#tag ##neither # nor", set()),
        ("#Büro", {"büro"}),
    ],
)
def test_tag_is_a_word_after_a_hash_sign(text: str, tags: set[str]) -> None:
    assert tags_in(text) == tags


def test_typed_tags_need_no_sign_and_are_written_in_one_form() -> None:
    assert written_tags(typed_tags(" vip, #Payout;vip\n#a-b ")) == "#a-b #payout #vip"
    assert typed_tags("") == frozenset()


def test_own_tags_are_those_of_no_text() -> None:
    assert own_tags("#a #b #c", "a #b", "#D #A") == {"c"}


@pytest.mark.parametrize("text", ["a b!c", "<b>", "#" * 3, "x" * 41])
def test_what_is_no_tag_is_named_with_the_remedy(text: str) -> None:
    with pytest.raises(InputError, match="is no tag: write letters, digits, - and _"):
        typed_tags(text)
