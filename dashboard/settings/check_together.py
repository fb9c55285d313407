"""Check settings against each other: well-formed, but unsafe or without effect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Final

from dashboard.devnet.genesis import SIMULATED
from dashboard.domain.allowed_hosts import HOST_NAME
from dashboard.domain.fees.suggestion import FeePolicy, LevelPolicy
from dashboard.domain.people.access import KEY_PREFIX
from dashboard.domain.quantity import shorten
from dashboard.domain.secret import Secret
from dashboard.errors import SettingsError
from dashboard.settings.budgets import check_budgets, endpoints_of
from dashboard.settings.channels import check_channels, check_fallback, check_heartbeat
from dashboard.settings.check_addresses import check_addresses, check_clear_text
from dashboard.settings.check_keys import quoted
from dashboard.settings.key_limits import DEVELOPMENT_KEY, check_keys
from dashboard.settings.layers import Remark, SettingPath
from dashboard.settings.mail import (
    MailSettings,
    check_bounces,
    check_dkim,
    check_recipients,
    is_mail_address,
    no_address,
)
from dashboard.settings.presets import line_limits_of, usual_limits_of
from dashboard.settings.schema import NetworkSettings, Settings, StoreSettings
from dashboard.settings.tls import check_tls
from dashboard.settings.values import zone_of

_EHLO_NAME: Final = re.compile(
    r"(?=.{1,255}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*"
    r"|\[(IPv6:)?[0-9a-f:.]{1,45}\]",
    re.ASCII | re.IGNORECASE,
)
"""The name of a machine, or its address in brackets, RFC 5321 section 4.1.3."""

_ORIGIN: Final = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^/\s?#@*]+", re.ASCII)

_LEVELS: Final = ("low", "medium", "high")

_SHORTEST: Final = {
    "keep_fees": (timedelta(days=1), "1d: the usual fee is computed from a day"),
    "keep_rejections": (timedelta(days=8), "8d: our own serve answers about the last seven days"),
    "keep_notifications": (timedelta(days=8), "8d: a mail is tried again for seven days"),
    "keep_credits": (timedelta(days=32), "32d: Health shows what this month cost"),
    "keep_coverage_gaps": (timedelta(days=30), "30d: Health lists the last 30 days"),
}
"""The shortest allowed value of each, and why."""

_SHORTEST_LAG: Final = timedelta(seconds=1)


def check_together(settings: Settings) -> Iterator[Remark]:
    """Yield what is unsafe or contradictory, with the remedy."""
    yield from _check_store(settings.store)
    yield from check_addresses(settings)
    yield from check_clear_text(settings)
    yield from check_tls(settings.tls)
    yield from _check_origins(settings)
    yield from _check_names(settings)
    yield from _check_devnet_key(settings)
    yield from check_keys(settings)
    yield from _check_networks(settings)
    yield from _check_own_serve(settings)
    yield from _check_recipients(settings.mail)
    yield from check_recipients(settings.recipients, settings.channels)
    if not is_mail_address(settings.mail.sender):
        yield ("mail", "sender"), no_address(settings.mail.sender)
    yield from _check_ehlo_name(settings.mail)
    yield from check_channels(settings.channels)
    yield from check_heartbeat(settings.alerts.heartbeat_url)
    yield from _check_time_zone(settings.mail)
    yield from check_dkim(settings.mail)
    yield from check_fallback(settings.alerts.fallback, settings.channels)
    yield from check_bounces(settings.bounces)
    yield from check_budgets(settings)
    yield from _check_fees(settings)


def _check_store(store: StoreSettings) -> Iterator[Remark]:
    """Report data that would be deleted while it is needed, and a replica that cannot be one."""
    if store.read_url.reveal() and not store.url.reveal().startswith("postgresql"):
        message = (
            "names a replica, but store.url is not a PostgreSQL server: "
            "set store.url to the address of the primary, or leave both out"
        )
        yield ("store", "read_url"), message
    if store.read_lag < _SHORTEST_LAG:
        yield (
            ("store", "read_lag"),
            "is too short: give the replica at least 1s",
        )
    for name, (least, why) in _SHORTEST.items():
        length = getattr(store, name).length
        if length is not None and length < least:
            yield ("store", name), f"is too short: keep them at least {why}"
    fees, minutes = store.keep_fees.length, store.keep_fee_minutes.length
    if minutes is not None and (fees is None or minutes < fees):
        message = (
            "is shorter than store.keep_fees, from which it is made: keep it as long, or longer"
        )
        yield ("store", "keep_fee_minutes"), message


def _check_origins(settings: Settings) -> Iterator[Remark]:
    """Browsers send origins in one form only: any other would never match."""
    for origin in settings.serve.cors_origins:
        if not _ORIGIN.fullmatch(origin):
            message = (
                f"holds {quoted(origin)}, which no browser sends: write it as "
                "https://wallet.example"
            )
            yield ("serve", "cors_origins"), message


def _check_names(settings: Settings) -> Iterator[Remark]:
    for name in settings.http.allowed_hosts:
        if not HOST_NAME.fullmatch(name):
            message = (
                f"holds {quoted(name)}, which is not a host name: write it without "
                "scheme and port, as watch.example"
            )
            yield ("http", "allowed_hosts"), message


def _check_fees(settings: Settings) -> Iterator[Remark]:
    common = list(_check_policy(settings.fees, ("fees",)))
    yield from common
    for name, network in () if common else settings.networks.items():
        if network.fees is not None:
            yield from _check_policy(network.fees, ("networks", name, "fees"))


def _check_policy(fees: FeePolicy, section: SettingPath) -> Iterator[Remark]:
    """Yield contradictory numbers, for all networks or one."""
    for name in ("history_blocks", "historical_blocks"):
        yield from _at_most(fees, section, name, "window_blocks")
    for name in ("recent_blocks", "trend_blocks"):
        yield from _at_most(fees, section, name, "historical_blocks")
    yield from _at_most(fees, section, "usual_percentile", "busy_percentile")
    yield from _check_range(fees, section)
    for name in _LEVELS:
        level: LevelPolicy = getattr(fees, name)
        if level.min_wait > level.max_wait:
            yield (*section, name, "min_wait"), "is longer than max_wait: swap the two"
    for below, above in pairwise(_LEVELS):
        for key in ("reward_percentile", "priority_fee_floor", "base_fee_share"):
            if getattr(getattr(fees, below), key) > getattr(getattr(fees, above), key):
                message = f"is below that of {below}: a higher level never suggests less"
                yield (*section, above, key), message


def _check_range(fees: FeePolicy, section: SettingPath) -> Iterator[Remark]:
    smallest, largest = fees.range_percentiles
    if smallest > largest:
        message = f"is {smallest} to {largest}: write the smaller percentile first"
        yield (*section, "range_percentiles"), message


def _at_most(fees: FeePolicy, section: SettingPath, name: str, bound: str) -> Iterator[Remark]:
    value, largest = getattr(fees, name), getattr(fees, bound)
    if value > largest:
        yield (*section, name), f"is {value}, more than {bound}, which is {largest}: lower it"


def _check_ehlo_name(mail: MailSettings) -> Iterator[Remark]:
    if mail.ehlo_name and not is_ehlo_name(mail.ehlo_name):
        message = (
            f"is {shorten(mail.ehlo_name)}: write a name such as mx.example.org, or [192.0.2.1]"
        )
        yield ("mail", "ehlo_name"), message


def _check_recipients(mail: MailSettings) -> Iterator[Remark]:
    for recipient in mail.recipients:
        if not is_mail_address(recipient):
            yield ("mail", "recipients"), no_address(recipient)
    if not mail.recipients and mail.smtp_host:
        yield ("mail", "recipients"), "is empty and mail.smtp_host is set: say who gets mail"


def _check_time_zone(mail: MailSettings) -> Iterator[Remark]:
    try:
        zone_of(mail.time_zone)
    except SettingsError as error:
        yield ("mail", "time_zone"), str(error)


def is_ehlo_name(text: str) -> bool:
    """Whether a mail server may be greeted with this."""
    return _EHLO_NAME.fullmatch(text) is not None


def _check_devnet_key(settings: Settings) -> Iterator[Remark]:
    if not settings.has_devnet:
        return
    if settings.has_development_key:
        if settings.devnet.key != DEVELOPMENT_KEY:
            message = (
                "is not dev, the only key that serve accepts without a key of your own: leave it "
                "out, or add it as a table [serve.keys.NAME] with key"
            )
            yield ("devnet", "key"), message
        return
    if not _is_accepted(settings.devnet.key, settings):
        message = (
            "is not one of your [serve.keys.*]: with keys or networks of your own the "
            "development key is off; set devnet.key to one of them, or to a key that "
            "`linewatch keys create` made, or devnet.mode to off"
        )
        yield ("devnet", "key"), message


def _check_networks(settings: Settings) -> Iterator[Remark]:
    simulated = SIMULATED[: settings.devnet.networks] if settings.has_devnet else ()
    ids = {int(each.network_id): each.title for each in simulated}
    titles = {each.title: each.title for each in simulated}
    for name, network in settings.networks.items():
        yield from _check_id(name, network, ids)
        yield from _check_title(name, network, titles)
        yield from _check_second_nodes(name, network)
        yield from _check_exclusions(name, network)
        if network.gas is not None and network.gas.key is None:
            yield (("networks", name, "gas"), "lacks key; add it")
        yield from _check_module_limits(name, network)
        yield from _check_limits_end(name, network)


def _check_id(name: str, network: NetworkSettings, known: dict[int, str]) -> Iterator[Remark]:
    """Add the network to `known`: names by id."""
    other = known.setdefault(network.network_id, name)
    if other != name:
        message = f"is {network.network_id}, as is that of {other}: a network is configured once"
        yield ("networks", name, "network_id"), message


def _check_title(name: str, network: NetworkSettings, known: dict[str, str]) -> Iterator[Remark]:
    """Pages, mails and metrics distinguish networks by their titles."""
    title = network.title or name
    other = known.setdefault(title, name)
    if other != name:
        message = f"is {title!r}, as {other} is called: give each network a title of its own"
        yield ("networks", name, "title"), message


def _check_second_nodes(name: str, network: NetworkSettings) -> Iterator[Remark]:
    for place, node in enumerate(network.nodes):
        if any(node is not other and node == other for other in network.all_nodes):
            message = "is configured twice: a standby has to be another node; remove one of the two"
            yield ("networks", name, "nodes", str(place)), message


def _check_exclusions(name: str, network: NetworkSettings) -> Iterator[Remark]:
    """Answers are stored by the names of endpoints, so two with one name would be one."""
    many = len(network.exclusions) + (network.exclusion is not None)
    if len(network.all_exclusions) < many:
        message = "hold two endpoints of one name: give each a name of its own"
        yield ("networks", name, "exclusions"), message


def _check_module_limits(name: str, network: NetworkSettings) -> Iterator[Remark]:
    try:
        usual_limits_of(network)
    except SettingsError as error:
        yield ("networks", name, "module_limits"), f"cannot be used: {error}"
        return
    try:
        line_limits_of(network)
    except SettingsError as error:
        yield ("networks", name, "limit_periods"), f"cannot be used: {error}"


def _check_limits_end(name: str, network: NetworkSettings) -> Iterator[Remark]:
    if network.line_limits_end_block is None:
        return
    path = ("networks", name, "line_limits_end_block")
    if network.line_limits_end is not None:
        yield path, "conflicts with line_limits_end: remove one of the two"
    if not network.all_nodes:
        yield path, "needs a node that says when the block comes: add node, or set line_limits_end"


def _check_own_serve(settings: Settings) -> Iterator[Remark]:
    for name, network in settings.networks.items():
        for path, endpoint in endpoints_of(network):
            if not endpoint.is_own_serve or path[0] in {"node", "nodes"}:
                continue
            if endpoint.key is None or not _is_accepted(endpoint.key, settings):
                message = "is not one of your [serve.keys.*], so our own serve would refuse it"
                yield ("networks", name, *path, "key"), message


def _is_accepted(key: Secret, settings: Settings) -> bool:
    """Whether our own serve may accept a key; keys in the store are not known here."""
    is_made = key.reveal().startswith(KEY_PREFIX)
    return is_made or key in {own.key for own in settings.serve.keys.values()}
