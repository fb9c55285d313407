"""Who notifies, built from the settings: for the worker, or over other channels to rehearse."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Final

from dashboard.alert.compose import Links, NetworkName
from dashboard.alert.deliver import Deliverer, DeliveryPolicy
from dashboard.alert.delivery_attempt import Sending
from dashboard.alert.facts import with_facts
from dashboard.alert.message import Channel
from dashboard.alert.message_writer import MessageWriter
from dashboard.alert.notify import Notifier
from dashboard.alert.template_loader import load_templates
from dashboard.domain.notification_pace import Pace
from dashboard.domain.quantity import NetworkId
from dashboard.domain.signed_link import KEY_LENGTH
from dashboard.errors import StoreUnavailable
from dashboard.logs import get_logger
from dashboard.poll.clocks import Clocks
from dashboard.settings import Settings
from dashboard.settings.time_zone import zone_of
from dashboard.store.alerts.link_key import link_key, make_link_key
from dashboard.store.engine.engine import Store
from dashboard.wiring.channels import (
    configured_recipients,
    default_recipients,
    message_domain,
    open_channels,
)
from dashboard.wiring.clock import elapsed, utc_now
from dashboard.wiring.networks import Network, module_limits

REAL_CLOCKS: Final = Clocks(utc_now, elapsed)
_log = get_logger("delivery")


def open_notifier(
    settings: Settings,
    store: Store,
    networks: tuple[Network, ...],
    channels: Mapping[str, Channel] | None = None,
    clocks: Clocks = REAL_CLOCKS,
) -> Notifier:
    """Return who notifies over the configured channels, or over others of the same names."""
    names = network_names(networks)
    links = Links(settings.pages.public_url, _key_of_links(store))
    templates = load_templates(names, links, zone_of(settings.mail.time_zone))
    configured = configured_recipients(settings)
    writer = MessageWriter(store, templates, configured)
    programs = [name for name, each in settings.channels.items() if each.kind != "apprise"]
    write = with_facts(writer.write, writer.members, names, links, programs)
    sending = Sending(channels or open_channels(settings), write)
    policy = DeliveryPolicy(pace=Pace(settings.alerts.largest_hourly))
    deliverer = Deliverer(store, sending, clocks.now, clocks.elapsed, policy)
    recipients, domain = default_recipients(settings), message_domain(settings)
    return Notifier(store, recipients, deliverer, clocks.now, None, domain, configured)


def network_names(networks: tuple[Network, ...]) -> dict[NetworkId, NetworkName]:
    """Return how messages call each network."""
    return {
        each.network_id: NetworkName(each.title, each.is_simulated, module_limits(each))
        for each in networks
    }


def _key_of_links(store: Store) -> bytes:
    """Return the key with which links are signed, made the first time.

    It is empty, so that messages hold no such links, where a store without one is full.
    """
    with store.read() as connection:
        known = link_key(connection)
    if known is not None:
        return known
    try:
        with store.write() as connection:
            return make_link_key(connection, secrets.token_bytes(KEY_LENGTH))
    except StoreUnavailable as error:
        _log.warning("no key was made for the links in messages", error=str(error))
        return b""
