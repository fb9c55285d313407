"""Recipients, stored: nothing is made for those to whom none may go; quiet hours hold the rest."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace
from sqlalchemy import select

from dashboard.detect.routing import routes_of
from dashboard.domain.alerts.holding import RuleRoute
from dashboard.domain.alerts.incident import Incident
from dashboard.domain.alerts.kinds.delivery import BounceGrounds
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.notification import DeliveryAttempt, DeliveryResult, Recipient
from dashboard.domain.alerts.rule import ObservedChange, Rule, Severity
from dashboard.domain.people.access import Actor
from dashboard.domain.people.active_hours import ActiveHours, WeekSpan
from dashboard.domain.people.recipients import (
    NOT_VERIFIED,
    AddressOff,
    ConfiguredRecipients,
    OffCause,
    RecipientProfile,
    mailbox_of,
)
from dashboard.domain.people.verification import Verification, delivered, request_mail, verified
from dashboard.store.alerts.closings import open_notifications
from dashboard.store.alerts.outbox import catch_up, expand, pending_expansion
from dashboard.store.alerts.recipients import (
    bounced_addresses,
    digested_until,
    last_sent_to,
    locked_verification,
    note_digest,
    pending_to,
    read_directory,
    recipient_of_verification,
    save_profile,
    save_verification,
    turn_off,
    verified_without_summary,
)
from dashboard.store.engine.engine import Store
from dashboard.store.schema import notification_members
from tests.builders import A_MOMENT, HOUR
from tests.delivery_checks import reject
from tests.recording_channel import ONCALL

NEW = Recipient("mail", "New@Example.org")
ADA = Actor("Ada", A_MOMENT)
RULE = Rule("rejections", RuleKind.REJECTED, recipients=(ONCALL, NEW))
TRUSTED = ConfiguredRecipients((ONCALL, NEW), zones=ZoneInfo)


def at_once(incident: Incident, _: ObservedChange) -> RuleRoute:
    """Return a route that nothing holds."""
    return RuleRoute(incident.rule, incident.group, ())


def take_in(
    store: Store, rule: Rule = RULE, known: ConfiguredRecipients = TRUSTED, now: datetime = A_MOMENT
) -> None:
    with store.write() as connection:
        entries = pending_expansion(connection, 100)
        routed = [(each, routes_of([rule], each.change, [], now)) for each in entries]
        expand(connection, routed, now, read_directory(connection, known))


def withheld(store: Store) -> list[tuple[str, str]]:
    column = notification_members.c
    query = select(column.address, column.reason).where(column.notification_id.is_(None))
    with store.read() as connection:
        return [tuple(row) for row in connection.execute(query)]


def released(store: Store) -> dict[Recipient, datetime]:
    with store.read() as connection:
        return {each.recipient: each.release_at for each in open_notifications(connection)}


def test_verification_is_stored_by_mailbox_and_found_by_its_message(store: Store) -> None:
    with store.write() as connection:
        known = locked_verification(connection, NEW)
        tried = DeliveryAttempt(A_MOMENT, DeliveryResult.DEFERRED, "451 \0\ud800 \\u0000")
        asked = delivered(request_mail(known, [], A_MOMENT), A_MOMENT, tried)
        save_verification(connection, asked, "<1@example.org>")
        save_verification(connection, verified(asked, ADA))

    with store.read() as connection:
        directory = read_directory(connection, ConfiguredRecipients())
        assert recipient_of_verification(connection, "<1@example.org>") == mailbox_of(NEW)
        assert recipient_of_verification(connection, "<2@example.org>") is None
    assert known == Verification(mailbox_of(NEW))
    assert directory.verifications == {mailbox_of(NEW): verified(asked, ADA)}
    assert directory.withheld(Recipient("mail", "New@EXAMPLE.org")) == ""


def test_profile_is_stored_beside_the_verification(store: Store) -> None:
    wanted = RecipientProfile("Europe/Zurich", (WeekSpan.parse("mon-fri 08:00-18:00"),))
    with store.write() as connection:
        save_profile(connection, NEW, RecipientProfile("UTC"))
        save_verification(connection, verified(locked_verification(connection, NEW), ADA))
        save_profile(connection, NEW, wanted)

    with store.read() as connection:
        directory = read_directory(connection, ConfiguredRecipients(zones=ZoneInfo))
    assert directory.profile(NEW) == wanted
    assert directory.withheld(NEW) == ""


def test_digest_is_noted_for_a_mailbox_of_which_nothing_is_known_yet(store: Store) -> None:
    with store.write() as connection:
        note_digest(connection, NEW, A_MOMENT)

        assert digested_until(connection) == {mailbox_of(NEW): A_MOMENT}
        assert digested_until(connection, ONCALL) == {}


def test_address_that_a_person_turned_off_did_not_bounce(store: Store) -> None:
    with store.write() as connection:
        for each, cause in ((ONCALL, OffCause.BOUNCED), (NEW, OffCause.UNSUBSCRIBED)):
            assert turn_off(connection, AddressOff(each, cause, A_MOMENT, "Ann", "550 unknown"))
        bounced = bounced_addresses(connection)

    assert bounced == {ONCALL.address: BounceGrounds(A_MOMENT, "550 unknown", is_off=True)}


def test_unverified_recipient_is_on_record_and_catches_up_once(store: Store) -> None:
    known = ConfiguredRecipients((ONCALL,))
    for number in (1, 2):
        reject(store, number)
        take_in(store, known=known)
    assert withheld(store) == [(NEW.address, NOT_VERIFIED)] * 2
    assert set(released(store)) == {ONCALL}

    with store.write() as connection:
        save_verification(connection, verified(locked_verification(connection, NEW), ADA))
        [verified_now] = verified_without_summary(connection)
        directory = read_directory(connection, known)
        many = catch_up(connection, verified_now, directory, A_MOMENT, "example.org", at_once)

    assert many == 2
    assert withheld(store) == []
    with store.read() as connection:
        assert verified_without_summary(connection) == []
        found = {each.recipient: each.members for each in open_notifications(connection)}
        assert set(pending_to(connection)) == {ONCALL, NEW}
        assert last_sent_to(connection, NEW) is None
    assert found[NEW] == 2


def test_verified_recipient_hears_nothing_of_what_is_silenced_meanwhile(store: Store) -> None:
    reject(store, 1)
    take_in(store, known=ConfiguredRecipients((ONCALL,)))

    def silenced(incident: Incident, _: ObservedChange) -> RuleRoute:
        return RuleRoute(incident.rule, incident.group, (), withheld="silenced until then")

    with store.write() as connection:
        directory = read_directory(connection, TRUSTED)
        assert catch_up(connection, NEW, directory, A_MOMENT, "example.org", silenced) == 0
    assert withheld(store) == [(NEW.address, "silenced until then")]


AT_20 = A_MOMENT.replace(hour=20)
LATER = ActiveHours((WeekSpan.parse("mon-sun 13:00-23:00"),))


@pytest.mark.parametrize(
    ("rule", "sent_at"),
    [
        (RULE, {ONCALL: A_MOMENT, NEW: AT_20}),
        (replace(RULE, active_hours=LATER), {ONCALL: A_MOMENT + HOUR, NEW: AT_20}),
        (
            replace(RULE, severity=Severity.CRITICAL, pierces=True),
            {ONCALL: A_MOMENT, NEW: A_MOMENT},
        ),
    ],
    ids=["of the recipient", "of the rule too", "pierced"],
)
def test_quiet_hours_hold_until_those_of_the_rule_and_the_recipient_are_over(
    store: Store, rule: Rule, sent_at: dict[Recipient, datetime]
) -> None:
    hours = RecipientProfile("UTC", (WeekSpan.parse("mon-sun 20:00-21:00"),))
    known = ConfiguredRecipients((ONCALL, NEW), {mailbox_of(NEW): hours}, zones=ZoneInfo)
    for number in (1, 2):
        reject(store, number)
        take_in(store, rule, known)

    assert released(store) == sent_at
