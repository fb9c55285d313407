"""The recipients in the settings of an installation."""

from __future__ import annotations

from typing import Final

from dashboard.domain.alerts.notification import NO_DOMAIN, DigestTime, Recipient
from dashboard.domain.people.active_hours import WeekSpan
from dashboard.domain.people.recipients import (
    ConfiguredRecipients,
    MailAddress,
    RecipientProfile,
    mailbox_of,
    one_of_each,
)
from dashboard.settings import Settings
from dashboard.settings.channels import MAIL
from dashboard.settings.values import zone_of
from dashboard.store.chosen_settings import RECIPIENTS

_LONGEST_DOMAIN: Final = 150
"""The room of the store, beside the rest of a Message-ID."""

NOBODY: Final = "oncall@localhost"
"""The recipient of an installation that names none: its mails are files in its Maildir."""


def default_recipients(settings: Settings) -> list[Recipient]:
    """Return the recipients of rules that name none: those of [mail], and channels."""
    mailed = one_of_each(Recipient(MAIL, each) for each in settings.mail.recipients)
    named = [Recipient(name, name) for name, each in settings.channels.items() if each.default]
    return [*mailed, *named] or [Recipient(MAIL, NOBODY)]


def configured_recipients(settings: Settings) -> ConfiguredRecipients:
    """Return the recipients in the settings, who need no verification."""
    profiles = {
        mailbox_of(recipient_named(name, settings)): RecipientProfile(
            each.time_zone,
            tuple(map(WeekSpan.parse, each.active)),
            DigestTime.parse(each.digest) if each.digest else None,
        )
        for name, each in settings.recipients.items()
    }
    named = tuple(default_recipients(settings))
    is_open = RECIPIENTS not in settings.fixed
    return ConfiguredRecipients(
        named,
        profiles,
        settings.mail.time_zone,
        zone_of,
        alertmanagers(settings),
        is_open,
        tuple(settings.channels),
    )


def alertmanagers(settings: Settings) -> frozenset[str]:
    """Return the names of the channels that are Alertmanagers."""
    return frozenset(
        name for name, each in settings.channels.items() if each.kind == "alertmanager"
    )


def message_domain(settings: Settings) -> str:
    """Return the domain of Message-IDs: the sender's, as mail providers expect."""
    domain = MailAddress.parse(settings.mail.sender).domain.strip("[]")
    return domain if len(domain) <= _LONGEST_DOMAIN else NO_DOMAIN


def recipient_named(text: str, settings: Settings) -> Recipient:
    """Return the recipient with an address or a channel's name."""
    return Recipient(text if text in settings.channels else MAIL, text)
