"""Unknown reasons on the page Rejections: shown as sent, counted, and only where there are some."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import pytest

from dashboard.application.application import Application
from dashboard.store.engine.engine import Store
from tests.browser.seeded_store import SILENT, SIMULATED
from tests.builders import a_hash, a_record
from tests.saved_record import save_record
from tests.unit.show.page_runs import visit, words_of

NOW: Final = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HEADING: Final = "Unknown reasons"


@pytest.fixture
def store(empty_store: Store) -> Store:
    return empty_store


def page_with(store: Store, *reasons: str, network: str = "") -> str:
    with store.write() as connection:
        for number, reason in enumerate(reasons, start=1):
            record = a_record(tx_hash=a_hash(number), reason_message=reason, timestamp=NOW)
            save_record(connection, SIMULATED.network_id, record, NOW)
    queries = Application(store, (SIMULATED, SILENT), None, lambda: NOW)
    return words_of(visit("rejections", queries, **({"network": network} if network else {})))


def test_unknown_texts_are_shown_inert_with_their_counts(store: Store) -> None:
    words = page_with(store, *["<b>who</b> \u202eknows"] * 3, "TX_MODULE_LINE_COUNT_OVERFLOW")

    section = words.partition(HEADING)[2]
    assert "&lt;b&gt;who&lt;/b&gt; \\u202eknows" in section
    assert ">3<" in section
    assert "<b>who" not in words


def test_known_reasons_leave_the_section_out(store: Store) -> None:
    assert HEADING not in page_with(store, "TX_MODULE_LINE_COUNT_OVERFLOW")


def test_unknown_texts_of_another_network_are_left_out(store: Store) -> None:
    assert HEADING not in page_with(store, "who knows", network=str(SILENT.network_id))
