"""The page Settings: every setting with its value and source, and what a restart would bring."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dashboard.application.application import Application
from dashboard.application.context import NO_SETTINGS, ConfigurationState, ShownSetting
from dashboard.store.engine.engine import Store, open_store
from tests.databases import new_sqlite_store
from tests.unit.show.page_runs import visit, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PORT = ShownSetting(
    "pages.port", "9000", "linewatch.toml, line 2", is_default=False, default="8501"
)
TITLE = ShownSetting("networks.x.title", "<b>*x*</b>", "linewatch.toml, line 9", is_default=False)
ZONE = ShownSetting("mail.time_zone", "UTC", "default", is_default=True, meaning="zone of mails")
HOST = ShownSetting("mail.smtp_host", "", "default", is_default=True)
STATE = ConfigurationState((PORT, TITLE, ZONE, HOST), "/srv/linewatch.toml", NOW)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(new_sqlite_store(tmp_path / "store")) as opened:
        yield opened


def page_of(store: Store, state: ConfigurationState | None, **address: str) -> str:
    settings = NO_SETTINGS
    if state is not None:
        settings = replace(settings, configuration=lambda: state)
    queries = Application(store, (), None, lambda: NOW, settings=settings)
    return words_of(visit("settings", queries, **address))


def test_what_is_set_stands_first_with_its_default_and_source(store: Store) -> None:
    words = page_of(store, STATE)

    assert "2 settings are set here, as read when these pages started" in words
    assert words.index("Set here") < words.index("default: 8501") < words.index("All settings")
    assert "linewatch.toml, line 2" in words
    assert "&lt;b&gt;*x*&lt;/b&gt;" in words
    assert "zone of mails" in words
    assert "empty" in words


def test_search_keeps_what_holds_all_its_words(store: Store) -> None:
    words = page_of(store, STATE, setting="ZONE mails").partition("All settings")[2]

    assert "zone of mails" in words
    assert "smtp_" not in words
    assert "No setting matches" in page_of(store, STATE, setting="nothing like it")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [((ZONE,), "Every setting is a default"), ((PORT,), "1 setting is set here")],
)
def test_headline_says_how_much_is_set(
    store: Store, settings: tuple[ShownSetting, ...], expected: str
) -> None:
    assert expected in page_of(store, replace(STATE, settings=settings))


def test_changes_and_mistakes_since_the_start_are_named(store: Store) -> None:
    many = tuple(f"mail.{number}" for number in range(14))

    changed = page_of(store, replace(STATE, changed=many))
    broken = page_of(store, replace(STATE, changed=many, mistakes=many))

    assert "mail.11 and 2 more. Restart Linewatch to use it." in changed
    assert "Linewatch does not start again" in broken
    assert "and 2 more" in broken
    assert "Restart Linewatch to use it" not in broken


def test_process_without_a_configuration_says_so(store: Store) -> None:
    assert "started without a configuration" in page_of(store, None)
