"""Incidents of a night on the page Alerts: their order, their stories, what is searched of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from msgspec.structs import replace

from dashboard.application.application import Application
from dashboard.application.incident_words import reach_words, timeline_of, upcoming_words
from dashboard.domain.alerts.condition import SubjectKind
from dashboard.domain.alerts.incident import IncidentEvent, IncidentEventKind
from dashboard.domain.alerts.inhibition import SourceOutage
from dashboard.domain.alerts.notification import NotificationKind, NotificationState
from dashboard.domain.health.observation import AnswerCounts, Operation
from dashboard.domain.health.retention import StoreSize
from dashboard.show.parts.incident_list import incident_markup, open_headline
from dashboard.show.parts.incident_story import change_bars
from dashboard.store.alerts.incident_list import (
    FinishedFilter,
    IncidentNotification,
    IncidentStory,
    NotifiedRecipient,
)
from dashboard.store.alerts.incidents import OpenCounts, insert_incident
from dashboard.store.monitoring.answer_counts import record_answer_counts
from dashboard.store.monitoring.upkeep import record_size
from tests.browser.seeded_incidents import NIGHT, OPS, seed_incidents
from tests.browser.seeded_store import FLAT, SILENT, SIMULATED, seed
from tests.builders import an_id, an_incident
from tests.unit.show.page_runs import visit, visit_in, words_of

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
        "Low disk space",
        "Devnet: 38 rejected, HUB over limit (sequencer)",
        "Linea: source down",
        "Devnet busy",
    ]
    places = [words.index(each) for each in titles]
    assert places == sorted(places)
    assert "4 incidents open, 3 unassigned for up to 40 min ·" in words
    assert words.count('<b class="lw-alarm">unassigned') == 2  # busy is for information alone
    assert "38 changes" not in words


def test_row_says_who_knows_and_what_comes_next(queries: Application) -> None:
    storm = of_rule(queries, "rejections")

    unsent = replace(storm, notified=(NotifiedRecipient(OPS, {NotificationState.PENDING: 2}),))

    assert reach_words(storm) == "1 of 2 notified, 1 dead"
    assert reach_words(unsent) == "0 of 1 notified, 2 pending"
    assert upcoming_words(storm, NOW) == "reminder in 5 min"
    assert upcoming_words(of_rule(queries, "upstream"), NOW) == ""
    assert (
        open_headline(OpenCounts(1, 1, storm.incident.opened_at), NOW)
        == "1 incident open, unassigned for 25 min"
    )
    assert open_headline(OpenCounts(2), NOW) == "2 incidents open, all acknowledged"
    down = SourceOutage(SubjectKind.GAS_API, SIMULATED.network_id, NOW)
    row = incident_markup(queries, replace(storm, unknown=down))
    assert "<span>no data: the fee source has been down since 2026-11-20 12:00:00" in row


KNOWN = {"name_of_who_acts": "Ada", "attention-all": True}


def two_of_one_line(queries: Application) -> set[UUID]:
    """Let another module of a network reject; return the ids of both incidents."""
    group = (("network", str(SIMULATED.network_id)), ("module", "ADD"))
    other = an_incident(
        incident_id=an_id(9), rule="rejections", kind="rejected", severity="warning", group=group
    )
    first = of_rule(queries, "rejections").incident
    with queries.context.store.write() as connection:
        insert_incident(connection, replace(other, opened_at=NOW, changed_at=NOW))
    return {other.incident_id, first.incident_id}


def test_rejections_of_one_line_are_acknowledged_together_and_taken_back(
    queries: Application,
) -> None:
    both = two_of_one_line(queries)
    key = f"acknowledge-all-{SIMULATED.network_id}"

    page = visit_in(None, "overview", queries, KNOWN)
    words = words_of(page)
    done = words_of(page.button(key=key).click().run())
    owners = {each.incident.incident_id: each.incident.owner for each in queries.incidents.open()}
    undone = words_of(page.button(key="undo").click().run())

    assert "Devnet: 39 rejections unassigned, 2 modules" in words
    assert "2 incidents are acknowledged by Ada" in done
    assert {each for each, owner in owners.items() if owner == "Ada"} == both
    assert "Undone" in undone
    assert all(not queries.incidents.named(str(each)).owner for each in both)
    assert visit_in(None, "alerts", queries, KNOWN).button(key=key).label == "Acknowledge all 2"


def test_page_keeps_its_places_while_an_act_redraws_it(queries: Application) -> None:
    key = of_rule(queries, "rejections").incident.incident_id
    page = visit_in(None, "alerts", queries, KNOWN)
    before = page.main.children

    page.button(key=f"acknowledge-{key}").click().run()

    assert "is acknowledged by Ada" in words_of(page)
    assert page.main.children.keys() == before.keys()


def test_title_of_a_story_may_wrap_within_the_name_of_a_module(queries: Application) -> None:
    named = an_incident(group=(("module", "PRECOMPILE_ECPAIRING_MILLER_LOOPS"),))
    with queries.context.store.write() as connection:
        insert_incident(connection, named)

    words = words_of(visit("alerts", queries, incident=str(named.incident_id)))

    assert "PRECOMPILE_<wbr>ECPAIRING_<wbr>MILLER_<wbr>LOOPS" in words.partition("</h1>")[0]


def test_rejections_of_one_line_are_silenced_together(queries: Application) -> None:
    two_of_one_line(queries)
    key = f"all-{SIMULATED.network_id}"

    page = visit_in(None, "overview", queries, KNOWN | {f"silencing-{key}": True})
    done = words_of(page.button(key=f"silence-{key}-8 h").click().run())
    [silence] = queries.silences.stored().unfinished

    assert "“all rejections on Devnet” is silenced until 20:00:00 UTC" in done
    assert {str(each) for each in silence.request.matchers} == {
        "rule=rejections",
        f"network={SIMULATED.network_id}",
    }
    assert "rejections unassigned" not in done


def test_story_shows_who_was_notified_and_when_it_happened(queries: Application) -> None:
    incident_id = of_rule(queries, "rejections").incident.incident_id

    words = words_of(visit("alerts", queries, incident=incident_id.hex[:12]))

    assert "Since 11:35:00 UTC (25 min); unassigned; reminder in 5 min." in words
    assert NIGHT.address in words.replace("<wbr>", "")
    assert OPS.address in words.replace("<wbr>", "")
    assert "38 changes from 2026-11-20 11:35:00 UTC on, each bar" in words
    latest = [words.index(each) for each in ("Timeline", "Not delivered", "Opened with 38 changes")]
    assert latest == sorted(latest)
    assert "1 of 2 notified, 1 dead." in words


def test_bars_of_more_changes_than_are_read_begin_with_the_first_that_is_read() -> None:
    incident = an_incident(opened_at=NOW - timedelta(days=2), transitions=60)
    times = [NOW - timedelta(seconds=each) for each in range(50)]

    cut, whole = (
        str(change_bars(times, replace(incident, transitions=many), NOW)) for many in (60, 50)
    )

    assert "50 latest changes from 2026-11-20 11:59:11 UTC on" in cut
    assert "50 changes from 2026-11-18 12:00:00 UTC on" in whole


def test_few_changes_have_no_bars_and_an_upstream_shows_its_day(
    queries: Application,
) -> None:
    with queries.context.store.write() as connection:
        counts = {Operation.SUGGESTED_GAS_FEES: AnswerCounts(failed=9)}
        record_answer_counts(connection, SILENT.network_id, NOW, counts)
    upstream = of_rule(queries, "upstream").incident

    words = words_of(visit("alerts", queries, incident=str(upstream.incident_id)))

    assert "Changes by time" not in words
    assert "suggested fees: of 96 quarters of an hour: failed in 1" in words


def test_disk_shows_its_free_space_over_time(queries: Application) -> None:
    with queries.context.store.write() as connection:
        for days, free in ((9, 4_000_000_000), (2, 410_000_000)):
            at = NOW - timedelta(days=days)
            record_size(connection, StoreSize(at, 1, None, 0, free))
    incident = of_rule(queries, "disk").incident

    words = words_of(visit("alerts", queries, incident=str(incident.incident_id)))

    assert "4.0 GB free" in words
    assert "410.0 MB free" in words
    assert "Changes by time" not in words


def test_timeline_groups_recipients_of_one_reason() -> None:
    sent = [
        IncidentNotification(at, recipient, NotificationKind.REMINDER, NotificationState.SENT)
        for at in (NOW, NOW - timedelta(hours=1))
        for recipient in (OPS, NIGHT)
    ]
    opened = IncidentEvent(NOW - timedelta(hours=1), IncidentEventKind.OPENED, 1)

    entries = timeline_of([opened], sent)

    everybody = (NIGHT.address, OPS.address)
    assert [(each.what, each.whom) for each in entries] == [
        ("notified (reminder)", everybody),
        ("notified (reminder)", everybody),
        ("opened with 1 change", ()),
    ]


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
    when = 'title="2026-11-20 05:20:00 UTC to 2026-11-20 05:40:00 UTC">6 h ago<'
    assert when in words_of(visit("alerts", queries, of_rule="busy"))


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
