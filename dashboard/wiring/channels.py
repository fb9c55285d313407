"""The channels of an installation, and who gets what no rule sends elsewhere."""

from __future__ import annotations

import socket
import ssl
from typing import Final

from dashboard.alert.channels.alertmanager import AlertmanagerChannel
from dashboard.alert.channels.apprise_service import AppriseChannel
from dashboard.alert.channels.http_exchange import HttpRules, parse_target
from dashboard.alert.channels.maildir import MaildirChannel
from dashboard.alert.channels.smtp import Security, SmtpChannel, SmtpServer
from dashboard.alert.channels.stage import Watch, ignore
from dashboard.alert.channels.webhook import WebhookChannel
from dashboard.alert.message import Channel
from dashboard.domain.active_hours import WeekSpan
from dashboard.domain.digest import DigestTime
from dashboard.domain.mail_address import MailAddress
from dashboard.domain.notification import NO_DOMAIN, Recipient
from dashboard.domain.recipients import ConfiguredRecipients, RecipientProfile, mailbox_of
from dashboard.settings import MailSettings, Settings
from dashboard.settings.channels import MAIL, ChannelSettings
from dashboard.settings.check import is_ehlo_name
from dashboard.settings.dkim import dkim_signer
from dashboard.settings.time_zone import zone_of
from dashboard.settings.tls import tls_context
from dashboard.wiring.clock import utc_now

_LONGEST_DOMAIN: Final = 150
"""What the store has room for, beside the rest of a Message-ID."""

NOBODY: Final = "oncall@localhost"
"""The recipient of an installation that names none: its mails are files in its Maildir."""


def open_channels(settings: Settings) -> dict[str, Channel]:
    """Return every channel by its name."""
    named = {name: channel_of(name, settings) for name in settings.channels}
    return {MAIL: mail_channel(settings), **named}


def default_recipients(settings: Settings) -> list[Recipient]:
    """Return who gets what no rule sends elsewhere: those of [mail], and channels."""
    mailed = [Recipient(MAIL, each) for each in settings.mail.recipients]
    named = [Recipient(name, name) for name, each in settings.channels.items() if each.default]
    return mailed + named or [Recipient(MAIL, NOBODY)]


def configured_recipients(settings: Settings) -> ConfiguredRecipients:
    """Return what the settings say of recipients; whom they name need not be verified."""
    profiles = {
        mailbox_of(recipient_named(name, settings)): RecipientProfile(
            each.time_zone,
            tuple(map(WeekSpan.parse, each.active)),
            DigestTime.parse(each.digest) if each.digest else None,
        )
        for name, each in settings.recipients.items()
    }
    named = tuple(default_recipients(settings))
    return ConfiguredRecipients(named, profiles, settings.mail.time_zone, zone_of)


def message_domain(settings: Settings) -> str:
    """Return the domain below which Message-IDs stand: the sender's, as mail providers expect."""
    domain = MailAddress.parse(settings.mail.sender).domain.strip("[]")
    return domain if len(domain) <= _LONGEST_DOMAIN else NO_DOMAIN


def recipient_named(text: str, settings: Settings) -> Recipient:
    """Return the recipient of an address or of a channel's name."""
    return Recipient(text if text in settings.channels else MAIL, text)


def channel_of(name: str, settings: Settings, watch: Watch = ignore) -> Channel:
    """Return the channel of a name in [channels]."""
    channel = settings.channels[name]
    if channel.kind == "alertmanager":
        return alertmanager_of(channel, settings, watch)
    if channel.kind == "apprise":
        return AppriseChannel(channel.url, channel.timeout, channel.allow_private, watch)
    rules = _http_rules(channel, settings, watch)
    return WebhookChannel(parse_target(channel.url), channel.secrets, utc_now, rules)


def alertmanager_of(
    channel: ChannelSettings, settings: Settings, watch: Watch = ignore
) -> AlertmanagerChannel:
    """Return the channel of an Alertmanager."""
    return AlertmanagerChannel(
        parse_target(channel.url),
        utc_now,
        _http_rules(channel, settings, watch),
        channel.username,
        channel.password,
    )


def _http_rules(channel: ChannelSettings, settings: Settings, watch: Watch) -> HttpRules:
    """Return how a channel's address is asked."""
    return HttpRules(
        timeout=channel.timeout,
        trust=tls_context(settings.tls),
        allow_private=channel.allow_private,
        watch=watch,
    )


def mail_channel(settings: Settings, watch: Watch = ignore) -> Channel:
    """Return the channel for mail: the SMTP server, or files where none is configured."""
    mail = settings.mail
    if not mail.smtp_host:
        return MaildirChannel(settings.home / "mail", mail.sender)
    server = _smtp_server(mail, tls_context(settings.tls))
    return SmtpChannel(server, mail.sender, watch, dkim_signer(mail))


def _smtp_server(mail: MailSettings, trust: ssl.SSLContext) -> SmtpServer:
    return SmtpServer(
        host=mail.smtp_host,
        port=mail.smtp_port,
        security=Security(mail.security),
        username=mail.username,
        password=mail.password,
        timeout=mail.timeout,
        trust=trust,
        own_name=mail.ehlo_name or _name_of_this_machine(),
    )


def _name_of_this_machine() -> str:
    """Return the name of this machine without a DNS query, which may block."""
    name = socket.gethostname()
    return name if is_ehlo_name(name) else "localhost"
