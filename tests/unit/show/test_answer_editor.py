"""The editor of the texts that people copy: previewed, saved, and never over those of others."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from streamlit.testing.v1 import AppTest

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.domain.people.access import Actor
from tests.browser.seeded_store import tx_hash
from tests.unit.show.page_runs import run_script, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ANN = Actor("Ann", NOW)
_EDITOR = f"""
from dashboard.domain.quantity import TxHash
from dashboard.show.parts.transaction_card import answer_editor
from dashboard.application import application
from dashboard.application.customer_answers import AnswerContext

queries = application.current()
answer_editor(queries, TxHash.parse("{tx_hash(2)}"), AnswerContext(queries.now()))
"""


def open_editor(queries: Application) -> AppTest:
    """Open the editor of the texts over the look-up of a rejected transaction."""
    application.register(queries)
    return run_script(_EDITOR)


def preview(page: AppTest, text: str) -> str:
    """Type a file of texts and press Preview; return what is shown."""
    page.text_area(key="answer_file").set_value(text)
    return words_of(page.button(key="FormSubmitter:answers-Preview").click().run())


def test_texts_are_previewed_before_they_are_saved(queries: Application, path: Path) -> None:
    page = open_editor(queries)

    assert str(path.parent) not in words_of(page)
    assert "It is rejected, Ada." in preview(page, "[customer]\ntext = 'It is {verdict}, Ada.'")
    assert "The text has a mistake." in preview(page, "[customer]\ntext = '{nobody}'")
    assert not path.exists()


def test_built_in_texts_are_asked_for_twice(queries: Application, path: Path) -> None:
    queries.answers.change("[customer]\ntext = 'Ours'", ANN)
    page = open_editor(queries)

    assert "Back to the built-in texts" not in {each.label for each in page.button}
    page.text_input(key="who_acts-0").input("Ann")
    page.button(key="remove-texts").click().run()
    assert not path.exists()


def test_text_that_changed_since_it_was_opened_is_shown_before_it_is_replaced(
    queries: Application, path: Path
) -> None:
    page = open_editor(queries)
    page.text_input(key="who_acts-0").input("Bob")
    queries.answers.change("[customer]\ntext = 'Of Ann'", ANN)

    page.text_area(key="answer_file").set_value("[customer]\ntext = 'Of Bob'")
    page.button(key="FormSubmitter:answers-Save the texts").click().run()

    assert "were changed by somebody else" in words_of(page)
    assert "text = 'Of Ann'" in words_of(page)
    assert page.text_area(key="answer_file").value == "[customer]\ntext = 'Of Bob'"
    assert path.read_text() == "[customer]\ntext = 'Of Ann'"

    page.button(key="FormSubmitter:answers-Save the texts").click().run()
    assert path.read_text() == "[customer]\ntext = 'Of Bob'"
