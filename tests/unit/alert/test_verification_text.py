"""The verification mail: a link and a code, or the code alone; an address is only quoted."""

from __future__ import annotations

from dashboard.alert.compose import Links
from dashboard.alert.own_messages import message_of_trial, message_of_verification
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.signed_link import LinkPurpose, SignedLink, read_link
from dashboard.domain.people.access import Actor
from dashboard.domain.people.verification import VALID_FOR, Verification, code_of, request_mail
from tests.builders import A_MOMENT

KEY = b"k" * 32
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
    assert "Nothing is sent before that is confirmed." in message.text


def test_mail_without_an_address_of_the_pages_has_the_code_alone() -> None:
    message = message_of_verification(ASKED, Links(key=KEY), A_MOMENT)

    command = f"linewatch recipients verify new@example.org {code_of(ASKED, KEY)}"
    assert command in message.text
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
    assert message.facts["type"] == "test"
