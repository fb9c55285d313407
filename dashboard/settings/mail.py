"""[mail], [bounces], [recipients]: the server, signatures, bounces, and when people get mail."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from typing import Annotated, Final

from msgspec import Meta, Struct

from dashboard.alert.channels.mime import DkimSigner, read_dkim_key
from dashboard.alert.channels.smtp import Security
from dashboard.domain.alerts.notification import DigestTime
from dashboard.domain.people.active_hours import WeekSpan
from dashboard.domain.people.recipients import MailAddress
from dashboard.domain.quantity import shorten
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, SettingsError
from dashboard.settings.layers import Remark
from dashboard.settings.values import zone_of

_SELECTOR: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?", re.ASCII | re.IGNORECASE)


class MailSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[mail]: who gets alerts, and through which server."""

    recipients: list[str]
    sender: str
    time_zone: str
    smtp_host: str
    smtp_port: Annotated[int, Meta(ge=1, le=65535)]
    security: Security
    username: str
    password: Secret
    ehlo_name: str
    dkim_key_file: str
    dkim_selector: str
    allow_clear_text: bool
    timeout: timedelta


def dkim_signer(mail: MailSettings) -> DkimSigner | None:
    """Return the signer of mails, None if no key is configured; InputError if it is unusable."""
    if not mail.dkim_key_file:
        return None
    domain = MailAddress.parse(mail.sender).domain
    return DkimSigner(domain, mail.dkim_selector, read_dkim_key(mail.dkim_key_file))


def check_dkim(mail: MailSettings) -> Iterator[Remark]:
    """Report a key that cannot be used, or whose name in DNS is missing."""
    if mail.dkim_key_file and not _SELECTOR.fullmatch(mail.dkim_selector):
        message = (
            "has to name the public key in DNS: for linewatch._domainkey.example.org write "
            "linewatch"
        )
        yield ("mail", "dkim_selector"), message
    if mail.dkim_selector and not mail.dkim_key_file:
        yield ("mail", "dkim_selector"), "has no effect: set mail.dkim_key_file as well"
    try:
        if mail.dkim_key_file:
            read_dkim_key(mail.dkim_key_file)
    except InputError as error:
        yield ("mail", "dkim_key_file"), f"cannot be used: {error}"


class BounceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[bounces]: a Maildir, or a mailbox over IMAP with TLS; neither: bounces are not read."""

    maildir: str
    imap_host: str
    imap_port: Annotated[int, Meta(ge=1, le=65535)]
    username: str
    password: Secret
    mailbox: str
    period: timedelta


def check_bounces(bounces: BounceSettings) -> Iterator[Remark]:
    """Yield what contradicts itself."""
    if bounces.maildir and bounces.imap_host:
        yield ("bounces", "imap_host"), "and bounces.maildir exclude each other: choose one"
    if bounces.imap_host and not bounces.username:
        yield ("bounces", "username"), "is empty and bounces.imap_host is set: say who logs in"
    if not bounces.mailbox.isprintable() or '"' in bounces.mailbox or "\\" in bounces.mailbox:
        yield ("bounces", "mailbox"), "is not the name of a mailbox: write one such as INBOX"


class RecipientSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[recipients."NAME"]: an email address or a channel, trusted because it is named here.

    Messages show times in `time_zone`, by default that of [mail]. Outside of the hours `active`
    they are held. A `digest` comes at its time, such as ``daily 08:00``.
    """

    time_zone: str = ""
    active: list[str] = []
    digest: str = ""


def check_recipients(
    recipients: Mapping[str, RecipientSettings], channels: Collection[str]
) -> Iterator[Remark]:
    """Yield invalid recipients, and zones and hours that cannot be read."""
    for name, each in recipients.items():
        path = ("recipients", name)
        if name not in channels and not is_mail_address(name):
            yield path, "is neither an email address nor a channel: write name@example.org"
        if each.time_zone:
            try:
                zone_of(each.time_zone)
            except SettingsError as error:
                yield (*path, "time_zone"), str(error)
        for span in each.active:
            try:
                WeekSpan.parse(span)
            except InputError as error:
                yield (*path, "active"), f"holds a value that cannot be read: {error}"
        if each.digest:
            yield from _check_digest(name, each.digest, channels)


def _check_digest(name: str, digest: str, channels: Collection[str]) -> Iterator[Remark]:
    path = ("recipients", name, "digest")
    if name in channels:
        yield path, "is for a channel: digests go by mail"
    try:
        DigestTime.parse(digest)
    except InputError as error:
        yield path, f"cannot be read: {error}"


def is_mail_address(text: str) -> bool:
    try:
        MailAddress.parse(text)
    except InputError:
        return False
    return True


def no_address(text: str) -> str:
    return f"holds {shorten(text)}, which is not an email address: write name@example.org"
