"""Trials: every endpoint is asked once, and a test message is sent over the channel of alerts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from uuid import uuid4

from dashboard.alert.message import Channel, MessageHeaders, Watch
from dashboard.alert.own_messages import message_of_trial
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.people.access import Action, Actor, Detail
from dashboard.domain.people.recipients import MailAddress
from dashboard.domain.quantity import shorten
from dashboard.errors import DeliveryError, DeliveryRefused, InputError
from dashboard.poll.cadence import CadencePolicy
from dashboard.poll.clocks import Clocks
from dashboard.poll.trial import Cost, Trial, TrialResult, calls_per_transaction, gas_calls_per_day
from dashboard.settings import Settings
from dashboard.settings.channels import MAIL
from dashboard.store.access.audit_log import note_action
from dashboard.store.alerts.notifications import written_message_id
from dashboard.store.alerts.recipients import read_directory
from dashboard.store.engine.engine import Store
from dashboard.wiring.channels import (
    channel_of,
    configured_recipients,
    default_recipients,
    mail_channel,
    message_domain,
)
from dashboard.wiring.clients import Clients, open_clients
from dashboard.wiring.clock import elapsed, utc_now
from dashboard.wiring.networks import Network, gas_periods, networks_of, sees_all_reports


@dataclass(frozen=True, slots=True)
class TriedNetwork:
    """A network with the answers of its endpoints; `cost` is None where calls are free."""

    network: Network
    findings: tuple[TrialResult, ...]
    cost: Cost | None


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


def cost_of(network: Network, settings: Settings) -> Cost | None:
    """Return the calls that polling takes; None where our own serve answers them."""
    endpoints = network.endpoints
    if sees_all_reports(network, settings) or (endpoints.gas is endpoints.exclusion is None):
        return None
    cadence = CadencePolicy(shortest_interval=settings.poll.shortest_interval)
    return Cost(
        gas_calls_per_day(gas_periods(network, settings)) if endpoints.gas else 0,
        calls_per_transaction(cadence) if endpoints.exclusion else 0,
    )


async def _findings(network: Network, clients: Clients) -> AsyncIterator[TrialResult]:
    trial = Trial(Clocks(utc_now, elapsed))
    exclusion = clients.exclusion(network)
    if exclusion is not None:
        async for finding in trial.exclusion(exclusion, *clients.other_transport(network)):
            yield finding
    gas = clients.gas(network)
    if gas is not None:
        async for finding in trial.gas(gas):
            yield finding
    nodes = clients.nodes(network)
    for place, node in enumerate(nodes, start=1):
        async for finding in trial.node(node, network.network_id):
            yield finding if len(nodes) == 1 else replace(finding, endpoint=f"node {place}")


@dataclass(frozen=True, slots=True)
class TriedRecipient:
    """Whether a test message was taken, and the answer, or why it was not."""

    recipient: Recipient
    was_sent: bool
    answer: str


def recipients_to_try(address: str, channel: str, settings: Settings) -> list[Recipient]:
    """Return who gets a test message: an address, a channel, or all that get alerts by default.

    InputError for what is no address, and for a channel that is not configured.
    """
    if address:
        MailAddress.parse(address)
        return [Recipient(MAIL, address)]
    if not channel:
        return default_recipients(settings)
    if channel not in settings.channels:
        known = ", ".join(settings.channels) or "none"
        raise InputError(
            f"{shorten(channel)} is no channel of [channels]: there are {known}; --to is for mail"
        )
    return [Recipient(channel, channel)]


def try_recipient(
    recipient: Recipient, settings: Settings, store: Store, actor: Actor, watch: Watch
) -> TriedRecipient:
    """Send a test message, and log in the audit log that it was sent or refused."""
    headers = MessageHeaders(
        written_message_id(uuid4(), message_domain(settings)), recipient.address, actor.at
    )
    try:
        _require_reachable(recipient, settings, store)
        answer = _channel(recipient, settings, watch).send(message_of_trial(actor), headers)
        tried = TriedRecipient(recipient, was_sent=True, answer=answer)
    except DeliveryError as error:
        tried = TriedRecipient(recipient, was_sent=False, answer=str(error))
    with store.write() as connection:
        details: dict[str, Detail] = {
            "channel": recipient.channel,
            "sent": tried.was_sent,
            "answer": tried.answer,
        }
        note_action(connection, actor.at, actor.name, Action.TEST_SEND, recipient.address, details)
    return tried


def _require_reachable(recipient: Recipient, settings: Settings, store: Store) -> None:
    """Raise DeliveryRefused where nothing may be sent to a recipient, a test message neither."""
    with store.read() as connection:
        why = read_directory(connection, configured_recipients(settings)).withheld(recipient)
    if why:
        raise DeliveryRefused(f"{why}; `linewatch recipients list` shows more")


def _channel(recipient: Recipient, settings: Settings, watch: Watch) -> Channel:
    if recipient.channel == MAIL:
        return mail_channel(settings, watch)
    return channel_of(recipient.channel, settings, watch)
