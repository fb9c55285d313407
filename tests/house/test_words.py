"""House rules of the words that people read on pages, in mails, answers and commands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

import pytest

from tests.house.sources import sources_of_product
from tests.visible_words import VisibleText, texts_and_names, visible_texts

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
    r"commonest": "most frequent",
    r"dearer|dear": "more expensive, higher",
    r"hears? of|heard of": "is notified of",
    r"by (itself|themselves)": "automatically",
    r"look after": "check",
    r"see that": "check that",
    r"but for": "except for",
    r"(works|is|are|gets) no more": "no longer",
    r"all the same": "still",
    r"told": "notified, reported",
    r"news": "what changed",
    r"takes? (the )?place of": "replaces",
    r"take(s|n)? .{0,40}away": "remove",
    r"(came|come) to (its|their) end": "completed",
    r"ran out|runs out": "expires",
    r"(is|are) (not )?there (already|yet|twice)": "exists, is missing",
}
"""Words of ours that a reader cannot know, and what people say instead."""

_COMPOUND: Final = re.compile("[a-z].*[A-Z]")
"""A class of one word, as Gap, is called what people call it."""


@pytest.fixture(scope="module")
def texts() -> tuple[VisibleText, ...]:
    return tuple(visible_texts())


def test_reader_meets_no_private_word(texts: tuple[VisibleText, ...]) -> None:
    assert list(_private_words(texts)) == []


def test_reader_meets_no_name_of_a_class(texts: tuple[VisibleText, ...]) -> None:
    names = {each.name for source in sources_of_product() for each in source.classes}
    compound = re.compile(rf"\b({'|'.join(filter(_COMPOUND.search, names))})\b")

    said = [*texts, *texts_and_names()]

    assert [each for each in said if compound.search(each.text)] == []


def test_reader_meets_no_class_of_what_was_raised() -> None:
    named = [
        f"{source.path}:{node.lineno} {ast.unparse(node)}"
        for source in sources_of_product()
        for function in source.functions
        if function.name != "__repr__"
        for node in ast.walk(function)
        if isinstance(node, ast.FormattedValue) and "__name__" in ast.unparse(node)
    ]

    assert named == []


def test_texts_of_pages_mails_commands_and_documents_are_collected(
    texts: tuple[VisibleText, ...],
) -> None:
    said = {each.text for each in texts}

    assert {"Newest rejections", "Open incidents", "30 days"} <= said  # a page
    assert "Every rejection of a watched sender is tracked automatically." in said  # its markup
    assert {"acknowledged", "gas API", "ROWS"} <= said  # states, headings of tables
    assert any("Wait if you can" in each for each in said)  # a mail
    assert any(each.startswith("List open incidents:") for each in said)  # a command
    assert "--json and --csv exclude each other: choose one" in said  # its mistakes
    assert any("This is an automatic message" in each for each in said)  # a template
    assert {"Waiting for the reply…", "Copied"} <= said  # a script, a style
    assert any("every setting" in each.lower() for each in said)  # remarks of settings
    assert any(each.path.endswith("openapi.json") for each in texts)  # a document


def _private_words(texts: tuple[VisibleText, ...]) -> Iterator[str]:
    private_words = {re.compile(rf"\b({each})\b", re.IGNORECASE): INSTEAD[each] for each in INSTEAD}
    for each in texts:
        said = re.sub("{.*?}", "", each.text)
        for private, instead in private_words.items():
            if found := private.search(said):
                yield f"{each.path}:{each.line} “{found[0]}”, better {instead}: {each.text[:120]}"
