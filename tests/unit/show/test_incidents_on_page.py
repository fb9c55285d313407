"""Incidents of a night on the page Alerts: their order, their stories, what is searched of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dashboard.application.application import Application
from dashboard.application.incident_words import reach_words, upcoming_words
from dashboard.show.parts.incident_list import open_headline
from dashboard.store.alerts.incident_list import FinishedFilter, IncidentStory
from dashboard.store.alerts.incidents import OpenCounts
from tests.browser.seeded_incidents import NIGHT, OPS, seed_incidents
from tests.browser.seeded_store import FLAT, SILENT, SIMULATED, seed
from tests.unit.show.page_runs import visit, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.fixture
def queries(tmp_path: Path) -> Iterator[Application]:
    with seed(tmp_path, NOW, seed_incidents) as store:
        yield Application(store, (SIMULATED, SILENT, FLAT), None, lambda: NOW)


def of_rule(queries: Application, rule: str) -> IncidentStory:
    """Return the open incident of a rule."""
    [found] = [each for each in queries.incidents.open() if each.incident.rule == rule]
    return found


def test_what_needs_somebody_most_comes_first(queries: Application) -> None:
    words = words_of(visit("alerts", queries))

    titles = [
        "Disk of this installation is low on space",
        "38 rejections by HUB on Devnet at SEQUENCER",
        "An upstream of Linea is silent",
        "Devnet is busy",
    ]
    places = [words.index(each) for each in titles]
    assert places == sorted(places)
    assert "4 incidents are open; 3 unassigned, the oldest for 40 min." in words
    assert "38 changes" not in words


def test_row_says_who_knows_and_what_comes_next(queries: Application) -> None:
    storm = of_rule(queries, "rejections")

    assert reach_words(storm) == "1 of 2 notified, 1 dead"
    assert upcoming_words(storm, NOW) == "reminder in 5 min"
    assert upcoming_words(of_rule(queries, "upstream"), NOW) == ""
    assert (
        open_headline(OpenCounts(1, 1, storm.incident.opened_at), NOW)
        == "1 incident is open and unassigned, for 25 min."
    )
    assert open_headline(OpenCounts(2), NOW) == "2 incidents are open and acknowledged."


def test_story_shows_who_was_notified_and_when_it_happened(queries: Application) -> None:
    incident_id = of_rule(queries, "rejections").incident.incident_id

    words = words_of(visit("alerts", queries, incident=incident_id.hex[:12]))

    assert "Since 11:35:00 UTC (25 min); unassigned; reminder in 5 min." in words
    assert NIGHT.address in words.replace("<wbr>", "")
    assert OPS.address in words.replace("<wbr>", "")
    assert "38 changes from 2026-11-20 11:35:00 UTC on, each bar" in words


def test_story_of_a_busy_network_draws_its_fee(queries: Application) -> None:
    incident_id = of_rule(queries, "busy").incident.incident_id

    page = visit("alerts", queries, incident=str(incident_id))

    assert "The fee at that time" in words_of(page)
    assert page.get("bidi_component")


def test_story_that_is_over_says_how_long_it_lasted(queries: Application) -> None:
    [over] = queries.incidents.finished()

    words = words_of(visit("alerts", queries, incident=str(over.incident.incident_id)))

    assert "Resolved on 2026-11-20 05:40:00 UTC after 20 min." in words
    assert "Acknowledge" not in words


def test_those_that_ended_are_filtered(queries: Application) -> None:
    since = NOW - timedelta(hours=8)

    def found(wanted: FinishedFilter) -> int:
        return len(queries.incidents.finished(wanted=wanted))

    assert found(FinishedFilter(since)) == found(FinishedFilter(since, "busy", "info")) == 1
    assert found(FinishedFilter(NOW)) == found(FinishedFilter(rule="disk")) == 0
    assert found(FinishedFilter(severity="critical")) == 0
    page = visit("alerts", queries, of_rule="disk")
    assert "No incident ended in this time." in words_of(page)


def test_deliveries_of_an_incident_are_found_by_its_id(queries: Application) -> None:
    incident_id = of_rule(queries, "rejections").incident.incident_id

    whole = words_of(visit("alerts", queries, alerts_search=str(incident_id)))
    beginning = words_of(visit("alerts", queries, alerts_search=incident_id.hex[:8]))

    assert whole.count("Message-ID") == beginning.count("Message-ID") == 2
    others = whole.partition("and 37 more in incident")[2]
    assert others.startswith(f' <a href="alerts?incident={incident_id}"')


def test_notes_and_names_of_people_are_inert(queries: Application) -> None:
    incident_id = of_rule(queries, "upstream").incident.incident_id

    words = words_of(visit("alerts", queries, incident=str(incident_id)))

    assert "asked the provider &lt;img" in words
    assert "<script" not in words
