"""Every page while its store cannot be read: it keeps its name and says what happened."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dashboard.application.application import Application
from dashboard.web.files import PAGES
from tests.browser.seeded_networks import profiles
from tests.unit.show.page_runs import UnreadableStore, open_page, visit, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
_OTHERS = {"", "lookup", "settings"}
"""The first pages are opened below, and settings are in no store."""


@pytest.mark.parametrize("name", [name for name in PAGES if name not in _OTHERS])
def test_page_without_a_store_keeps_its_heading(name: str) -> None:
    queries = Application(UnreadableStore(), profiles(2), None, lambda: NOW)

    page = visit(name, queries)

    words = words_of(page)
    assert next(each.type for each in page.main if each.type in {"html", "button_group"}) == "html"
    assert words.count(f"<h1>{PAGES[name]}</h1>") == 1
    assert words.count("<h1") == 1
    assert "The store cannot be read." in words


def test_first_page_and_look_up_without_a_store_keep_their_heading() -> None:
    queries = Application(UnreadableStore(), profiles(2), None, lambda: NOW)

    opened = [words_of(open_page(queries)), words_of(open_page(queries, f"0x{'12' * 32}"))]

    assert [each.count("<h1") for each in opened] == [1, 1]
    assert all("The store cannot be read." in each for each in opened)
