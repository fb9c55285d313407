"""What must hold of the settings together: refuse what is well-formed and yet unsafe."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from dashboard.domain.quantity import shorten
from dashboard.errors import SettingsError
from dashboard.settings.schema import MailSettings, NetworkSettings, Settings

_MAIL_ADDRESS: Final = re.compile(r"[!-?A-~]+@[!-?A-~]+", re.ASCII)
_HTTP_SCHEME: Final = ("https://", "http://")
_ANY_SCHEME: Final = (*_HTTP_SCHEME, "wss://", "ws://")


def check_together(settings: Settings) -> None:
    """Raise SettingsError for what is unsafe or contradictory, naming the way out."""
    if not _is_loopback(settings.pages.host):
        msg = (
            f"pages.host is {shorten(settings.pages.host)}: pages have no sign-in yet, so they "
            "accept only a loopback address such as 127.0.0.1"
        )
        raise SettingsError(msg)
    for host, section in ((settings.serve.host, "serve"), (settings.devnet.host, "devnet")):
        if settings.has_development_key and not _is_loopback(host):
            msg = (
                f"{section}.host is {shorten(host)}: beyond loopback, serve needs a key of your "
                "own; add a table [serve.keys.NAME] with key"
            )
            raise SettingsError(msg)
    if settings.has_devnet and not settings.has_development_key:
        _check_devnet_key(settings)
    _check_mail(settings.mail)
    for name, network in settings.networks.items():
        _check_addresses(name, network)


def _check_mail(mail: MailSettings) -> None:
    for key, address in (
        ("sender", mail.sender),
        *(("recipients", each) for each in mail.recipients),
    ):
        if not _MAIL_ADDRESS.fullmatch(address):
            raise SettingsError(
                f"mail.{key} holds {shorten(address)}, which is no mail address: "
                "write name@host in ASCII"
            )
    if mail.smtp_host and not mail.recipients:
        raise SettingsError("mail.smtp_host is set and mail.recipients is empty: say who gets mail")


def _check_addresses(name: str, network: NetworkSettings) -> None:
    """Refuse endpoints that cannot be asked; an address may hold a key, so it is not shown."""
    endpoints = {
        "exclusion": (network.exclusion, _ANY_SCHEME),
        "gas": (network.gas, _HTTP_SCHEME),
        "node": (network.node, _ANY_SCHEME),
    }
    for role, (endpoint, schemes) in endpoints.items():
        if endpoint is not None and not endpoint.url.reveal().startswith(schemes):
            raise SettingsError(
                f"networks.{name}.{role}.url does not begin with {' or '.join(schemes)}: "
                "write the whole address"
            )


def _check_devnet_key(settings: Settings) -> None:
    if settings.devnet.key not in {own.key for own in settings.serve.keys.values()}:
        msg = (
            "devnet.key is not one of your [serve.keys.*]: with keys or networks of your own the "
            "development key is off; set devnet.key to one of them, or devnet.mode to off"
        )
        raise SettingsError(msg)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
