"""Recipients: their addresses, whether they may be sent messages, their time zones and hours."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from enum import StrEnum
from functools import lru_cache
from typing import Final, Self

import idna
from msgspec import Struct, field
from msgspec.structs import replace

from dashboard.domain.alerts.notification import DigestTime, Recipient
from dashboard.domain.alerts.rule_keys import MAIL
from dashboard.domain.formatting import moment
from dashboard.domain.markup import visible
from dashboard.domain.people.active_hours import (
    ActiveHours,
    WeeklyHours,
    WeekSpan,
    Zones,
    utc_only,
)
from dashboard.domain.people.verification import Verification
from dashboard.domain.quantity import shorten
from dashboard.errors import InputError

_LONGEST_TEXT: Final = 1_000
"""Characters: longer than any address, and short enough to scan parts of it twice."""

_LONGEST_NAME: Final = 80
_LONGEST_LOCAL: Final = 64
_LONGEST_DOMAIN: Final = 253
_WITH_NAME: Final = re.compile(r"(?P<name>[^<>]*)<(?P<address>[^<>]+)>")
_ATOM: Final = r"[^\s\x00-\x20\x7f()<>@,;:\\\"\[\].]+"
_LOCAL: Final = re.compile(rf"{_ATOM}(\.{_ATOM})*")
_HOST: Final = re.compile(
    r"[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?)*"
    r"|\[(IPv6:)?[0-9a-f:.]{2,45}\]",
    re.ASCII | re.IGNORECASE,
)
"""A host name, or an address in brackets (RFC 5321 section 4.1.3)."""

NOT_VERIFIED: Final = "address not verified"
"""Why a recipient is not notified whose address nobody has confirmed."""

QUIET_HOURS: Final = "quiet hours of this recipient"
"""The reason that holds messages outside a recipient's own hours."""


class MailAddress(Struct, frozen=True):
    """A mailbox: `domain` in ASCII as in DNS, `local` in any script, and a display name."""

    local: str
    domain: str
    display_name: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``name@example.org`` or ``Some Name <name@example.org>``; InputError for others.

        A domain in another script is converted to ASCII (IDNA 2008).
        """
        if len(text) > _LONGEST_TEXT:
            raise _no_address(text)
        named = _WITH_NAME.fullmatch(text)
        display_name, address = ("", text) if named is None else named.groups()
        local, _, domain = address.rpartition("@")
        local = unicodedata.normalize("NFC", local)
        if not _is_local(local) or not _is_name(display_name.rstrip()):
            raise _no_address(text)
        try:
            return cls(local, _ascii_domain(domain), " ".join(display_name.split()))
        except ValueError as error:
            raise _no_address(text) from error

    @property
    def spec(self) -> str:
        """The bare address, as in SMTP commands."""
        return f"{self.local}@{self.domain}"

    @property
    def is_international(self) -> bool:
        """Whether only servers that support SMTPUTF8 (RFC 6531) accept it."""
        return not self.local.isascii()


def _is_name(text: str) -> bool:
    """Whether a name reads the same everywhere: mail programs would decode an encoded word."""
    return visible(text, _LONGEST_NAME) == text and "=?" not in text


def _is_local(local: str) -> bool:
    is_short = len(local.encode("utf-8", "surrogatepass")) <= _LONGEST_LOCAL
    return is_short and _LOCAL.fullmatch(local) is not None and visible(local) == local


def _ascii_domain(domain: str) -> str:
    """Return a domain in ASCII; ValueError if it is not a domain."""
    shown = domain if domain.isascii() else idna.encode(domain, uts46=True).decode("ascii")
    if len(shown) > _LONGEST_DOMAIN or not _HOST.fullmatch(shown):
        raise ValueError(f"{domain!a} is not a domain")
    return shown


def _no_address(text: str) -> InputError:
    return InputError(f"{shorten(text)} is not an email address: write name@example.org")


class OffCause(StrEnum):
    """Why an address is off.

    UNSUBSCRIBED: by the link in a message. TURNED_OFF: by a person, on the page or with a command.
    BOUNCED: messages came back.
    """

    UNSUBSCRIBED = "unsubscribed"
    TURNED_OFF = "turned off"
    BOUNCED = "bounced"


class AddressOff(Struct, frozen=True):
    """A recipient who is sent nothing; `by` turned it off, `note` says why: both foreign text."""

    recipient: Recipient
    cause: OffCause
    since: datetime
    by: str
    note: str = ""

    @property
    def reason(self) -> str:
        """Say why nothing is sent to the address."""
        return f"this address has been off since {moment(self.since)}: {self.cause}"


class SuspectAddress(Struct, frozen=True):
    """A recipient from whom one message bounced: messages are still sent.

    A bounce of another message turns the address off. `note` is the server's answer: foreign text.
    """

    recipient: Recipient
    since: datetime
    message_id: str
    note: str = ""


@lru_cache(maxsize=1_000)
def mailbox_of(recipient: Recipient) -> Recipient:
    """Return the recipient without display name, and with the domain in lower case.

    An address is verified and turned off only once, however it is written.
    """
    if recipient.channel != MAIL:
        return recipient
    try:
        address = MailAddress.parse(recipient.address)
    except InputError:
        return recipient
    return Recipient(MAIL, f"{address.local}@{address.domain.lower()}")


def one_of_each(recipients: Iterable[Recipient]) -> tuple[Recipient, ...]:
    """Return recipients without those that repeat an earlier mailbox."""
    found: dict[Recipient, Recipient] = {}
    for each in recipients:
        found.setdefault(mailbox_of(each), each)
    return tuple(found.values())


def is_called(recipient: Recipient, name: str) -> bool:
    """Whether a name refers to a recipient: by its address, or its display name."""
    if recipient.channel != MAIL:
        return recipient.address == name
    if mailbox_of(Recipient(MAIL, name)) == mailbox_of(recipient):
        return True
    try:
        called = MailAddress.parse(recipient.address).display_name
    except InputError:
        return False
    return called != "" and called.casefold() == name.casefold()


class RecipientStatus(StrEnum):
    """Whether a recipient gets messages, and if not, why."""

    TRUSTED = "from the settings"
    VERIFIED = "verified"
    NOT_VERIFIED = "not verified"
    OFF = "off"


class RecipientProfile(Struct, frozen=True):
    """When and how a recipient wants messages.

    Messages give times in UTC and in `zone`; if that is empty, in the zone of [mail]. They are held
    outside the hours `active`; if that is empty, they are sent at any hour. `digest` is the local
    time of a digest.
    """

    zone: str = ""
    active: tuple[WeekSpan, ...] = ()
    digest: DigestTime | None = None


class ConfiguredRecipients(Struct, frozen=True):
    """What the settings say about recipients.

    `named` get what no rule sends elsewhere; `profiles` are by mailbox. The settings vouch for both
    and for channels; every other email address must be verified. `zone` belongs to [mail]. `zones`
    looks up a time zone by name. `alertmanagers` are the channels that group and repeat alerts on
    their own. `is_open`: people may choose the addresses in `named` on the page Settings.
    `channels` are all besides mail; None: not known.
    """

    named: tuple[Recipient, ...] = ()
    profiles: Mapping[Recipient, RecipientProfile] = field(default_factory=dict)
    zone: str = "UTC"
    zones: Zones = utc_only
    alertmanagers: frozenset[str] = frozenset()
    is_open: bool = False
    channels: Collection[str] | None = None

    def refuse_impossible(self, recipient: Recipient) -> None:
        """Raise InputError for a mistyped address or channel, which nothing is ever sent to."""
        if recipient.channel == MAIL:
            MailAddress.parse(recipient.address)
        elif self.channels is not None and recipient.channel not in self.channels:
            known = ", ".join((MAIL, *self.channels))
            raise InputError(f"{shorten(recipient.channel)} is not a channel here: {known}")

    def choosing(self, addresses: Sequence[str]) -> ConfiguredRecipients:
        """Return the recipients with the chosen email addresses, if the settings allow a choice."""
        if not self.is_open or not addresses:
            return self
        mailed = one_of_each(Recipient(MAIL, each) for each in addresses)
        channels = [each for each in self.named if each.channel != MAIL]
        return replace(self, named=(*mailed, *channels))

    def trusts(self, recipient: Recipient) -> bool:
        """Whether a recipient need not be verified."""
        if recipient.channel != MAIL:
            return True
        mailbox = mailbox_of(recipient)
        return mailbox in self.profiles or mailbox in map(mailbox_of, self.named)


NOTHING_CONFIGURED: Final = ConfiguredRecipients()


class RecipientDirectory(Struct, frozen=True):
    """All that is known of recipients at one moment, from the settings and the store.

    The mappings are by mailbox.
    """

    configured: ConfiguredRecipients = NOTHING_CONFIGURED
    off: Mapping[Recipient, AddressOff] = field(default_factory=dict)
    verifications: Mapping[Recipient, Verification] = field(default_factory=dict)
    chosen: Mapping[Recipient, RecipientProfile] = field(default_factory=dict)
    suspect: Mapping[Recipient, SuspectAddress] = field(default_factory=dict)

    def status(self, recipient: Recipient) -> RecipientStatus:
        """Return whether a recipient gets messages; OFF takes precedence."""
        mailbox = mailbox_of(recipient)
        if mailbox in self.off:
            return RecipientStatus.OFF
        if self.configured.trusts(recipient):
            return RecipientStatus.TRUSTED
        known = self.verifications.get(mailbox)
        is_verified = known is not None and known.verified_at is not None
        return RecipientStatus.VERIFIED if is_verified else RecipientStatus.NOT_VERIFIED

    def withheld(self, recipient: Recipient) -> str:
        """Say why a recipient is sent nothing; empty if messages are sent."""
        off = self.off.get(mailbox_of(recipient))
        if off is not None:
            return off.reason
        is_verified = self.status(recipient) is not RecipientStatus.NOT_VERIFIED
        return "" if is_verified else NOT_VERIFIED

    def requested_at(self) -> list[datetime]:
        """Return when the latest verification mail to each address was requested."""
        asked = [each.requested_at for each in self.verifications.values()]
        return [each for each in asked if each is not None]

    def profile(self, recipient: Recipient) -> RecipientProfile:
        """Return a recipient's profile; the settings take precedence over later choices."""
        mailbox = mailbox_of(recipient)
        wanted = self.configured.profiles.get(mailbox) or self.chosen.get(mailbox)
        return wanted or RecipientProfile()

    def zone(self, recipient: Recipient) -> tzinfo:
        return self.configured.zones(self.profile(recipient).zone or self.configured.zone)

    def hours(self, recipient: Recipient) -> WeeklyHours | None:
        """Return the active hours of a recipient; None for those who get messages at any hour."""
        spans = self.profile(recipient).active
        return WeeklyHours(ActiveHours(spans), self.zone(recipient)) if spans else None

    def hold(self, recipient: Recipient, at: datetime) -> tuple[datetime, str]:
        """Return the first moment from `at` on outside a recipient's quiet hours, and why it waits.

        The reason is empty if nothing holds the message.
        """
        hours = self.hours(recipient)
        released = at if hours is None else hours.next_on(at)
        return released, "" if released == at else QUIET_HOURS
