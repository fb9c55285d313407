"""Bounces turn an address off, from a Maildir and over IMAP; forged ones turn nobody off."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid5

import pytest
from sqlalchemy import select, update

from dashboard.alert.bounces import (
    BounceMailbox,
    BounceReader,
    ImapMailbox,
    ImapServer,
    MaildirMailbox,
)
from dashboard.alert.deliver import Deliverer
from dashboard.alert.message import always
from dashboard.domain.alerts.notification import NotificationKind, Recipient
from dashboard.domain.people.access import Action
from dashboard.domain.people.recipients import OffCause, mailbox_of
from dashboard.domain.secret import Secret
from dashboard.errors import DeliveryBlocked
from dashboard.store.alerts.recipients import (
    end_suspicion,
    list_addresses_off,
    list_suspect_addresses,
)
from dashboard.store.engine.engine import Store
from dashboard.store.schema import incidents
from dashboard.store.schema import notifications as table
from tests.certificate import Certificate, make_certificate
from tests.delivery_checks import make_pending, notifications, take_lease
from tests.dovecot import PASSWORD, USERNAME, Dovecot, running_dovecot
from tests.fake_clock import FakeClock
from tests.mail_server import announce_a_terabyte, be_silent, rude_server
from tests.one_by_one import audited
from tests.received_mail import bounced_mail
from tests.waiting import PATIENCE

OPS = Recipient("mail", "Ops <Ops@example.org>")
NOT_OURS = b"From: a@example.org\r\nSubject: hello\r\n\r\nhow are you\r\n"


@pytest.fixture
def maildir(tmp_path: Path) -> Path:
    folder = tmp_path / "maildir"
    for name in ("new", "cur", "tmp"):
        (folder / name).mkdir(parents=True)
    return folder


@pytest.fixture(scope="module")
def dovecot() -> Iterator[Dovecot]:
    with running_dovecot() as server:
        yield server


@pytest.fixture
def sent_ids(store: Store, deliverer: Deliverer) -> list[str]:
    """Return the Message-IDs of two messages that were sent."""
    make_pending(store, 2, recipients=[OPS])
    token = take_lease(store)
    while deliverer.deliver_due(token):
        pass
    return [each.message_id for each in notifications(store)]


def reader(store: Store, mailbox: BounceMailbox, clock: FakeClock) -> BounceReader:
    return BounceReader(store, mailbox, "mail", clock.now)


def off(store: Store) -> list[tuple[Recipient, OffCause]]:
    with store.read() as connection:
        return [(each.recipient, each.cause) for each in list_addresses_off(connection)]


def suspects(store: Store) -> list[tuple[Recipient, str]]:
    with store.read() as connection:
        return [(each.recipient, each.message_id) for each in list_suspect_addresses(connection)]


def test_bounce_in_a_maildir_makes_its_address_suspect_on_record_and_no_more(
    store: Store, fake_clock: FakeClock, maildir: Path, sent_ids: list[str]
) -> None:
    mailbox = reader(store, MaildirMailbox(maildir), fake_clock)
    content = bounced_mail(message_id=sent_ids[0], diagnostic="smtp; 550 5.1.1 no such user")
    for name in ("1.bounce", "2.again"):
        (maildir / "new" / name).write_bytes(content)
    (maildir / "new" / "3.other").write_bytes(NOT_OURS)

    mailbox.work(lambda: False)
    without_lease = suspects(store)
    for _ in range(2):
        mailbox.work(always)

    assert without_lease == off(store) == []
    assert suspects(store) == [(mailbox_of(OPS), sent_ids[0])]
    with store.write() as connection:
        assert [end_suspicion(connection, OPS) for _ in range(2)] == [True, False]
    assert sorted(each.name for each in (maildir / "cur").iterdir()) == [
        "1.bounce:2,S",
        "2.again:2,S",
    ]
    assert [each.name for each in (maildir / "new").iterdir()] == ["3.other"]
    [entry] = audited(store, Action.SUSPECT)
    assert (entry.actor, entry.subject) == ("bounce", OPS.address)
    assert entry.details["note"] == "smtp; 550 5.1.1 no such user"


def test_bounces_of_two_messages_turn_their_address_off_on_record_once(
    store: Store, fake_clock: FakeClock, maildir: Path, sent_ids: list[str]
) -> None:
    for number, each in enumerate([*sent_ids, *sent_ids]):
        (maildir / "new" / str(number)).write_bytes(bounced_mail(message_id=each))

    reader(store, MaildirMailbox(maildir), fake_clock).work(always)

    assert off(store) == [(OPS, OffCause.BOUNCED)]
    assert suspects(store) == []
    [entry] = audited(store, Action.TURN_OFF)
    assert (entry.actor, entry.subject) == ("bounce", OPS.address)


def test_bounces_of_ids_as_0_1_0_made_them_turn_nobody_off(
    store: Store, fake_clock: FakeClock, maildir: Path, sent_ids: list[str]
) -> None:
    """Release 0.1.0 sent messages with ids that others can compute."""
    old = notifications(store)
    assert [each.message_id for each in old] == sent_ids
    with store.write() as connection:
        for each in old:
            mine = table.c.notification_id == each.notification_id
            guessable = f"<{each.notification_id}@linewatch.invalid>"
            connection.execute(update(table).where(mine).values(message_id=guessable))
            content = bounced_mail(message_id=guessable)
            (maildir / "new" / str(each.notification_id)).write_bytes(content)

    reader(store, MaildirMailbox(maildir), fake_clock).work(always)

    assert off(store) == []
    assert [each for each, _ in suspects(store)] == [mailbox_of(OPS)]


def test_forged_bounces_turn_nobody_off(
    store: Store, fake_clock: FakeClock, maildir: Path, sent_ids: list[str]
) -> None:
    """Webhooks and links carry ids of incidents, changes and notifications: others know them."""
    sent = notifications(store)
    with store.read() as connection:
        known = [*connection.scalars(select(incidents.c.incident_id))]
    known += [each.transition.transition_id for each in sent]
    known += [each.notification_id for each in sent]
    names = [f"{OPS.channel}:{OPS.address}"]
    names += [f"{kind}:{v}:{names[0]}" for kind in NotificationKind for v in range(5)]
    guessed = [*known, *(uuid5(each, name) for each in known for name in names), UUID(int=15)]
    forged = [bounced_mail(message_id=f"<{each}@linewatch.invalid>") for each in guessed]
    forged.append(bounced_mail(message_id=sent_ids[0], final="somebody.else@example.org"))
    for number, content in enumerate(forged):
        (maildir / "new" / str(number)).write_bytes(content)

    bounces = reader(store, MaildirMailbox(maildir), fake_clock)
    while list((maildir / "new").iterdir()):
        bounces.work(always)

    assert off(store) == suspects(store) == []


def test_bounce_of_a_message_that_was_never_sent_turns_nobody_off(
    store: Store, fake_clock: FakeClock, maildir: Path
) -> None:
    make_pending(store, recipients=[OPS])
    [notification] = notifications(store)
    (maildir / "new" / "1").write_bytes(bounced_mail(message_id=notification.message_id))

    reader(store, MaildirMailbox(maildir), fake_clock).work(always)

    assert off(store) == suspects(store) == []


def test_maildir_that_is_not_there_is_named(
    store: Store, fake_clock: FakeClock, tmp_path: Path
) -> None:
    with pytest.raises(DeliveryBlocked, match=r"No such file or directory; check \[bounces\]"):
        reader(store, MaildirMailbox(tmp_path / "none"), fake_clock).work(always)


def imap(port: int, certificate: Certificate, **changes: object) -> ImapMailbox:
    fields = {"password": Secret(PASSWORD), "timeout": timedelta(seconds=PATIENCE)} | changes
    return ImapMailbox(
        ImapServer("localhost", port, USERNAME, trust=certificate.for_client(), **fields)  # type: ignore[arg-type]  # named fields
    )


def test_bounces_over_imap_turn_their_address_off_and_other_mail_stays_unread(
    store: Store, fake_clock: FakeClock, dovecot: Dovecot, sent_ids: list[str]
) -> None:
    for name, each in zip(("7", "8"), sent_ids, strict=True):
        dovecot.put(name, bounced_mail(message_id=each))
    dovecot.put("9", NOT_OURS)
    mailbox = reader(store, imap(dovecot.port, dovecot.certificate), fake_clock)

    for _ in range(2):
        mailbox.work(always)

    assert off(store) == [(OPS, OffCause.BOUNCED)]
    assert dovecot.unread() == ["9"]


def test_mail_that_is_no_bounce_is_fetched_once(dovecot: Dovecot) -> None:
    dovecot.put("11", NOT_OURS)
    mailbox, fetched = imap(dovecot.port, dovecot.certificate), list[bytes]()

    def note(content: bytes) -> bool:
        fetched.append(content)
        return False

    for _ in range(2):
        mailbox.read(note)

    assert len(fetched) == len(dovecot.unread())


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"password": Secret("wrong-canary")}, "refused when bounces were read"),
        ({"mailbox": "Elsewhere"}, "has no mailbox Elsewhere"),
    ],
)
def test_mailbox_that_cannot_be_read_is_named_without_the_password(
    dovecot: Dovecot, changes: dict[str, object], complaint: str
) -> None:
    with pytest.raises(DeliveryBlocked, match=complaint) as caught:
        imap(dovecot.port, dovecot.certificate, **changes).read(lambda _: True)

    assert "canary" not in str(caught.value)


def test_mail_of_any_announced_size_takes_no_memory(dovecot: Dovecot) -> None:
    certificate = dovecot.certificate

    with (
        rude_server(announce_a_terabyte, certificate.for_server()) as port,
        pytest.raises(DeliveryBlocked, match="refused when bounces were read"),
    ):
        imap(port, certificate).read(lambda _: True)


def test_mail_server_that_is_silent_costs_one_time_out(dovecot: Dovecot) -> None:
    with (
        rude_server(be_silent) as port,
        pytest.raises(DeliveryBlocked, match="did not answer when bounces were read"),
    ):
        imap(port, dovecot.certificate, timeout=timedelta(seconds=0.3)).read(lambda _: True)


def test_certificate_that_is_not_trusted_is_named(dovecot: Dovecot, tmp_path: Path) -> None:
    with pytest.raises(DeliveryBlocked, match="no certificate that can be trusted"):
        imap(dovecot.port, make_certificate(tmp_path)).read(lambda _: True)
