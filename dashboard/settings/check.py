"""What must hold of the settings together: refuse what is well-formed and yet unsafe."""

from __future__ import annotations

import ipaddress

from dashboard.domain.quantity import shorten
from dashboard.errors import SettingsError
from dashboard.settings.schema import Settings


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
