"""What msgspec says was expected, in plain English."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest
from msgspec import Meta

from dashboard.wire.decoding import in_plain_words


class Word(StrEnum):
    YES = "yes"
    NO = "no"


class Form(msgspec.Struct):
    burst: int


class Query(msgspec.Struct):
    word: Word | None = None
    since: Annotated[datetime, Meta(tz=True)] | None = None
    id: UUID | None = None


AT_LEAST = Annotated[int, Meta(ge=10)]
NAME = Annotated[str, Meta(pattern="^[a-z]+$", description="a lower-case word")]
BARE = Annotated[str, Meta(pattern="^[a-z]+$")]
A_MOMENT = "a moment with an offset, such as 2026-11-20T12:00:00Z"


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        (5, AT_LEAST, "expected a whole number of at least 10"),
        ("x", AT_LEAST, "expected a whole number, not text"),
        (70000, Annotated[int, Meta(le=65535)], "expected a whole number of at most 65535"),
        ("x", int | None, "expected a whole number or null, not text"),
        (3, bool, "expected true or false, not a whole number"),
        ({}, list[str], "expected a list, not a table"),
        ([[]], list[str | int], "expected a whole number or text, not a list in [0]"),
        ([], Annotated[list[str], Meta(min_length=1)], "expected a list that is not empty"),
        ([1], Annotated[list[int], Meta(min_length=2)], "expected a list of at least 2 items"),
        ("abc", Annotated[str, Meta(max_length=2)], "expected text of at most 2 characters"),
        ([1], tuple[int, int], "expected a list of 2 items, not 1"),
        ("A", NAME, "expected a lower-case word"),
        (["A"], list[NAME], "expected a lower-case word"),
        ("A", BARE, "expected text of the form ^[a-z]+$"),
        ("maybe", Word, "choose one of yes, no"),
        (["maybe"], list[Word], "choose one of yes, no"),
        ({"a": "maybe"}, dict[str, Word], "choose one of yes, no"),
        ("c", Literal["a", "b"], "choose one of a, b"),
        ({"a": "c"}, dict[str, list[Word]], "expected a list, not text in [...]"),
        (0.5, Annotated[float, Meta(gt=1)], "expected a number > 1.0"),
        ({"burst": "x"}, Form, "expected a whole number, not text in burst"),
        ({}, Form, "object missing required field `burst`"),
        ("soon", datetime, f"expected {A_MOMENT}"),
        ({"since": "soon"}, Query, f"expected {A_MOMENT} in since"),
        ({"id": "x"}, Query, "expected an id of 32 hexadecimal digits in id"),
    ],
)
def test_mistake_is_said_in_plain_words(value: Any, kind: Any, said: str) -> None:  # noqa: ANN401 - any value and type
    with pytest.raises(msgspec.ValidationError) as mistake:
        msgspec.convert(value, kind, strict=False)

    assert in_plain_words(str(mistake.value), kind, "a table") == said


def test_wrong_word_of_a_field_is_named_with_the_words_to_choose_from() -> None:
    with pytest.raises(msgspec.ValidationError) as mistake:
        msgspec.convert({"word": "maybe"}, Query)

    said = in_plain_words(str(mistake.value), Word | None)
    assert said == "expected one of yes, no in word, not 'maybe'"


def test_word_that_no_known_list_has_is_named() -> None:
    assert in_plain_words("Invalid enum value 'x'") == "invalid enum value 'x'"
