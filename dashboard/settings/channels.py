"""[channels.NAME]: where alerts go besides mail, and the check that each can be used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final, Literal

from msgspec import Struct

from dashboard.alert.channels.apprise_service import service_scheme
from dashboard.alert.channels.http_to_public_addresses import HttpTarget, parse_target
from dashboard.alert.channels.webhook import parse_signing_secret
from dashboard.domain.quantity import shorten
from dashboard.domain.secret import Secret
from dashboard.errors import InputError
from dashboard.settings.layers import Remark, SettingPath
from dashboard.settings.values import is_loopback

MAIL: Final = "mail"
"""The channel of [mail], whose recipients are addresses; any other channel is its own recipient."""

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}", re.ASCII)


class ChannelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[channels.NAME]: one channel besides mail.

    `secrets` sign webhooks: several while one replaces another. `username` and `password` are for
    an Alertmanager that requires a login. `default`: whether it gets what the recipients of [mail]
    get. `allow_private`: it may be on this machine or its networks; `allow_clear_text`: it may be
    contacted without TLS.
    """

    kind: Literal["webhook", "alertmanager", "apprise"]
    url: Secret
    secrets: list[Secret] = []
    username: str = ""
    password: Secret = Secret("")
    default: bool = True
    allow_private: bool = False
    allow_clear_text: bool = False
    timeout: timedelta = timedelta(seconds=10)


def check_fallback(name: str, channels: Mapping[str, ChannelSettings]) -> Iterator[Remark]:
    """Report a fallback that is not a channel."""
    if name and name not in channels:
        known = ", ".join(channels) or "none"
        message = f"is {shorten(name)}, not a table of [channels]: there are {known}"
        yield ("alerts", "fallback"), message


def check_heartbeat(url: Secret) -> Iterator[Remark]:
    """Report an address that cannot get heartbeats; it may contain a key, so it is not shown."""
    if not url:
        return
    try:
        target = parse_target(url)
    except InputError as error:
        yield ("alerts", "heartbeat_url"), str(error)
        return
    if is_clear_text(target):
        message = (
            "begins with http://, so that others could read its key on the way: write https://"
        )
        yield ("alerts", "heartbeat_url"), message


def check_channels(channels: Mapping[str, ChannelSettings]) -> Iterator[Remark]:
    """Yield the mistakes in each channel."""
    for name, channel in channels.items():
        path = ("channels", name)
        yield from _check_name(name, path)
        yield from _check_url(channel, path)
        yield from _check_secrets(channel, path)


def _check_name(name: str, path: SettingPath) -> Iterator[Remark]:
    if name == MAIL:
        yield path, "is the channel of [mail]: give this one another name"
    elif not _NAME.fullmatch(name):
        message = (
            f"is called {shorten(name)}: write small letters, digits and -, a letter first, "
            "40 at most"
        )
        yield path, message


def _check_url(channel: ChannelSettings, path: SettingPath) -> Iterator[Remark]:
    """Report an invalid address; it may contain a key, so it is not shown."""
    try:
        if channel.kind == "apprise":
            service_scheme(channel.url)
            return
        target = parse_target(channel.url)
    except InputError as error:
        yield (*path, "url"), str(error)
        return
    if is_clear_text(target) and not channel.allow_clear_text:
        message = (
            "begins with http://, so that others could read alerts and keys on the way: write "
            "https://, or allow_clear_text = true beside it"
        )
        yield (*path, "url"), message


def is_clear_text(target: HttpTarget) -> bool:
    """Whether messages to it could be read beyond this machine."""
    return not target.is_tls and not is_loopback(target.host)


def _check_secrets(channel: ChannelSettings, path: SettingPath) -> Iterator[Remark]:
    if channel.kind != "webhook" and channel.secrets:
        yield (*path, "secrets"), "is for webhooks only: remove it"
    if channel.kind != "alertmanager" and (channel.username or channel.password):
        yield (*path, "username"), "and password are for kind alertmanager only: remove them"
    if channel.kind == "webhook" and not channel.secrets:
        yield path, "lacks secrets, by which the receiver knows who sends: add one"
    for secret in channel.secrets:
        try:
            parse_signing_secret(secret)
        except InputError as error:
            yield (*path, "secrets"), str(error)
