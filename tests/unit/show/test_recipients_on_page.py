"""Recipients on the page Alerts: why one gets nothing, verified by code, with their own hours."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
from msgspec.structs import replace
from streamlit.testing.v1 import AppTest

from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.application.health_troubles import health_troubles
from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.notification import (
    DeliveryAttempt,
    DeliveryResult,
    DigestTime,
    NotificationState,
    Recipient,
)
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.people.access import Action, Actor
from dashboard.domain.people.active_hours import WeekSpan
from dashboard.domain.people.recipients import (
    ConfiguredRecipients,
    RecipientProfile,
    RecipientStatus,
    SuspectAddress,
)
from dashboard.domain.people.verification import VALID_FOR, attempted, code_of, delivered
from dashboard.show.parts.health_cards import mail_part
from dashboard.store.alerts.notification_search import NotificationFilter
from dashboard.store.alerts.notifications import make_link_key
from dashboard.store.alerts.recipients import locked_verification, save_verification, suspect
from dashboard.store.alerts.rules import save_rules
from dashboard.store.engine.engine import Store
from tests.browser.seeded_store import SIMULATED
from tests.one_by_one import audited
from tests.unit.show.page_runs import visit, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
KEY = b"k" * 32
OPS = Recipient("mail", "ops@example.org")
NEW = Recipient("mail", "new@example.org")
ADA = Actor("Ada", NOW)


@pytest.fixture
def queries(empty_store: Store) -> Application:
    """Return queries of an installation whose one rule names an address that nobody verified."""
    settings = PageSettings(recipients=ConfiguredRecipients((OPS,)))
    with empty_store.write() as connection:
        make_link_key(connection, KEY)
        save_rules(connection, [Rule("hub", RuleKind.REJECTED, recipients=(NEW,))], ADA)
    return Application(empty_store, (SIMULATED,), None, lambda: NOW, settings=settings)


def named(page: AppTest) -> AppTest:
    """Say who acts."""
    page.text_input(key="who_acts-0").set_value("Ada")
    return page


def field(of_kind: Iterable[Any], label: str) -> Any:  # noqa: ANN401 - each has its own methods
    """Return the field or button whose label begins so."""
    return next(each for each in of_kind if each.label.startswith(label))


def status(queries: Application) -> RecipientStatus:
    """Return whether the address gets messages."""
    return next(each.status for each in queries.recipients.all() if each.recipient == NEW)


def test_rule_that_reaches_nobody_is_a_warning_here_and_on_health(queries: Application) -> None:
    words = unescape(words_of(visit("alerts", queries, section="Recipients")))

    said = "ule 'hub' reaches nobody (new@example.org: address not verified)"
    assert "Some alerts reach nobody." in words
    assert f"{said}. Verify or turn on an address" in words
    troubles = health_troubles(queries.health.health(), NOW)
    assert f"R{said}." in [each.headline for each in troubles]


def test_address_is_verified_by_the_code_of_its_mail(queries: Application) -> None:
    queries.recipients.ask(NEW, ADA)
    [listed] = [each for each in queries.recipients.all() if each.recipient == NEW]
    assert listed.verification is not None
    page = named(visit("alerts", queries, section="Recipients"))

    page.text_input(key="code-mail new@example.org").set_value("AAAAAAAA")
    wrong = words_of(page.button(key="verify-mail new@example.org").click().run())
    page.text_input(key="code-mail new@example.org").set_value(code_of(listed.verification, KEY))
    right = words_of(page.button(key="verify-mail new@example.org").click().run())

    assert "This is not the code in the latest mail" in wrong
    assert "no notification was sent yet" in wrong
    assert "nothing was sent" not in wrong
    assert "verified since 2026-11-20 12:00:00 UTC by Ada" in right
    assert "Some alerts reach nobody." not in right


def test_mail_is_asked_for_once_more_and_the_address_turned_off(queries: Application) -> None:
    page = named(visit("alerts", queries, section="Recipients"))

    asked = words_of(page.button(key="ask-mail new@example.org").click().run())
    page.button(key="off-mail new@example.org").click().run()

    assert "its verification mail is pending" in asked
    assert status(queries) is RecipientStatus.OFF
    entries = audited(queries.context.store)
    assert [each.action for each in entries] == [Action.TURN_OFF, Action.ASK_TO_VERIFY]


def test_suspect_address_is_said_here_and_on_health_and_taken_for_good_again(
    queries: Application,
) -> None:
    with queries.context.store.write() as connection:
        suspect(connection, SuspectAddress(OPS, NOW, "<1@example.org>", "550 no such user"))
    page = named(visit("alerts", queries, section="Recipients"))
    health = queries.health.health()

    words = words_of(page)
    page.button(key="trust-mail ops@example.org").click().run()

    since = "suspect since 2026-11-20 12:00:00 UTC"
    assert f"from the settings; {since}, a message came back: 550 no such user" in words
    assert health.notifications is not None
    assert "1 suspect." in str(mail_part(health.notifications, NOW))
    headlines = [each.headline for each in health_troubles(health, NOW)]
    assert "A message to ops@example.org came back." in headlines
    [listed] = [each for each in queries.recipients.all() if each.recipient == OPS]
    assert listed.suspect is None


def test_hours_of_a_recipient_are_changed_on_record(queries: Application) -> None:
    page = named(visit("alerts", queries, section="Recipients"))

    field(page.text_input, "Time zone").set_value("Europe/Zurich")
    field(page.text_area, "Hours").set_value("mon-fri 08:00-18:00\n\nsat 10:00-12:00")
    field(page.text_input, "Digest").set_value("Daily 07:30")
    words = words_of(field(page.button, "Save hours").click().run())

    said = "mon-fri 08:00-18:00, sat 10:00-12:00; digest daily 07:30 (Europe/Zurich)"
    assert said in words
    spans = tuple(map(WeekSpan.parse, ("mon-fri 08:00-18:00", "sat 10:00-12:00")))
    wanted = RecipientProfile("Europe/Zurich", spans, DigestTime(7, 30))
    assert queries.recipients.profile(NEW) == wanted


def test_field_that_is_left_as_it_is_changes_nothing_of_the_recipient_it_shows(
    queries: Application,
) -> None:
    night = RecipientProfile("Europe/Zurich", (WeekSpan.parse("mon-fri 08:00-18:00"),))
    queries.recipients.change(NEW, night, ADA)
    page = named(visit("alerts", queries, section="Recipients"))

    field(page.text_input, "Digest").set_value("daily 07:30")
    field(page.button, "Save hours").click().run()

    assert queries.recipients.profile(NEW) == replace(night, digest=DigestTime(7, 30))


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (DeliveryResult.DEFERRED, "Pending 2 attempts, next not before"),
        (DeliveryResult.REFUSED, "Dead after 2 attempts"),
    ],
)
def test_each_attempt_of_a_verification_mail_is_in_deliveries_with_the_answer_of_the_server(
    queries: Application, result: DeliveryResult, said: str
) -> None:
    queries.recipients.ask(NEW, ADA)
    with queries.context.store.write() as connection:
        known = locked_verification(connection, NEW)
        for each in (
            DeliveryAttempt(NOW, DeliveryResult.DEFERRED, "451 greylisted"),
            DeliveryAttempt(NOW, result, "no such user <b>"),
        ):
            known = delivered(attempted(known, NOW), known.requested_at, each)
        save_verification(connection, known)

    words = words_of(visit("alerts", queries, section="Deliveries"))

    assert "Verification mail" in words
    assert said in " ".join(re.sub(r"<[^>]*>", " ", words).split())
    assert "451 greylisted" in words
    assert "no such user &lt;b&gt;" in words


@pytest.mark.parametrize(
    ("wanted", "many"),
    [
        (NotificationFilter(), 1),
        (NotificationFilter(search="NEW@", state=NotificationState.PENDING), 1),
        (NotificationFilter(state=NotificationState.SENT), 0),
        (NotificationFilter(search="ops@"), 0),
        (NotificationFilter(since=NOW, until=NOW), 1),
        (NotificationFilter(since=NOW + VALID_FOR), 0),
        (NotificationFilter(until=NOW - VALID_FOR), 0),
        (NotificationFilter(after=State.BUSY), 0),
    ],
)
def test_verification_mails_are_found_as_notifications_are(
    queries: Application, wanted: NotificationFilter, many: int
) -> None:
    queries.recipients.ask(NEW, ADA)

    assert len(queries.alerts.verification_mails(wanted)) == many
