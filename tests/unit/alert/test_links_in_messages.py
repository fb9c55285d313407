"""Messages by whose links people act: signed, theirs alone, and only where they are useful."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dashboard.alert.compose import ActionLinks, Links, actions_of, compose, message_of_trial
from dashboard.alert.message_writer import load_templates
from dashboard.alert.verification_mails import message_of_verification
from dashboard.application.incidents import Incidents
from dashboard.application.signed_links import LinkActions
from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.notification import NotificationKind, Recipient
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.signed_link import LinkPurpose, SignedLink, read_link
from dashboard.domain.people.access import Actor
from dashboard.domain.people.verification import VALID_FOR, Verification, code_of, request_mail
from dashboard.store.engine.engine import Store
from tests.alert_watch import Watch
from tests.builders import A_MOMENT, HOUR, a_notification, a_transition, an_id, an_incident
from tests.delivery_checks import reject
from tests.fake_clock import FakeClock
from tests.recording_channel import ONCALL

KEY = b"k" * 32
LINKS = Links("https://watch.example/", KEY)
INCIDENT = an_incident(group=())
NOTIFICATION = a_notification(incident=INCIDENT)


def signed(address: str) -> SignedLink:
    """Return what a link says."""
    link = read_link(address.removeprefix("https://watch.example/link/"), KEY, A_MOMENT)
    assert isinstance(link, SignedLink)
    return link


def test_each_link_is_for_one_purpose_one_recipient_and_one_incident() -> None:
    actions = actions_of(NOTIFICATION, LINKS)

    links = [signed(each) for each in (actions.acknowledge, actions.silence, actions.unsubscribe)]
    assert [each.purpose for each in links] == [
        LinkPurpose.ACKNOWLEDGE,
        LinkPurpose.SILENCE,
        LinkPurpose.UNSUBSCRIBE,
    ]
    assert {each.recipient for each in links} == {NOTIFICATION.recipient}
    assert [each.incident_id for each in links] == [an_id(9), an_id(9), None]


def test_links_are_the_same_at_every_attempt() -> None:
    later = replace(NOTIFICATION, attempts=3)

    assert actions_of(later, LINKS) == actions_of(NOTIFICATION, LINKS)


@pytest.mark.parametrize("links", [Links(), Links("https://watch.example/"), Links("", KEY)])
def test_without_an_address_or_a_key_there_is_none(links: Links) -> None:
    assert actions_of(NOTIFICATION, links) == ActionLinks()


def test_what_is_over_or_of_several_incidents_needs_no_hand() -> None:
    over = replace(NOTIFICATION, transition=a_transition(before=State.BUSY, after=State.CALM))
    several = replace(NOTIFICATION, incident=None)
    closed = replace(NOTIFICATION, kind=NotificationKind.CLOSED)

    for each in (over, several, closed):
        actions = actions_of(each, LINKS)
        assert (actions.acknowledge, actions.silence) == ("", "")
        assert actions.unsubscribe


def test_channel_without_an_address_does_not_unsubscribe() -> None:
    hook = replace(NOTIFICATION, recipient=Recipient("ops-hook", "ops-hook"))

    assert actions_of(hook, LINKS).unsubscribe == ""


def test_message_holds_the_links_in_text_and_html() -> None:
    actions = actions_of(NOTIFICATION, LINKS)

    message = compose(NOTIFICATION, load_templates({}, LINKS))
    silent = compose(NOTIFICATION, load_templates({}, Links()))

    for each in (actions.acknowledge, f"{actions.silence}?for=8h", actions.unsubscribe):
        assert each in message.text
        assert each in message.html
    assert message.unsubscribe == actions.unsubscribe
    assert "/link/" not in silent.text + silent.html


NEW = Recipient("mail", "new@example.org")
ASKED = request_mail(Verification(NEW), [], A_MOMENT)


def test_mail_has_a_link_that_ends_with_the_code_and_one_to_unsubscribe() -> None:
    message = message_of_verification(ASKED, Links("https://watch.example/", KEY), A_MOMENT)

    signed = [line for line in message.text.splitlines() if "/link/" in line]
    verify, unsubscribe = (
        read_link(each.removeprefix("https://watch.example/link/"), KEY, A_MOMENT)
        for each in signed
    )
    assert verify == SignedLink(LinkPurpose.VERIFY, NEW, A_MOMENT + VALID_FOR)
    assert isinstance(unsubscribe, SignedLink)
    assert unsubscribe.purpose is LinkPurpose.UNSUBSCRIBE
    assert message.unsubscribe == signed[1]
    assert all(f'<a href="{each}">' in message.html for each in signed)
    assert "Nothing is sent until you confirm it." in message.text


def test_mail_without_an_address_of_the_pages_has_the_code_alone() -> None:
    message = message_of_verification(ASKED, Links(key=KEY), A_MOMENT)

    command = f"linewatch recipients verify new@example.org {code_of(ASKED, KEY)}"
    assert command in message.text
    where = "on the page Alerts under Recipients by"
    assert f"\n\nEnter the code {code_of(ASKED, KEY)} {where}" in message.text
    assert f"<code>{command}</code>" in message.html
    assert "/link/" not in message.text + message.html
    assert message.unsubscribe == ""


def test_address_is_no_markup_and_the_same_request_gives_the_same_mail() -> None:
    hostile = Verification(Recipient("mail", "<b>\u202e@example.org"))
    links = Links("https://watch.example", KEY)

    first, again = (message_of_verification(hostile, links, A_MOMENT) for _ in range(2))

    assert first == again
    assert "<b>" not in first.html
    assert "\u202e" not in first.text + first.html


def test_test_message_says_who_asked_for_it_and_escapes_their_name() -> None:
    message = message_of_trial(Actor("<b>kim", A_MOMENT))

    assert "<b>kim asked for it" in message.text
    assert "<b>" not in message.html
    assert message.payload["type"] == "test"


def test_page_of_a_link_says_as_alerts_does_that_an_incident_is_silenced(
    store: Store, fake_clock: FakeClock
) -> None:
    watch = Watch(store, fake_clock)
    watch.rules(Rule("rejections", RuleKind.REJECTED, recipients=(ONCALL,)))
    reject(store, 1)
    watch.wait()
    links, incident_id = LinkActions(watch.context), watch.incident().incident_id
    link = SignedLink(LinkPurpose.SILENCE, ONCALL, watch.clock.now() + HOUR, incident_id)

    links.act(link, {"name": "Ann", "for": "1h"})

    story = Incidents(watch.context).story(incident_id)
    assert story is not None
    assert links.about(link).state == story.state == IncidentState.SILENCED
