"""The page Alerts: what is open, and whether each notification was sent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.alert.notify import expand_outbox
from dashboard.application.application import Application
from dashboard.application.network_status import Activity
from dashboard.domain.alerts.condition import State, Subject, SubjectKind, Transition
from dashboard.domain.alerts.kinds.upstream import OutageGrounds
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.notification import NotificationState
from dashboard.domain.alerts.silence import SilenceKind, SilenceRequest
from dashboard.domain.people.access import Action, Actor
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.show.views.alerts import headline, sent_answer
from dashboard.store.access.audit_log import AuditFilter, audit_entries
from dashboard.store.alerts.alert_status import NotificationCounts, notification_counts
from dashboard.store.alerts.conditions import record_transition, set_turning_since
from dashboard.store.engine.engine import Store
from tests.browser.seeded_notifications import OPS, seed_notifications
from tests.browser.seeded_store import SILENT, SIMULATED, seed, tx_hash
from tests.builders import MINUTE, a_hash, a_notification, an_id
from tests.delivery_checks import reject
from tests.one_by_one import audited
from tests.seeded_application import addresses_off
from tests.unit.show.page_runs import visit, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with seed(tmp_path, NOW, seed_notifications) as seeded:
        yield seeded


def test_page_says_first_what_is_pending_and_what_is_dead(queries: Application) -> None:
    words = words_of(visit("alerts", queries))

    assert "1 notification pending, 1 dead." in words


def test_incident_about_to_end_says_so_alike_on_every_page(
    queries: Application, store: Store
) -> None:
    with store.write() as writing:
        set_turning_since(
            writing, Subject(SubjectKind.BUSYNESS, SIMULATED.network_id), NOW - 3 * MINUTE
        )

    pages = {
        page: words_of(visit(page, queries, network="Devnet"))
        for page in ("overview", "fees", "alerts", "health")
    }

    said = "ince 11:50:00 UTC; at or below the threshold for 3 min, over at 12:02:00 UTC if that"
    assert [page for page, words in pages.items() if said not in words] == []


def test_network_whose_fees_are_stale_is_not_called_busy_now(store: Store) -> None:
    later = Application(store, [SIMULATED], None, lambda: NOW + timedelta(hours=2))

    words = words_of(visit("alerts", later))
    (status,) = later.network_statuses()

    assert status.activity is Activity.STALE
    assert f"{SIMULATED.name}: {status.activity_reason}" in words
    assert "Last seen busy, since" in status.activity_reason
    assert "Busy</span>" not in words


def test_silence_begins_for_alerts_when_health_says_it_began(
    queries: Application, store: Store
) -> None:
    grounds = OutageGrounds(NOW - 6 * MINUTE, "The Linea exclusion endpoint gave no answer.")
    subject = Subject(SubjectKind.EXCLUSION_API, SILENT.network_id)
    opened = Transition(an_id(90), subject, None, State.SILENT, NOW - 4 * MINUTE, grounds)
    with store.write() as writing:
        assert record_transition(writing, opened, None)

    words = words_of(visit("alerts", queries))

    assert "exclusion API of Linea" in words
    assert "since 11:54:00 UTC" in words


def test_notification_says_to_whom_it_went_and_what_was_answered(queries: Application) -> None:
    words = words_of(visit("alerts", queries, alerts_search=str(tx_hash(1))))

    assert f"Yes, it was sent:</strong> to {OPS.address} at 2026-11-20 12:00:00 UTC." in words
    assert "250 2.0.0 Ok: queued as 4F1C2" in words
    assert "Message-ID &lt;" in words


def test_pending_notification_says_why(queries: Application) -> None:
    words = words_of(visit("alerts", queries, alerts_search=str(tx_hash(3))))

    assert "1 of 1 pending." in words
    assert "451 4.7.1 greylisted, try again later" in words


def test_notification_held_after_a_restore_is_not_called_sent() -> None:
    held = a_notification(state=NotificationState.HELD)
    sent = a_notification(state=NotificationState.SENT, sent_at=NOW)

    may = "Held ones may have been sent before the restore."
    assert sent_answer([held]) == ("busy", "1 of 1 held.", may)
    assert sent_answer([sent, held])[:2] == ("busy", "1 of 2 held.")


def test_dead_notification_says_why_and_is_inert(queries: Application) -> None:
    words = words_of(visit("alerts", queries, state="Dead"))

    assert "550 5.1.1 no such user &lt;img" in words
    assert "<script" not in words
    assert "451 4.7.1" not in words


def test_transaction_without_a_notification_says_why(queries: Application) -> None:
    tracked = words_of(visit("alerts", queries, alerts_search=str(tx_hash(9))))
    unknown = words_of(visit("alerts", queries, alerts_search=str(tx_hash(99))))

    assert "It is tracked; the rules say who is notified if it is rejected." in tracked
    assert "It is not tracked; only a rule for all reports notifies anybody of it." in unknown


def test_notifications_are_found_by_recipient_network_and_sender(queries: Application) -> None:
    everyone = words_of(visit("alerts", queries, alerts_search="ON-CALL@mail"))
    nobody = words_of(visit("alerts", queries, alerts_search="nobody@"))
    linea = words_of(visit("alerts", queries, network="Linea", section="Deliveries"))
    titled = words_of(visit("alerts", queries, alerts_search="linea"))
    sent = words_of(visit("alerts", queries, alerts_search="0x" + "02" * 20))

    assert everyone.count("Message-ID") == 6
    assert "No notification matches these filters" in nobody
    assert linea.count("Message-ID") == titled.count("Message-ID") == 1
    assert sent.count("Message-ID") == 1


def test_page_before_the_first_notification_says_when_one_is_sent(empty_store: Store) -> None:
    queries = Application(empty_store, (SIMULATED,), None, lambda: NOW)

    words = words_of(visit("alerts", queries, section="Deliveries"))

    assert "no incident open · nothing sent in 30 days." in words
    assert "Notifications go by mail to the recipients under [mail]" in words


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (
            NotificationCounts(0, None, 3, NOW, 0),
            "last notification 12 s ago",
        ),
        (NotificationCounts(2, NOW, 0, None, 0), "2 notifications pending"),
        (NotificationCounts(0, None, 9, NOW, 2), "2 notifications dead"),
        (NotificationCounts(1, NOW, 0, None, 2, held=3), "1 notification pending, 2 dead, 3 held"),
    ],
)
def test_headline_says_how_many_are_not_sent(counts: NotificationCounts, said: str) -> None:
    assert headline(counts, NOW + timedelta(seconds=12)) == said


def test_dead_notifications_can_be_sent_again(queries: Application, store: Store) -> None:
    page = visit("alerts", queries, section="Deliveries")
    page.text_input(key="who_acts-0").set_value("Ada").run()
    [send] = [each for each in page.button if each.label == "Send again"]

    words = words_of(send.click().run())

    assert "1 notification is pending again; the worker sends" in words
    with store.read() as connection:
        assert notification_counts(connection, NOW - timedelta(days=30)).dead == 0
        [act] = audit_entries(connection, AuditFilter(Action.RESEND))
    assert (act.actor, act.details) == ("Ada", {"notifications": 1})


def test_page_offers_to_send_nothing_again_where_nothing_was_given_up(empty_store: Store) -> None:
    page = visit("alerts", Application(empty_store, (SIMULATED,), None, lambda: NOW))

    assert "Send again" not in [each.label for each in page.button]


def fill(page: AppTest, button: str = "Save", **given: str) -> AppTest:
    """Name the module HUB, an author and a reason, or what is given, in the form of silences."""
    texts = {"who_acts-0": "Ada", "silence_module": "HUB", "silence_reason": "known", **given}
    for name, text in texts.items():
        page.text_input(key=name).set_value(text)
    [pressed] = [each for each in page.button if each.label == button]
    return pressed.click().run()


def test_silence_is_previewed_before_it_is_saved(queries: Application) -> None:
    page = visit("alerts", queries, section="Silences")
    nothing = words_of(fill(page, "Preview", silence_module="MOON"))
    found = words_of(fill(page, "Preview", silence_module="", silence_more="module=~H*"))
    mistaken = words_of(fill(page, "Preview", silence_more="label=~payroll"))

    assert "it would have matched no change. Now it matches 0 open incidents." in nothing
    assert "it would have matched 1 change (1 of rejections), the last on" in found
    assert "No preview." in mistaken
    assert not queries.silences.stored().unfinished


def test_what_is_known_is_silenced_and_the_silence_ended(
    queries: Application, store: Store
) -> None:
    saved = fill(visit("alerts", queries, section="Silences"), silence_more="stage!=P2P")
    words = words_of(saved)
    [end] = [each for each in saved.button if each.label == "End"]
    over = words_of(end.click().run())

    assert "module=HUB, stage!=P2P" in words
    assert "until 13:00:00 UTC, 60 min left" in words
    assert "number 1, by Ada" in words
    assert "cancelled at 2026-11-20 12:00:00 UTC by Ada" in over
    acts = audited(store)
    assert [(each.action, each.actor) for each in acts[:2]] == [
        (Action.END_SILENCE, "Ada"),
        (Action.SILENCE, "Ada"),
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"who_acts-0": " "}, "Fill in “Your name” first"),
        ({"silence_module": ""}, "has no matcher and would cover everything"),
        ({"silence_reason": ""}, "has no reason"),
        ({"silence_more": "label=~evil* bogus=1"}, "write a comma before &#x27;bogus=1&#x27;"),
        ({"silence_more": "<b>moon</b>"}, "&lt;b&gt;moon&lt;/b&gt;&#x27; is not a matcher"),
    ],
)
def test_silence_that_nobody_can_have_meant_is_not_saved(
    queries: Application, given: dict[str, str], said: str
) -> None:
    words = words_of(fill(visit("alerts", queries, section="Silences"), **given))

    assert "Nothing was changed." in words
    assert said in words
    assert not queries.silences.stored().unfinished


def test_maintenance_that_was_planned_says_when_it_begins(queries: Application) -> None:
    page = visit("alerts", queries, section="Silences")
    page.radio(key="silence_kind").set_value(SilenceKind.MAINTENANCE)
    page.datetime_input(key="silence_from").set_value(datetime(2026, 11, 21, 22, 0))  # noqa: DTZ001 - as the widget takes it

    words = words_of(fill(page))

    assert "Maintenance planned" in words
    assert "from 21 Nov 22:00 UTC for 60 min" in words


def test_weekly_maintenance_says_its_hours_and_when_they_come_next(queries: Application) -> None:
    page = visit("alerts", queries, section="Silences")
    page.radio(key="silence_kind").set_value(SilenceKind.MAINTENANCE)
    endless = words_of(fill(page, silence_weekly="sun 02:00-04:00; wed 22:00-23:00"))
    page.datetime_input(key="silence_until").set_value(datetime(2027, 3, 1))  # noqa: DTZ001 - as the widget takes it
    preview, words = words_of(fill(page, "Preview")), words_of(fill(page))

    assert "the weekly hours have no end: fill in until" in endless.lower()
    assert "it would have matched no change" in preview  # that of Friday noon
    assert "from 22 Nov 02:00 UTC for 2 h; every week sun 02:00-04:00, wed" in words
    assert "22:00-23:00 UTC until 2027-03-01 00:00:00 UTC" in words


def test_incident_is_acknowledged_handed_over_and_declared_over(queries: Application) -> None:
    [story, *_] = queries.incidents.open()
    key = story.incident.incident_id
    page = named(visit("alerts", queries))

    acknowledged = words_of(page.button(key=f"acknowledge-{key}").click().run())
    page.session_state[f"more-{key}"] = True
    page.run()
    page.text_input(key=f"to-{key}").set_value("Bob")
    page.text_input(key=f"note-{key}").set_value("on <it>")
    handed_over = words_of(page.button(key=f"hand-over-{key}").click().run())
    words_of(page.button(key=f"resolve-{key}").click().run())
    told = words_of(visit("alerts", queries, incident=str(key)))

    assert "acknowledged by Ada" in acknowledged
    assert "is acknowledged by Ada." in acknowledged
    assert "acknowledged by Bob" in handed_over
    assert "Handed over to Bob by Ada: on &lt;it&gt;" in told
    assert "Resolved by Ada" in told
    assert key not in {each.incident.incident_id for each in queries.incidents.open()}


def test_first_act_asks_for_the_name_once(queries: Application) -> None:
    key = queries.incidents.open()[0].incident.incident_id
    page = visit("alerts", queries)
    page.session_state[f"naming-{key}"] = True
    page.run()
    page.text_input(key=f"who-{key}").set_value("Ada")
    page.text_input(key=f"first-note-{key}").set_value("looking")

    [take] = [each for each in page.button if each.label == "Acknowledge"]
    words = words_of(take.click().run())

    assert "acknowledged by Ada" in words
    assert page.text_input(key="who_acts-1").value == "Ada"
    page.text_input(key="who_acts-1").set_value("").run()  # as a browser that missed it reports
    assert page.text_input(key="who_acts-2").value == "Ada"
    assert "Undone." in words_of(page.button(key="undo").click().run())


def test_acts_are_taken_back(queries: Application) -> None:
    [story, *_] = queries.incidents.open()
    key = story.incident.incident_id
    page = named(visit("alerts", queries))

    page.button(key=f"acknowledge-{key}").click().run()
    given_back = words_of(page.button(key="undo").click().run())
    page.session_state[f"silencing-{key}"] = True
    page.run()
    silenced = words_of(page.button(key=f"silence-{key}-1 h").click().run())
    [silence] = queries.silences.stored().unfinished
    words_of(page.button(key="undo").click().run())

    assert "Undone." in given_back
    assert "is silenced until 13:00:00 UTC." in silenced
    assert silence.author == "Ada"
    assert f"rule={story.incident.rule}" in queries.silences.scope_of(silence)
    assert not queries.silences.stored().unfinished
    assert not queries.incidents.open()[0].incident.owner


def named(page: AppTest) -> AppTest:
    """Say who acts."""
    page.text_input(key="who_acts-0").set_value("Ada").run()
    return page


def test_unknown_incident_is_said_to_be_unknown_as_it_was_written(queries: Application) -> None:
    words = words_of(visit("alerts", queries, incident="Ops<b>"))

    assert "No such incident." in words
    assert "Ops&lt;b&gt;" in words
    assert "<b>" not in words.replace("<b>x", "")


def test_address_that_is_off_is_shown_and_turned_on(queries: Application) -> None:
    queries.recipients.turn_off(OPS, Actor("<ops>", NOW), "on leave")
    page = visit("alerts", queries, section="Recipients")
    page.text_input(key="who_acts-0").set_value("Ada")
    [turn_on] = [each for each in page.button if each.label == "Turn on"]

    shown = words_of(page)
    words_of(turn_on.click().run())

    assert "off since 2026-11-20 12:00:00 UTC, turned off by &lt;ops&gt;: on leave" in shown
    assert addresses_off(queries) == []


def test_change_that_was_silenced_says_why_nobody_was_notified(empty_store: Store) -> None:
    queries = Application(empty_store, (SIMULATED,), None, lambda: NOW)
    request = SilenceRequest(
        *(an_id(1), SilenceKind.SILENCE, (Matcher(MatchedProperty.MODULE, "ADD"),)),
        *(NOW, NOW + 60 * MINUTE, "known <b>"),
    )
    queries.silences.add(request, Actor("ada", NOW))
    reject(empty_store, 1)
    expand_outbox(empty_store, ConfiguredRecipients((OPS,)), lambda: NOW)

    words = words_of(visit("alerts", queries, alerts_search=str(a_hash(1))))

    assert "Not everybody was notified." in words
    assert "1 change not notified, silenced until 2026-11-20 13:00:00 UTC by ada" in words
    assert "known &lt;b&gt; (silence 1)" in words


def test_grouped_change_is_found_by_its_hash_in_the_notification_that_names_it(
    empty_store: Store,
) -> None:
    queries = Application(empty_store, (SIMULATED,), None, lambda: NOW)
    reject(empty_store, 1)
    reject(empty_store, 2)
    expand_outbox(empty_store, ConfiguredRecipients((OPS,)), lambda: NOW)

    words = words_of(visit("alerts", queries, alerts_search=str(a_hash(2))))

    assert "1 of 1 pending." in words
    assert "and 1 more" in words
