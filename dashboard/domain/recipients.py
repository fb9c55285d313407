"""Recipients: whether anything may be sent to each, and in which zone and at which hours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from enum import StrEnum
from functools import lru_cache
from typing import Final

from dashboard.domain.active_hours import ActiveHours, WeekSpan, Zones, utc_only
from dashboard.domain.address_off import AddressOff, SuspectAddress
from dashboard.domain.digest import DigestTime
from dashboard.domain.mail_address import MailAddress
from dashboard.domain.notification import Recipient
from dashboard.domain.rule_keys import MAIL
from dashboard.domain.verification import Verification
from dashboard.errors import InputError

NOT_VERIFIED: Final = "address not verified"
"""Why somebody is not notified whose address nobody has confirmed."""


QUIET_HOURS: Final = "quiet hours of this recipient"
"""What holds messages outside of a recipient's own hours."""


@lru_cache(maxsize=1_000)
def mailbox_of(recipient: Recipient) -> Recipient:
    """Return the same recipient without a name for people and with the domain in small letters.

    However an address is written, it is verified and turned off once.
    """
    if recipient.channel != MAIL:
        return recipient
    try:
        address = MailAddress.parse(recipient.address)
    except InputError:
        return recipient
    return Recipient(MAIL, f"{address.local}@{address.domain.lower()}")


def is_called(recipient: Recipient, name: str) -> bool:
    """Whether a person means a recipient by a name: its address, or the name in front of that."""
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


@dataclass(frozen=True, slots=True)
class RecipientProfile:
    """What a recipient wants of their messages.

    `zone` is the time zone in which times are printed beside UTC, empty for that of [mail].
    Outside of the hours `active` they are held; without any, a message comes at any hour. `digest`
    is when a digest comes, by the clocks of the zone.
    """

    zone: str = ""
    active: tuple[WeekSpan, ...] = ()
    digest: DigestTime | None = None


@dataclass(frozen=True, slots=True)
class ConfiguredRecipients:
    """What the settings say of recipients.

    `named` get what no rule sends elsewhere; `profiles` are by mailbox. Whoever writes the settings
    vouches for both and for channels; every other mail address has to be verified. `zone` is that
    of [mail]. `zones` returns the time zone of a name.
    """

    named: tuple[Recipient, ...] = ()
    profiles: Mapping[Recipient, RecipientProfile] = field(default_factory=dict)
    zone: str = "UTC"
    zones: Zones = utc_only

    def trusts(self, recipient: Recipient) -> bool:
        """Whether a recipient need not be verified."""
        if recipient.channel != MAIL:
            return True
        mailbox = mailbox_of(recipient)
        return mailbox in self.profiles or mailbox in map(mailbox_of, self.named)


NOTHING_CONFIGURED: Final = ConfiguredRecipients()


@dataclass(frozen=True, slots=True)
class RecipientDirectory:
    """All that is known of recipients at one moment, from the settings and from the store.

    The mappings are by mailbox.
    """

    configured: ConfiguredRecipients = NOTHING_CONFIGURED
    off: Mapping[Recipient, AddressOff] = field(default_factory=dict)
    verifications: Mapping[Recipient, Verification] = field(default_factory=dict)
    chosen: Mapping[Recipient, RecipientProfile] = field(default_factory=dict)
    suspect: Mapping[Recipient, SuspectAddress] = field(default_factory=dict)

    def status(self, recipient: Recipient) -> RecipientStatus:
        """Return whether a recipient gets messages; off outweighs everything else."""
        mailbox = mailbox_of(recipient)
        if mailbox in self.off:
            return RecipientStatus.OFF
        if self.configured.trusts(recipient):
            return RecipientStatus.TRUSTED
        known = self.verifications.get(mailbox)
        is_verified = known is not None and known.verified_at is not None
        return RecipientStatus.VERIFIED if is_verified else RecipientStatus.NOT_VERIFIED

    def withheld(self, recipient: Recipient) -> str:
        """Say why nothing is sent to a recipient; empty where it is."""
        off = self.off.get(mailbox_of(recipient))
        if off is not None:
            return off.reason
        is_verified = self.status(recipient) is not RecipientStatus.NOT_VERIFIED
        return "" if is_verified else NOT_VERIFIED

    def requested_at(self) -> list[datetime]:
        """Return when the latest verification mail of each address was asked for."""
        asked = [each.requested_at for each in self.verifications.values()]
        return [each for each in asked if each is not None]

    def profile(self, recipient: Recipient) -> RecipientProfile:
        """Return what a recipient wants: what the settings say outweighs what was chosen later."""
        mailbox = mailbox_of(recipient)
        wanted = self.configured.profiles.get(mailbox) or self.chosen.get(mailbox)
        return wanted or RecipientProfile()

    def zone(self, recipient: Recipient) -> tzinfo:
        """Return the time zone of a recipient's messages."""
        return self.configured.zones(self.profile(recipient).zone or self.configured.zone)

    def hold(self, recipient: Recipient, at: datetime, why: str) -> tuple[datetime, str]:
        """Return when a message that is held until `at` for a reason goes, and for which reasons.

        The reason is empty where nothing holds it.
        """
        released = self.released_at(recipient, at)
        if released == at:
            return at, why
        return released, "; ".join(filter(None, (why, QUIET_HOURS)))

    def released_at(self, recipient: Recipient, at: datetime) -> datetime:
        """Return the first moment from `at` on that is none of a recipient's quiet hours."""
        spans = self.profile(recipient).active
        return ActiveHours(spans).next_on(at, self.zone(recipient)) if spans else at
