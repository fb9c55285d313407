"""Rules on the page Alerts: listed, tried, turned off and on, and changed as a file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.domain.audit import Action
from dashboard.domain.rule_table import RuleNames
from dashboard.show.queries.context import PageSettings
from dashboard.show.queries.page_queries import PageQueries
from dashboard.store.access.audit_log import AuditFilter, audit_entries
from dashboard.store.engine.engine import Store, open_store
from dashboard.wiring.rule_names import rules_of_text
from tests.browser.seeded_store import SIMULATED
from tests.databases import new_sqlite_store
from tests.unit.show.page_runs import visit, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
FILE = '[rules.hub]\nkind = "rejected"\nlabels = ["<b>x</b>"]\n'


@pytest.fixture
def queries(tmp_path: Path) -> Iterator[PageQueries]:
    url = new_sqlite_store(tmp_path / "empty.sqlite")
    settings = PageSettings(read_rules=partial(rules_of_text, RuleNames()))
    with open_store(url) as store:
        yield PageQueries(store, (SIMULATED,), None, lambda: NOW, settings=settings)


def named(page: AppTest) -> AppTest:
    """Say who acts."""
    page.text_input(key="who_acts").set_value("Ada")
    return page


def actions(store: Store) -> list[tuple[Action, str, str]]:
    """Return what the audit log says was done to rules."""
    with store.read() as connection:
        entries = audit_entries(connection, AuditFilter())
    return [(each.action, each.actor, each.subject) for each in entries]


def test_default_rules_are_listed_and_one_is_turned_off(queries: PageQueries) -> None:
    page = named(visit("alerts", queries, section="Rules"))
    assert "upstream-silent: all" in words_of(page)

    page.button(key="turn-busy").click().run()

    off = [each.rule.name for each in queries.rules.in_force() if not each.rule.is_enabled]
    assert off == ["busy"]
    assert actions(queries.context.store) == [(Action.CHANGE_RULE, "Ada", "busy")]
    assert "by Ada" in words_of(page)


def test_nothing_changes_without_a_name(queries: PageQueries) -> None:
    page = visit("alerts", queries, section="Rules")

    page.button(key="turn-busy").click().run()

    assert "Nothing was changed." in words_of(page)
    assert all(each.rule.is_enabled for each in queries.rules.in_force())


@pytest.mark.parametrize(
    ("rule", "words"),
    [("busy", "busy would have fired not once"), ("delivery", "have no preview")],
)
def test_rule_is_tried_on_the_past(queries: PageQueries, rule: str, words: str) -> None:
    page = visit("alerts", queries, section="Rules")

    page.button(key=f"try-{rule}").click().run()

    assert words in words_of(page)


def test_file_is_shown_checked_and_saved(queries: PageQueries) -> None:
    page = named(visit("alerts", queries, section="Rules"))
    assert "[rules.rejections]" in str(page.text_area(key="rule_file").value)

    page.text_area(key="rule_file").set_value(FILE.replace("kind", "kynd"))
    pressed(page, "Show what changes")
    assert "did you mean kind?" in words_of(page)

    page.text_area(key="rule_file").set_value(FILE)
    pressed(page, "Show what changes")
    assert "+ hub is added" in words_of(page)
    pressed(page, "Save rules")

    assert [each.rule.name for each in queries.rules.in_force()] == ["hub"]
    assert "label &lt;b&gt;x&lt;/b&gt;" in words_of(page)


def pressed(page: AppTest, label: str) -> None:
    """Press a button of the form."""
    (button,) = (each for each in page.button if each.label == label)
    button.click().run()
