"""The channels of an installation, who gets what over them, and who notifies."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Mapping
from datetime import UTC, tzinfo
from typing import Final

from msgspec.structs import replace

from dashboard.alert.channels.alertmanager import AlertmanagerChannel
from dashboard.alert.channels.apprise_service import AppriseChannel
from dashboard.alert.channels.http_to_public_addresses import HttpRules, parse_target
from dashboard.alert.channels.maildir import MaildirChannel
from dashboard.alert.channels.smtp import SmtpChannel, SmtpServer
from dashboard.alert.channels.webhook import WebhookChannel
from dashboard.alert.compose import Links, NetworkName
from dashboard.alert.deliver import Deliverer, DeliveryPolicy, Sending
from dashboard.alert.message import (
    Channel,
    MaySend,
    Message,
    MessageHeaders,
    Watch,
    always,
    ignore,
)
from dashboard.alert.message_writer import MessageWriter, load_templates
from dashboard.alert.notify import Notifier
from dashboard.domain.alerts.hourly_cap import HourlyCap
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.rule_table import RuleNames
from dashboard.domain.alerts.signed_link import KEY_LENGTH
from dashboard.domain.quantity import NetworkId
from dashboard.errors import (
    DeliveryBlocked,
    InputError,
    SettingsError,
    StoreError,
    StoreUnavailable,
)
from dashboard.logs import get_logger
from dashboard.poll.lease import Clocks
from dashboard.settings import Settings
from dashboard.settings.channels import MAIL, ChannelSettings
from dashboard.settings.check_together import is_ehlo_name
from dashboard.settings.chosen import Chosen, with_chosen
from dashboard.settings.mail import dkim_signer
from dashboard.settings.own_files import read_rule_file
from dashboard.settings.schema import fill
from dashboard.settings.tls import tls_context
from dashboard.settings.values import zone_of
from dashboard.store.alerts.notifications import link_key, make_link_key
from dashboard.store.chosen_settings import chosen_values
from dashboard.store.engine.engine import Store
from dashboard.wiring.clock import elapsed, utc_now
from dashboard.wiring.networks import Network, line_limits
from dashboard.wiring.recipients import configured_recipients, message_domain
from dashboard.wiring.store import in_force


class MailInForce:
    """The channel for mail by the choices on the page Settings when a message is sent."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store
        self._last: tuple[object, Channel] | None = None

    def send(self, message: Message, headers: MessageHeaders, may_send: MaySend = always) -> str:
        """Send one message over the channel in force."""
        return self._channel().send(message, headers, may_send)

    def _channel(self) -> Channel:
        """Return that channel; DeliveryBlocked if the choices contradict the files."""
        try:
            with self._store.read() as connection:
                chosen = chosen_values(connection)
        except StoreError as error:
            raise DeliveryBlocked(f"the chosen mail server cannot be read: {error}") from error
        last = self._last
        if last is None or last[0] != chosen:
            self._last = last = chosen, chosen_mail_channel(self._settings, chosen)
        return last[1]


def open_channels(settings: Settings) -> dict[str, Channel]:
    """Return every channel of the files by its name."""
    named = {name: channel_of(name, settings) for name in settings.channels}
    return {MAIL: mail_channel(settings), **named}


def chosen_mail_channel(settings: Settings, chosen: Chosen, watch: Watch = ignore) -> Channel:
    """Return the channel for mail with the choices; DeliveryBlocked if these are wrong."""
    changed, mistakes = with_chosen(settings, chosen)
    if mistakes:
        raise DeliveryBlocked(f"the mail server chosen on the page Settings: {mistakes[0]}")
    return mail_channel(changed, watch)


def channel_of(name: str, settings: Settings, watch: Watch = ignore) -> Channel:
    """Return the channel of a name in [channels]."""
    channel = settings.channels[name]
    if channel.kind == "alertmanager":
        return alertmanager_of(channel, settings, watch)
    if channel.kind == "apprise":
        return fill(AppriseChannel, channel, watch=watch)
    rules = _http_rules(channel, settings, watch)
    return WebhookChannel(parse_target(channel.url), channel.secrets, utc_now, rules)


def alertmanager_of(
    channel: ChannelSettings, settings: Settings, watch: Watch = ignore
) -> AlertmanagerChannel:
    """Return the channel of an Alertmanager."""
    rules = _http_rules(channel, settings, watch)
    target = parse_target(channel.url)
    return fill(AlertmanagerChannel, channel, target=target, clock=utc_now, rules=rules)


def _http_rules(channel: ChannelSettings, settings: Settings, watch: Watch) -> HttpRules:
    """Return how a channel's address is asked."""
    return fill(HttpRules, channel, trust=tls_context(settings.tls), watch=watch)


def mail_channel(settings: Settings, watch: Watch = ignore) -> Channel:
    """Return the channel for mail: the SMTP server, or files if none is configured."""
    mail = settings.mail
    if not mail.smtp_host:
        return MaildirChannel(settings.home / "mail", mail.sender)
    return _smtp_channel(settings, watch)


def greet_mail_server(settings: Settings) -> None:
    """Do everything with the mail server but send; DeliveryError says what fails."""
    if settings.mail.smtp_host:
        _smtp_channel(settings, ignore).greet(settings.mail.recipients)


def _smtp_channel(settings: Settings, watch: Watch) -> SmtpChannel:
    mail = settings.mail
    own_name = mail.ehlo_name or _name_of_this_machine()
    server = fill(SmtpServer, mail, trust=tls_context(settings.tls), ehlo_name=own_name)
    return SmtpChannel(server, mail.sender, watch, dkim_signer(mail))


def _name_of_this_machine() -> str:
    """Return the name of this machine without a DNS query, which may block."""
    name = socket.gethostname()
    return name if is_ehlo_name(name) else "localhost"


REAL_CLOCKS: Final = Clocks(utc_now, elapsed)
_log = get_logger("delivery")


def open_notifier(
    settings: Settings,
    store: Store,
    networks: tuple[Network, ...],
    channels: Mapping[str, Channel] | None = None,
    clocks: Clocks = REAL_CLOCKS,
) -> Notifier:
    """Return the notifier over the configured channels, or over others of the same names."""
    links = Links(settings.pages.public_url, _key_of_links(store))
    zone = zone_of(settings.mail.time_zone)
    templates = load_templates(network_names(networks), links, zone)
    configured = replace(configured_recipients(settings), zones=_zone_or_utc)
    programs = [name for name, each in settings.channels.items() if each.kind != "apprise"]
    writer = MessageWriter(store, templates, configured, programs)
    own = {**open_channels(settings), MAIL: MailInForce(settings, store)}
    sending = Sending(channels or own, writer.write)
    cap = HourlyCap(settings.alerts.largest_hourly, uncapped=configured.alertmanagers)
    policy = DeliveryPolicy(cap=cap)
    deliverer = Deliverer(store, sending, clocks.now, clocks.elapsed, policy)
    domain = message_domain(in_force(settings, store))
    return Notifier(store, configured, deliverer, clocks.now, domain=domain)


def _zone_or_utc(name: str) -> tzinfo:
    """Return the zone of stored hours, UTC if it is gone: one rule must keep no others back."""
    try:
        return zone_of(name)
    except SettingsError:
        return UTC


def network_names(networks: tuple[Network, ...]) -> dict[NetworkId, NetworkName]:
    """Return the name of each network in messages."""
    return {
        each.network_id: NetworkName(each.title, each.is_simulated, line_limits(each))
        for each in networks
    }


def _key_of_links(store: Store) -> bytes:
    """Return the key that signs links, created the first time.

    Empty if the disk of a store without one is full: then messages contain no such links.
    """
    with store.read() as connection:
        known = link_key(connection)
    if known is not None:
        return known
    try:
        with store.write() as connection:
            return make_link_key(connection, secrets.token_bytes(KEY_LENGTH))
    except StoreUnavailable as error:
        _log.warning("no key was made for the links in messages", why=str(error))
        return b""


def rules_of_text(names: RuleNames, text: str) -> tuple[Rule, ...]:
    """Return the rules that a person wrote on a page; InputError names every mistake."""
    read = read_rule_file("the file", text, names)
    if read.mistakes:
        raise InputError("; ".join(map(str, read.mistakes)))
    return read.rules
