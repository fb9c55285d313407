"""Bounces turn an address off, from a Maildir and over IMAP; forged ones turn nobody off."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from dashboard.alert.bounce_mailbox import (
    BounceMailbox,
    ImapMailbox,
    ImapServer,
    MaildirMailbox,
)
from dashboard.alert.deliver import Deliverer
from dashboard.alert.message import always
from dashboard.alert.turn_off_bounced import BounceReader
from dashboard.domain.address_off import OffCause
from dashboard.domain.audit import Action
from dashboard.domain.notification import Recipient
from dashboard.domain.secret import Secret
from dashboard.errors import DeliveryBlocked
from dashboard.store.access.audit_log import AuditFilter, audit_entries
from dashboard.store.alerts.addresses_off import list_addresses_off
from dashboard.store.engine.engine import Store
from tests.bounced_mail import bounced_mail
from tests.certificate import Certificate, make_certificate
from tests.delivery_checks import make_pending, notifications, take_worker_lease
from tests.dovecot import PASSWORD, USERNAME, Dovecot, running_dovecot
from tests.fake_clock import FakeClock
from tests.mail_server import announce_a_terabyte, be_silent, rude_server

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
def sent_id(store: Store, deliverer: Deliverer) -> str:
    """Return the Message-ID of a message that was sent."""
    make_pending(store, recipients=[OPS])
    deliverer.deliver_due(take_worker_lease(store))
    return notifications(store)[0].message_id


def reader(store: Store, mailbox: BounceMailbox, clock: FakeClock) -> BounceReader:
    return BounceReader(store, mailbox, "mail", clock.now)


def off(store: Store) -> list[tuple[Recipient, OffCause]]:
    with store.read() as connection:
        return [(each.recipient, each.cause) for each in list_addresses_off(connection)]


def test_bounce_in_a_maildir_turns_its_address_off_on_record_once(
    store: Store, fake_clock: FakeClock, maildir: Path, sent_id: str
) -> None:
    mailbox = reader(store, MaildirMailbox(maildir), fake_clock)
    content = bounced_mail(message_id=sent_id, diagnostic="smtp; 550 5.1.1 no such user")
    for name in ("1.bounce", "2.again"):
        (maildir / "new" / name).write_bytes(content)
    (maildir / "new" / "3.other").write_bytes(NOT_OURS)

    for _ in range(2):
        mailbox.work(always)

    assert off(store) == [(OPS, OffCause.BOUNCED)]
    assert sorted(each.name for each in (maildir / "cur").iterdir()) == [
        "1.bounce:2,S",
        "2.again:2,S",
    ]
    assert [each.name for each in (maildir / "new").iterdir()] == ["3.other"]
    with store.read() as connection:
        [entry] = audit_entries(connection, AuditFilter(Action.TURN_OFF))
    assert (entry.actor, entry.subject) == ("bounce", OPS.address)
    assert entry.details["note"] == "smtp; 550 5.1.1 no such user"


@pytest.mark.parametrize(
    "forged",
    [
        {"message_id": "<00000000-0000-0000-0000-00000000000f@linewatch.invalid>"},
        {"final": "somebody.else@example.org"},
    ],
)
def test_forged_bounce_turns_nobody_off(
    store: Store, fake_clock: FakeClock, maildir: Path, sent_id: str, forged: dict[str, str]
) -> None:
    fields = {"message_id": sent_id} | forged
    (maildir / "new" / "1").write_bytes(
        bounced_mail(message_id=fields["message_id"], final=fields.get("final", "ops@example.org"))
    )

    reader(store, MaildirMailbox(maildir), fake_clock).work(always)

    assert off(store) == []


def test_bounce_of_a_message_that_was_never_sent_turns_nobody_off(
    store: Store, fake_clock: FakeClock, maildir: Path
) -> None:
    make_pending(store, recipients=[OPS])
    [notification] = notifications(store)
    (maildir / "new" / "1").write_bytes(bounced_mail(message_id=notification.message_id))

    reader(store, MaildirMailbox(maildir), fake_clock).work(always)

    assert off(store) == []


def test_worker_without_its_lease_reads_no_bounces(
    store: Store, fake_clock: FakeClock, maildir: Path, sent_id: str
) -> None:
    (maildir / "new" / "1").write_bytes(bounced_mail(message_id=sent_id))

    reader(store, MaildirMailbox(maildir), fake_clock).work(lambda: False)

    assert off(store) == []


def test_maildir_that_is_not_there_is_named(
    store: Store, fake_clock: FakeClock, tmp_path: Path
) -> None:
    with pytest.raises(DeliveryBlocked, match=r"No such file or directory; check \[bounces\]"):
        reader(store, MaildirMailbox(tmp_path / "none"), fake_clock).work(always)


def imap(port: int, certificate: Certificate, **changes: object) -> ImapMailbox:
    fields = {"password": Secret(PASSWORD), "timeout": timedelta(seconds=10)} | changes
    return ImapMailbox(
        ImapServer("localhost", port, USERNAME, trust=certificate.for_client(), **fields)  # type: ignore[arg-type]  # named fields
    )


def test_bounce_over_imap_turns_its_address_off_and_other_mail_stays_unread(
    store: Store, fake_clock: FakeClock, dovecot: Dovecot, sent_id: str
) -> None:
    dovecot.put("7", bounced_mail(message_id=sent_id))
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
