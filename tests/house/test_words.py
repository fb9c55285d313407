"""House rules of the words that people read on pages, in mails, answers and commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import pytest

from tests.visible_words import VisibleText, visible_texts

INSTEAD: Final = {
    r"owed|owes?": "pending",
    r"told (once|of|about)|(is|are|was|were|be) told": "notified, reported",
    r"tells? of": "reports",
    r"giv(e|es|en|ing) up": "dead, ended",
    r"letters? (to|of|for)|a letter was": "notification, message, delivery",
    r"what(ever)? (is|was) reported": "every rejection",
    r"what the store holds": "storage",
    r"who is asked": "source",
    r"made anew": "recomputed",
    r"whoever": "the caller, the person",
    r"dossiers?|outlook|warmth|doorman|switchboard|strangers?": "the words of the field",
    r"tall(y|ies)": "counter",
    r"leaf|leaves of": "page",
}
"""Words of ours that a reader cannot know, and what people say instead."""


@pytest.fixture(scope="module")
def texts() -> tuple[VisibleText, ...]:
    return tuple(visible_texts())


def test_reader_meets_no_private_word(texts: tuple[VisibleText, ...]) -> None:
    assert list(_private_words(texts)) == []


def test_texts_of_pages_mails_commands_and_documents_are_collected(
    texts: tuple[VisibleText, ...],
) -> None:
    said = {each.text for each in texts}

    assert {"Newest rejections", "What needs attention"} <= said  # a page
    assert any("Put off what can wait" in each for each in said)  # a mail
    assert any(each.startswith("List open incidents:") for each in said)  # a command
    assert any("Linewatch noticed this on" in each for each in said)  # a template
    assert any(each.path.endswith("openapi.json") for each in texts)  # a document


def _private_words(texts: tuple[VisibleText, ...]) -> Iterator[str]:
    for each in texts:
        for private, instead in INSTEAD.items():
            if found := re.search(rf"\b({private})\b", each.text, re.IGNORECASE):
                yield f"{each.path}:{each.line} “{found[0]}”, better {instead}: {each.text[:120]}"
