"""The worker role: poll every network, deliver notifications, and run side tasks."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from uuid import uuid4

from dashboard.alert import mail_fallback, verification_mails
from dashboard.alert.bounces import (
    BounceMailbox,
    BounceReader,
    ImapMailbox,
    ImapServer,
    MaildirMailbox,
)
from dashboard.alert.channels.http_to_public_addresses import HttpRules, parse_target
from dashboard.alert.compose import Links, NetworkName
from dashboard.alert.mail_fallback import MailFallback
from dashboard.alert.side_tasks import (
    DIGEST_PERIOD,
    REPEAT_PERIOD,
    AlertRepeater,
    Digests,
    Heartbeat,
    SideTask,
    SideTasks,
)
from dashboard.alert.verification_mails import VerificationMails
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.health.coverage import Watched
from dashboard.domain.quantity import NetworkId
from dashboard.poll.gas_from_node import GasFromNode
from dashboard.poll.jobs import Periods, PollingWorker, WatchedNetwork, run_polling_worker
from dashboard.poll.lease import Clocks, Lease
from dashboard.poll.measured_rules import PeerCertificates
from dashboard.settings import Settings
from dashboard.settings.channels import MAIL
from dashboard.settings.schema import fill
from dashboard.settings.tls import own_authorities, take_seen_certificates, tls_context
from dashboard.store.engine.connection import LONGEST_PAUSE
from dashboard.store.engine.disk import path_of
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import WORKER_LEASE
from dashboard.upstream.budget import NetworkBudgets
from dashboard.wiring.channels import (
    MailInForce,
    alertmanager_of,
    channel_of,
    network_names,
    open_notifier,
)
from dashboard.wiring.clients import Clients, open_clients, tls_servers
from dashboard.wiring.clock import elapsed, utc_now
from dashboard.wiring.networks import (
    Network,
    after_limits,
    cadence_of,
    condition_rules,
    gas_periods,
    line_limits,
    networks_of,
    receipt_credits,
)
from dashboard.wiring.recipients import configured_recipients, message_domain
from dashboard.wiring.store import in_force, open_role_store


async def run_worker(settings: Settings, stop: asyncio.Event) -> None:
    """Work, or stand by while another worker does, until `stop`.

    A worker that is paused, or cut off from a database server, while it writes delays the others
    for half its lease at most, so the next one takes over in time.
    """
    networks = networks_of(settings)
    lease = settings.worker.lease
    with closing(open_role_store(settings, min(lease / 2, LONGEST_PAUSE))) as store:
        async with open_clients(settings, store=store) as clients:
            watched = [_watched(network, clients, settings) for network in networks]
            beside = side_tasks(settings, store, network_names(networks))
            worker = PollingWorker(
                store=store,
                lease=Lease(store, WORKER_LEASE, _name_of_this_process(), lease, elapsed),
                networks=watched,
                delivery=replace(open_notifier(settings, store, networks), beside=beside),
                periods=Periods(exclusion_tick=settings.poll.exclusion_tick),
                clocks=Clocks(utc_now, elapsed),
                new_id=uuid4,
                rules=condition_rules(settings),
                retention=settings.store.retention,
                low_space=settings.store.low_space,
                certificates=own_authorities(settings.tls),
                peers=PeerCertificates(tls_servers(settings), take_seen_certificates),
            )
            await run_polling_worker(worker, stop)


def _watched(network: Network, clients: Clients, settings: Settings) -> WatchedNetwork:
    follower = clients.follower(network, settings.fees)
    exclusion = clients.exclusion(network)
    return WatchedNetwork(
        network.network_id,
        gas_periods(network, settings),
        gas=clients.gas(network),
        exclusion=exclusion,
        inclusion=clients.inclusion(network),
        block_time=network.endpoints.block_time,
        gas_from_node=None
        if follower is None
        else GasFromNode(follower, Clocks(utc_now, elapsed), network.endpoints.stalls_after),
        limits_end=line_limits(network).end,
        cadence=cadence_of(network, settings),
        after_limits=after_limits(network),
        blocks=clients.blocks(network),
        new_blocks=clients.new_blocks(network),
        meter=clients.meters[network.network_id],
        budgets=clients.budgets(network, exclusion),
        node_budgets=node_budgets(network, clients),
    )


def node_budgets(network: Network, clients: Clients) -> NetworkBudgets | None:
    """Return the budget of the node that is asked first, if it has one."""
    nodes = network.endpoints.all_nodes
    keeper = clients.keepers.get(nodes[0].budget) if nodes else None
    if keeper is None:
        return None
    return NetworkBudgets({"": (keeper, receipt_credits(keeper.budget))}, lambda: ("",))


def _name_of_this_process() -> str:
    """Return a name that no other process ever has."""
    return f"{socket.gethostname()}/{os.getpid()}/{uuid4()}"


def side_tasks(
    settings: Settings, store: Store, names: Mapping[NetworkId, NetworkName]
) -> SideTasks:
    """Return the tasks that the settings ask for; `names` are those of the watched networks."""
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
            repeater = AlertRepeater(store, Recipient(name, name), channel, names, links, utc_now)
            yield SideTask(f"repeat to {name}", REPEAT_PERIOD, repeater.work)


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
        watched = {
            (each.network_id, part) for each in networks_of(settings) for part in _parts_of(each)
        }
        heartbeat = Heartbeat(store, watched, target, rules, utc_now)
        yield SideTask("heartbeat", alerts.heartbeat_period, heartbeat.work)


def _verification(settings: Settings, store: Store) -> SideTask:
    mails = VerificationMails(
        store,
        MailInForce(settings, store),
        configured_recipients(settings),
        settings.pages.public_url,
        message_domain(in_force(settings, store)),
        utc_now,
    )
    return SideTask("verification mails", verification_mails.PERIOD, mails.work)


def _digests(settings: Settings, store: Store) -> SideTask:
    networks = [each.network_id for each in networks_of(settings) if any(_parts_of(each))]
    configured, domain = configured_recipients(settings), message_domain(in_force(settings, store))
    made = Digests(store, configured, networks, domain, utc_now)
    return SideTask("digests", DIGEST_PERIOD, made.work)


def _bounces(settings: Settings, store: Store) -> Iterator[SideTask]:
    mailbox = _bounce_mailbox(settings)
    if mailbox is not None:
        reader = BounceReader(store, mailbox, MAIL, utc_now)
        yield SideTask("bounces", settings.bounces.period, reader.work)


def _bounce_mailbox(settings: Settings) -> BounceMailbox | None:
    bounces = settings.bounces
    if bounces.maildir:
        return MaildirMailbox(path_of(bounces.maildir))
    if not bounces.imap_host:
        return None
    return ImapMailbox(fill(ImapServer, bounces, trust=tls_context(settings.tls)))


def _parts_of(network: Network) -> Iterator[Watched]:
    """Yield what is asked about a network."""
    endpoints = network.endpoints
    if endpoints.gas or endpoints.all_nodes:
        yield Watched.FEES
    if endpoints.all_exclusions:
        yield Watched.REJECTIONS
