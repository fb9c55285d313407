"""Recipients, their addresses and names: who they are, which are off, and how they are called."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.people.access import Actor, parse_name
from dashboard.domain.people.active_hours import WeekSpan
from dashboard.domain.people.recipients import (
    NOT_VERIFIED,
    QUIET_HOURS,
    AddressOff,
    ConfiguredRecipients,
    MailAddress,
    OffCause,
    RecipientDirectory,
    RecipientProfile,
    RecipientStatus,
    is_called,
    mailbox_of,
)
from dashboard.domain.people.verification import Verification, verified
from dashboard.errors import InputError
from tests.builders import A_MOMENT, utc

OPS = Recipient("mail", "ops@example.org")
DEV = Recipient("mail", "dev@example.org")
HOOK = Recipient("ops-hook", "ops-hook")
DAYTIME = (WeekSpan.parse("mon-sun 08:00-22:00"),)


@pytest.mark.parametrize(
    ("recipient", "mailbox"),
    [
        (Recipient("mail", "Ops <ops@Example.ORG>"), OPS),
        (Recipient("mail", "Ops@example.org"), Recipient("mail", "Ops@example.org")),
        (Recipient("mail", "ops@bücher.example"), Recipient("mail", "ops@xn--bcher-kva.example")),
        (Recipient("mail", "nobody"), Recipient("mail", "nobody")),
        (HOOK, HOOK),
    ],
)
def test_mailbox_is_one_however_its_address_is_written(
    recipient: Recipient, mailbox: Recipient
) -> None:
    assert mailbox_of(recipient) == mailbox


def test_who_stands_in_the_settings_is_trusted_and_so_is_a_channel() -> None:
    configured = ConfiguredRecipients(
        (Recipient("mail", "Ops <ops@example.org>"),), {DEV: RecipientProfile()}
    )
    directory = RecipientDirectory(configured)

    for each in (OPS, DEV, HOOK):
        assert directory.status(each) is RecipientStatus.TRUSTED
        assert directory.withheld(each) == ""


def test_any_other_address_is_withheld_until_it_is_verified() -> None:
    asked = Verification(OPS, A_MOMENT)
    known = verified(Verification(DEV), Actor("Ada", A_MOMENT))
    directory = RecipientDirectory(verifications={OPS: asked, DEV: known})

    assert directory.withheld(OPS) == NOT_VERIFIED
    assert directory.withheld(Recipient("mail", "new@example.org")) == NOT_VERIFIED
    assert directory.withheld(Recipient("mail", "Dev <dev@EXAMPLE.org>")) == ""
    assert directory.status(DEV) is RecipientStatus.VERIFIED
    assert directory.requested_at() == [A_MOMENT]


def test_off_outweighs_trust_and_verification() -> None:
    off = AddressOff(OPS, OffCause.UNSUBSCRIBED, A_MOMENT, "Ada")
    directory = RecipientDirectory(ConfiguredRecipients((OPS,)), {OPS: off})

    assert directory.status(OPS) is RecipientStatus.OFF
    assert directory.withheld(OPS) == off.reason


def test_settings_outweigh_what_was_chosen_later() -> None:
    configured = ConfiguredRecipients((OPS,), {OPS: RecipientProfile("Asia/Tokyo")}, "UTC")
    chosen = {OPS: RecipientProfile("Europe/Zurich"), DEV: RecipientProfile("Europe/Zurich")}
    directory = RecipientDirectory(configured, chosen=chosen)

    assert directory.profile(OPS).zone == "Asia/Tokyo"
    assert directory.profile(DEV).zone == "Europe/Zurich"
    assert directory.profile(HOOK) == RecipientProfile()


@pytest.mark.parametrize(
    ("at", "released"),
    [
        ("2026-01-15T12:00", "2026-01-15T12:00"),
        ("2026-01-15T21:30", "2026-01-16T07:00"),
        ("2026-03-28T22:00", "2026-03-29T06:00"),  # the clocks are put forward in that night
        ("2026-10-24T22:00", "2026-10-25T07:00"),  # and back in that one
    ],
)
def test_quiet_hours_follow_the_clocks_of_the_recipient(at: str, released: str) -> None:
    configured = ConfiguredRecipients(
        profiles={OPS: RecipientProfile("Europe/Zurich", DAYTIME)}, zones=ZoneInfo
    )
    directory = RecipientDirectory(configured)

    why = QUIET_HOURS if at != released else ""
    assert directory.hold(OPS, utc(at)) == (utc(released), why)
    assert directory.hold(DEV, utc(at)) == (utc(at), "")
    assert directory.zone(OPS) == ZoneInfo("Europe/Zurich")
    assert directory.zone(DEV) == ZoneInfo("UTC")


@pytest.mark.parametrize(
    ("recipient", "name", "is_meant"),
    [
        (OPS, "ops@example.org", True),
        (OPS, "ops@EXAMPLE.org", True),
        (OPS, "Ops", False),
        (OPS, "", False),
        (Recipient("mail", "Ann B. <ann@example.org>"), "ann b.", True),
        (Recipient("mail", "Ann B. <ann@example.org>"), "ann@example.org", True),
        (Recipient("mail", "Ann B. <ann@example.org>"), "Ann", False),
        (Recipient("mail", "nobody"), "else", False),
        (HOOK, "ops-hook", True),
        (HOOK, "Ops-hook", False),
    ],
)
def test_recipient_is_called_by_its_address_or_its_name(
    recipient: Recipient, name: str, *, is_meant: bool
) -> None:
    assert is_called(recipient, name) is is_meant


@pytest.mark.parametrize("cause", OffCause)
def test_reason_names_the_cause_and_since_when(cause: OffCause) -> None:
    off = AddressOff(Recipient("mail", "dev@example.org"), cause, A_MOMENT, "dev")

    assert off.reason == f"this address has been off since 2026-11-20 12:00:00 UTC: {cause}"


def test_name_is_taken_as_it_is_given_with_its_blanks_joined() -> None:
    assert parse_name("  Ada \n Lovelace ") == "Ada Lovelace"


@pytest.mark.parametrize(
    ("text", "said"), [(" ", "the name is missing"), ("x" * 81, "81 characters: write at most 80")]
)
def test_name_that_says_nothing_or_too_much_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_name(text)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ops@example.org", MailAddress("ops", "example.org")),
        ("o.p+s@localhost", MailAddress("o.p+s", "localhost")),
        ("ops@[192.0.2.1]", MailAddress("ops", "[192.0.2.1]")),
        ("ops@[IPv6:2001:db8::1]", MailAddress("ops", "[IPv6:2001:db8::1]")),
        ("Ops Team <ops@example.org>", MailAddress("ops", "example.org", "Ops Team")),
        ("Ops   Team  <ops@example.org>", MailAddress("ops", "example.org", "Ops Team")),
        ("<ops@example.org>", MailAddress("ops", "example.org")),
        ("Jörg <ops@example.org>", MailAddress("ops", "example.org", "Jörg")),
        ("ops@bücher.example", MailAddress("ops", "xn--bcher-kva.example")),
        ("ops@Straße.example", MailAddress("ops", "xn--strae-oqa.example")),
        ("用户@例子.example", MailAddress("用户", "xn--fsqu00a.example")),
        ("gru\u0308ße@example.org", MailAddress("grüße", "example.org")),
    ],
)
def test_address_is_read(text: str, address: MailAddress) -> None:
    assert MailAddress.parse(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ops",
        "@example.org",
        "ops@",
        "a b@example.org",
        ".a@example.org",
        "a..b@example.org",
        "a@b, c@d",
        "a@exa mple.org",
        "a@example..org",
        "a@-example.org",
        "a@ex\u2024ample_.",
        "a@\u0301.example",
        "a\u202eb@example.org",
        "A\r\nBcc: b <a@example.org>",
        "nnA\u202e <a@example.org>",
        "a@b\r\nBcc: c@d",
        f"{'a' * 81} <ops@example.org>",
        "=?utf-8?q?a?= <ops@example.org>",
        f"{'a' * 65}@example.org",
        f"a@{'a' * 60}.{'a' * 60}.{'a' * 60}.{'a' * 60}.{'a' * 60}",
        "<a@b> c",
        pytest.param("a@b" + " " * 1_000_000 + "<", id="blanks, at whose end begins an address"),
    ],
)
def test_text_that_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not an email address: write name@example"):
        MailAddress.parse(text)


@given(st.text(alphabet=st.characters(), max_size=80))
def test_any_text_is_an_address_in_one_line_or_refused(text: str) -> None:
    try:
        address = MailAddress.parse(text)
    except InputError:
        return

    assert address.domain.isascii()
    assert f"{address.display_name}{address.spec}".isprintable()


@pytest.mark.parametrize(("local", "is_international"), [("ops", False), ("grüße", True)])
def test_only_a_local_part_in_another_script_needs_more_of_a_server(
    local: str,
    is_international: bool,  # noqa: FBT001 - the case
) -> None:
    address = MailAddress.parse(f"{local}@bücher.example")

    assert address.is_international is is_international
    assert address.spec == f"{local}@xn--bcher-kva.example"


def test_chosen_addresses_replace_those_of_the_settings_where_they_may() -> None:
    open_ones = ConfiguredRecipients((OPS, HOOK), is_open=True)

    assert open_ones.choosing([DEV.address]).named == (DEV, HOOK)
    assert open_ones.choosing([]).named == (OPS, HOOK)
    assert ConfiguredRecipients((OPS, HOOK)).choosing([DEV.address]).named == (OPS, HOOK)


@pytest.mark.parametrize(
    ("recipient", "said"),
    [
        (Recipient("mail", "hook"), "'hook' is not an email address"),
        (Recipient("hok", "hook"), "'hok' is not a channel here: mail, hook"),
    ],
)
def test_mistyped_recipient_is_refused(recipient: Recipient, said: str) -> None:
    with pytest.raises(InputError, match=said):
        ConfiguredRecipients(channels=("hook",)).refuse_impossible(recipient)


def test_recipient_that_can_be_is_not_refused() -> None:
    ConfiguredRecipients(channels=("hook",)).refuse_impossible(Recipient("hook", "hook"))
    ConfiguredRecipients().refuse_impossible(Recipient("whatever", "hook"))
