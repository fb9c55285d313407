"""Trials: every endpoint is asked once, and a test message is sent over the channel of alerts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from dashboard.alert.compose import message_of_trial
from dashboard.alert.message import MessageHeaders, Watch, ignore
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.health.observation import Cost, TrialResult
from dashboard.domain.people.access import Actor
from dashboard.domain.people.recipients import MailAddress
from dashboard.domain.quantity import shorten
from dashboard.errors import InputError
from dashboard.poll.lease import Clocks
from dashboard.poll.trial import Trial
from dashboard.settings import Settings
from dashboard.settings.channels import MAIL
from dashboard.settings.chosen import Chosen, with_chosen
from dashboard.store.alerts.notifications import written_message_id
from dashboard.wiring.channels import channel_of, chosen_mail_channel
from dashboard.wiring.clients import Clients, open_clients
from dashboard.wiring.clock import elapsed, utc_now
from dashboard.wiring.networks import Network, cost_of, networks_of
from dashboard.wiring.recipients import default_recipients, message_domain


class TriedNetwork(Struct, frozen=True):
    """A network with the answers of its endpoints, and what polling it costs."""

    network: Network
    findings: tuple[TrialResult, ...]
    cost: Cost


async def try_networks(settings: Settings, only: int | None = None) -> list[TriedNetwork]:
    """Ask each endpoint of each network once, or of the one with this id, without retries."""
    async with open_clients(settings, attempts=1) as clients:
        return [
            TriedNetwork(
                network,
                tuple([finding async for finding in _findings(network, clients)]),
                cost_of(network, settings),
            )
            for network in networks_of(settings)
            if only in {None, network.network_id}
        ]


async def _findings(network: Network, clients: Clients) -> AsyncIterator[TrialResult]:
    trial = Trial(Clocks(utc_now, elapsed))
    for name, client in clients.exclusions(network).items():
        other, transport, is_configured = clients.other_transport(network, name)
        async for finding in trial.exclusion(client, other, transport, is_configured=is_configured):
            yield replace(finding, endpoint=f"exclusion {name}".strip())
    gas = clients.gas(network)
    if gas is not None:
        async for finding in trial.gas(gas):
            yield finding
    nodes = clients.nodes(network)
    for place, node in enumerate(nodes, start=1):
        async for finding in trial.node(node, network.network_id):
            yield finding if len(nodes) == 1 else replace(finding, endpoint=f"node {place}")


def recipients_to_try(address: str, channel: str, settings: Settings) -> list[Recipient]:
    """Return who gets a test message: an address, a channel, or all that get alerts by default.

    InputError for an invalid address, and for a channel that is not configured.
    """
    if address:
        MailAddress.parse(address)
        return [Recipient(MAIL, address)]
    if not channel:
        return default_recipients(settings)
    if channel not in settings.channels:
        known = ", ".join(settings.channels) or "none"
        raise InputError(
            f"{shorten(channel)} is not a table of [channels]: there are {known}; --to is for mail"
        )
    return [Recipient(channel, channel)]


def send_trial(
    recipient: Recipient, settings: Settings, chosen: Chosen, actor: Actor, watch: Watch = ignore
) -> str:
    """Send a test message with the chosen settings; return the answer. DeliveryError if refused."""
    domain = message_domain(with_chosen(settings, chosen)[0])
    headers = MessageHeaders(written_message_id(uuid4(), domain), recipient.address, actor.at)
    if recipient.channel == MAIL:
        channel = chosen_mail_channel(settings, chosen, watch)
    else:
        channel = channel_of(recipient.channel, settings, watch)
    return channel.send(message_of_trial(actor), headers)
