"""What is wrong on this machine, each with its remedy: files, disk, ports, clock, servers."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import ssl
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

from anyio import to_thread

from dashboard.application.attention import Attention, Remedy
from dashboard.application.health import FREE_SPACE_ADVICE, is_space_low
from dashboard.application.text import sentence
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.formatting import capitalized, size, span
from dashboard.domain.secret import MASK, Secret
from dashboard.errors import (
    DeliveryError,
    RoleError,
    UpstreamError,
    UpstreamRefused,
    UpstreamUnavailable,
)
from dashboard.settings import Settings
from dashboard.settings.listing import EffectiveSetting, effective_settings
from dashboard.settings.load import Configuration, own_file
from dashboard.settings.tls import tls_context
from dashboard.settings.values import authority_of, secret_path
from dashboard.store.engine.engine import Store, product_of
from dashboard.upstream.endpoint import Endpoint
from dashboard.upstream.http import HttpAsker, HttpClient, RetryPolicy, open_client, server_time
from dashboard.wiring.channels import greet_mail_server
from dashboard.wiring.clients import tls_servers, upstream_origins
from dashboard.wiring.clock import utc_now
from dashboard.wiring.roles import Role, refuse_taken_ports, roles_of
from dashboard.wiring.store import os_user

_PATIENCE: Final = timedelta(seconds=5)
"""How long one server may take to answer: doctor asks all at the same time."""

_CLOCKS_APART: Final = timedelta(seconds=10)
"""Far more than an answer takes, and than correct clocks differ."""

_OTHERS: Final = 0o007
_LIVE: Final = frozenset({b"live\n", b'{"status":"OK"}'})
"""The answer of the pages and serve on /live."""


def machine_troubles(configuration: Configuration, settings: Settings) -> list[Attention]:
    """Return what is wrong on this machine now, with a question to each server but no API call."""
    return [
        *_files(configuration),
        *_state_folder(settings),
        *_authorities(settings),
        *asyncio.run(_servers(settings)),
    ]


def database_product(store: Store) -> str:
    """Return the name and the version of the store's database system."""
    with store.read() as connection:
        return product_of(connection)


def _trouble(
    headline: str, text: str, advice: str, severity: Severity = Severity.WARNING
) -> Attention:
    return Attention(headline, text, Remedy.WORKER, advice=advice, severity=severity)


def _files(configuration: Configuration) -> Iterator[Attention]:
    """Report secrets that every user of this machine may read or replace."""
    effective = list(effective_settings(configuration))
    own = own_file(configuration.variables)
    holders = set(_named_files(effective, configuration.variables))
    if any(_is_secret_of(own, each) for each in effective):
        holders.add(own)
    for path in sorted(holders):
        if _is_open_to_others(path):
            yield _trouble(
                f"Every user of this machine may read {path}, which holds secrets.",
                "",
                f"Run `chmod o= {shlex.quote(str(path))}`.",
            )


def _named_files(effective: list[EffectiveSetting], variables: Mapping[str, str]) -> Iterator[Path]:
    for each in effective:
        for value in each.value if isinstance(each.value, list) else [each.value]:
            if isinstance(value, str) and value.startswith("file:"):
                with suppress(ValueError):  # which the check of the settings says
                    yield secret_path(value.removeprefix("file:"), variables)


def _is_secret_of(file: Path, each: EffectiveSetting) -> bool:
    return each.value == MASK and each.location is not None and each.location.source == str(file)


def _is_open_to_others(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & _OTHERS)
    except OSError:  # not there, which the check of the settings says
        return False


def _state_folder(settings: Settings) -> Iterator[Attention]:
    home = settings.home
    place = next(each for each in (home, *home.parents) if each.exists())
    if not os.access(place, os.W_OK | os.X_OK):
        yield _trouble(
            f"{capitalized(os_user())} may not write into the state folder {home}.",
            "",
            f"Run this as its owner, or `chown -R {shlex.quote(os_user())} "
            f"{shlex.quote(str(home))}`; a container needs a volume there.",
            Severity.CRITICAL,
        )
    elif place == home and _is_open_to_others(home):
        yield _trouble(
            f"Every user of this machine may read the state folder {home}.",
            "",
            f"Run `chmod o= {shlex.quote(str(home))}`.",
        )
    free = shutil.disk_usage(place).free
    if settings.store.url and is_space_low(free, settings.store.low_space):
        headline = f"The disk of the state folder has {size(free)} free."
        yield _trouble(headline, "", FREE_SPACE_ADVICE, Severity.CRITICAL)


def _authorities(settings: Settings) -> Iterator[Attention]:
    """Report a system that trusts no certificate, as a bare Debian does."""
    paths = ssl.get_default_verify_paths()
    folder = Path(paths.capath) if paths.capath else None
    is_there = paths.cafile or (folder is not None and any(folder.iterdir()))
    if not is_there and tls_servers(settings):
        yield _trouble(
            "This machine trusts no certificate authority, so nothing is asked over TLS.",
            "",
            "Install their certificates; on Debian: `apt-get install ca-certificates`.",
            Severity.CRITICAL,
        )


async def _servers(settings: Settings) -> list[Attention]:
    async with open_client(tls_context(settings.tls)) as http:
        found = await asyncio.gather(
            *(_port(http, role) for role in roles_of(settings)),
            _upstreams(http, settings),
            _public_url(http, settings),
            _mail_server(settings),
        )
    return [trouble for each in found for trouble in each]


async def _port(http: HttpClient, role: Role) -> list[Attention]:
    """Report a port that something else uses; a running role uses its own."""
    if role.address is None:
        return []
    host, port = role.address
    origin = f"http://{authority_of(host, port)}"
    if role.name == "devnet":
        is_ours = await role.is_ready()
    else:
        is_ours = await _live(http, role.name, origin) in _LIVE
    try:
        if not is_ours:
            await to_thread.run_sync(refuse_taken_ports, [role])
    except RoleError as error:
        headline, _, advice = capitalized(str(error)).partition(": ")
        return [_trouble(f"{headline}.", "", sentence(capitalized(advice)), Severity.CRITICAL)]
    return []


async def _live(http: HttpClient, name: str, origin: str) -> bytes | UpstreamError:
    """Return what /live answers there, or why it does not."""
    endpoint = Endpoint(name, Secret(origin), _PATIENCE)
    asker = HttpAsker(http, endpoint, RetryPolicy(attempts=1, deadline=2 * _PATIENCE))
    try:
        return await asker.get("live", {}, 100)
    except UpstreamError as error:
        return error


async def _public_url(http: HttpClient, settings: Settings) -> list[Attention]:
    """Report an address for links in mails that leads nowhere, or to something else.

    A proxy that asks people to sign in first refuses us, which is as good as an answer.
    """
    url = settings.pages.public_url
    name = "The address in pages.public_url"
    answer: object = await _live(http, name, url) if url else b"live\n"
    if isinstance(answer, UpstreamRefused):
        answer = await _ahead(http, url, name)  # an error if its certificate is refused by us
    if isinstance(answer, UpstreamUnavailable | UpstreamRefused):
        advice = f"Links in messages lead to {url}: start the pages and the proxy before them, "
        advice += "renew its certificate, or correct public_url in [pages]."
        return [_trouble(sentence(str(answer)), "Asked from this machine.", advice)]
    if isinstance(answer, bytes) and answer not in _LIVE:
        advice = "Correct public_url in [pages]: links in messages lead there."
        return [_trouble(f"{url} does not lead to the pages.", "", advice)]
    return []


async def _mail_server(settings: Settings) -> list[Attention]:
    """Report a mail server that would accept no mail of ours, without sending one."""
    try:
        await to_thread.run_sync(greet_mail_server, settings)
    except DeliveryError as error:
        advice = "Correct [mail], or the server; `linewatch alerts test-send` sends a message."
        return [_trouble(sentence(capitalized(str(error))), "", advice, Severity.CRITICAL)]
    return []


async def _upstreams(http: HttpClient, settings: Settings) -> list[Attention]:
    """Report servers that cannot be reached, and a clock that differs from those of all others."""
    servers = upstream_origins(settings)
    asked = await asyncio.gather(*(_ahead(http, *each) for each in servers.items()))
    advice = "Check the address, DNS, the firewall and [tls]; `linewatch config try` asks it all."
    found = [
        _trouble(sentence(capitalized(str(each))), "", advice, Severity.CRITICAL)
        for each in asked
        if isinstance(each, UpstreamError)
    ]
    ahead = [each for each in asked if isinstance(each, timedelta)]
    least = min(ahead, key=abs, default=timedelta())
    if abs(least) > _CLOCKS_APART:
        how = "ahead of" if least > timedelta() else "behind"
        headline = f"The clock of this machine is {span(abs(least))} {how} those of its servers."
        advice = "Set it, and keep it right; on Debian: `apt-get install systemd-timesyncd`."
        found.append(_trouble(headline, "", advice))
    return found


async def _ahead(http: HttpClient, origin: str, name: str) -> timedelta | UpstreamError | None:
    """Return how far our clock is ahead of a server's, if it says its time."""
    before = utc_now()
    try:
        theirs = await server_time(http, Endpoint(name, Secret(origin), _PATIENCE))
    except UpstreamError as error:
        return error
    return None if theirs is None else before + (utc_now() - before) / 2 - theirs
