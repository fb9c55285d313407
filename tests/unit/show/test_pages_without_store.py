"""Every page without a store that can be read, or without a network: it says what happened."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.application.text import PAGES
from dashboard.store.engine.engine import Store
from tests.browser.seeded_networks import profiles
from tests.unit.show.page_runs import UnreadableStore, open_page, visit, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
_OTHERS = {"", "lookup", "settings"}
"""The first pages are opened below, and settings are in no store."""


@pytest.mark.parametrize("name", [name for name in PAGES if name not in _OTHERS])
def test_page_without_a_store_keeps_its_heading_and_says_so_once(name: str) -> None:
    queries = Application(UnreadableStore(), profiles(2), None, lambda: NOW)

    page = visit(name, queries)

    words = words_of(page)
    assert next(each.type for each in page.main if each.type in {"html", "button_group"}) == "html"
    assert words.count(f"<h1>{PAGES[name]}</h1>") == 1
    assert words.count("<h1") == 1
    assert words.count("The store cannot be read.") == 1


def test_first_page_and_look_up_without_a_store_keep_their_heading() -> None:
    settings = PageSettings(public_url="https://watch.example")
    queries = Application(UnreadableStore(), profiles(2), None, lambda: NOW, settings=settings)

    opened = [words_of(open_page(queries)), words_of(visit("lookup", queries, tx=f"0x{'12' * 32}"))]

    assert [each.count("<h1") for each in opened] == [1, 1]
    inside = 1  # the form to share, which is folded
    assert [each.count("The store cannot be read.") for each in opened] == [1, 1 + inside]


def test_page_without_a_store_keeps_silent_on_parameters_that_nothing_could_use() -> None:
    queries = Application(UnreadableStore(), profiles(2), None, lambda: NOW)

    words = words_of(open_page(queries, range="6 h"))

    assert "The store cannot be read." in words
    assert "Part of the address was ignored" not in words


def test_wall_without_a_store_stays_a_wall_and_says_what_to_do() -> None:
    queries = Application(UnreadableStore(), profiles(2), None, lambda: NOW)

    page = visit("overview", queries, wall="1")

    words = words_of(page)
    assert '<h1 class="lw-wall-bad">The store cannot be read</h1>' in words
    assert words.count("check the worker&#x27;s log and the disk.") == 1
    assert [each.label for each in page.button] == ["Leave"]


@pytest.mark.parametrize("name", ["overview", "fees", "tracked", "health"])
def test_page_without_networks_says_how_to_add_one(store: Store, name: str) -> None:
    queries = Application(store, (), None, lambda: NOW)

    assert "No network is configured" in words_of(visit(name, queries))
