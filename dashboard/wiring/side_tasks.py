"""What a worker does beside delivery: repeat alerts to Alertmanagers, send the heartbeat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from dashboard.alert import digests, mail_fallback, repeat_alerts, verification_mails
from dashboard.alert.bounce_mailbox import (
    BounceMailbox,
    ImapMailbox,
    ImapServer,
    MaildirMailbox,
)
from dashboard.alert.channels.http_exchange import HttpRules, parse_target
from dashboard.alert.compose import Links, NetworkName
from dashboard.alert.digests import Digests
from dashboard.alert.heartbeat import Heartbeat
from dashboard.alert.mail_fallback import MailFallback
from dashboard.alert.repeat_alerts import AlertRepeater
from dashboard.alert.side_tasks import SideTask, SideTasks
from dashboard.alert.turn_off_bounced import BounceReader
from dashboard.alert.verification_mails import VerificationMails
from dashboard.domain.quantity import NetworkId
from dashboard.settings import Settings
from dashboard.settings.channels import MAIL
from dashboard.settings.tls import tls_context
from dashboard.store.engine.engine import Store
from dashboard.wiring.channels import (
    alertmanager_of,
    channel_of,
    configured_recipients,
    mail_channel,
    message_domain,
)
from dashboard.wiring.clock import elapsed, utc_now
from dashboard.wiring.networks import Network, networks_of


def side_tasks(
    settings: Settings, store: Store, names: Mapping[NetworkId, NetworkName]
) -> SideTasks:
    """Return what the settings ask for; `names` are those of the watched networks."""
    links = Links(settings.pages.public_url)
    tasks = [
        *_repeaters(settings, store, names, links),
        *_fallback(settings, store),
        *_heartbeat(settings, store),
        *_bounces(settings, store),
        _verification(settings, store),
        _digests(settings, store),
    ]
    return SideTasks(tasks, elapsed)


def _repeaters(
    settings: Settings, store: Store, names: Mapping[NetworkId, NetworkName], links: Links
) -> Iterator[SideTask]:
    for name, each in settings.channels.items():
        if each.kind == "alertmanager":
            channel = alertmanager_of(each, settings)
            repeater = AlertRepeater(store, channel, names, links, utc_now)
            yield SideTask(f"repeat to {name}", repeat_alerts.PERIOD, repeater.work)


def _fallback(settings: Settings, store: Store) -> Iterator[SideTask]:
    name = settings.alerts.fallback
    if name:
        channel, after = channel_of(name, settings), settings.alerts.fallback_after
        watch = MailFallback(store, MAIL, name, channel, after, utc_now)
        yield SideTask("mail fallback", mail_fallback.PERIOD, watch.work)


def _heartbeat(settings: Settings, store: Store) -> Iterator[SideTask]:
    alerts = settings.alerts
    if alerts.heartbeat_url:
        rules = HttpRules(
            trust=tls_context(settings.tls), allow_private=alerts.heartbeat_allow_private
        )
        target = parse_target(alerts.heartbeat_url)
        networks = [each.network_id for each in networks_of(settings) if _is_watched(each)]
        heartbeat = Heartbeat(store, networks, target, rules, utc_now)
        yield SideTask("heartbeat", alerts.heartbeat_period, heartbeat.work)


def _verification(settings: Settings, store: Store) -> SideTask:
    mails = VerificationMails(
        store,
        mail_channel(settings),
        configured_recipients(settings),
        settings.pages.public_url,
        message_domain(settings),
        utc_now,
    )
    return SideTask("verification mails", verification_mails.PERIOD, mails.work)


def _digests(settings: Settings, store: Store) -> SideTask:
    networks = [each.network_id for each in networks_of(settings) if _is_watched(each)]
    configured, domain = configured_recipients(settings), message_domain(settings)
    made = Digests(store, configured, networks, domain, utc_now)
    return SideTask("digests", digests.PERIOD, made.work)


def _bounces(settings: Settings, store: Store) -> Iterator[SideTask]:
    mailbox = _bounce_mailbox(settings)
    if mailbox is not None:
        reader = BounceReader(store, mailbox, MAIL, utc_now)
        yield SideTask("bounces", settings.bounces.period, reader.work)


def _bounce_mailbox(settings: Settings) -> BounceMailbox | None:
    bounces = settings.bounces
    if bounces.maildir:
        return MaildirMailbox(Path(bounces.maildir).expanduser())
    if not bounces.imap_host:
        return None
    return ImapMailbox(
        ImapServer(
            bounces.imap_host,
            bounces.imap_port,
            bounces.username,
            bounces.password,
            bounces.mailbox,
            trust=tls_context(settings.tls),
        )
    )


def _is_watched(network: Network) -> bool:
    """Whether anything is asked about a network."""
    endpoints = network.endpoints
    return bool(endpoints.exclusion or endpoints.gas or endpoints.all_nodes)
