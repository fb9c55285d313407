"""Commands at an installation elsewhere: its address, and the token for it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import msgspec

from dashboard.application.application import CommandRequest, CommandResult
from dashboard.domain.quantity import shorten
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, UpstreamUnreadable
from dashboard.settings.values import is_loopback
from dashboard.upstream.management import post_json

_TOKEN: Final = "LINEWATCH_TOKEN"  # noqa: S105 - the name of a variable
_SERVICE: Final = "linewatch"
"""The name under which a keyring keeps tokens, with the address as the user."""

_VALID: Final = re.compile(r"[\x21-\x7e]{1,200}", re.ASCII)
_LARGEST_STATUS: Final = 255


def run_at(address: str, arguments: tuple[str, ...], files: Mapping[str, str]) -> CommandResult:
    """Run a command at an installation; InputError or UpstreamError say what is wrong."""
    server, request = server_address(address), CommandRequest(arguments, files)
    answer = post_json(f"{server}/api/v1/commands", token_for(server), msgspec.json.encode(request))
    try:
        done = msgspec.json.decode(answer, type=CommandResult)
    except (msgspec.DecodeError, UnicodeDecodeError):
        done = None
    if done is None or not 0 <= done.status <= _LARGEST_STATUS:
        raise UpstreamUnreadable(f"{server} answers with something other than a command's output")
    return done


def server_address(text: str) -> str:
    """Read the address of an installation's pages; InputError, which quotes no password."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.username is not None or parts.password is not None:
        raise InputError(
            "the address of the server holds a name or a password: leave it out, and put a token "
            f"into {_TOKEN}"
        )
    is_whole = parts.scheme in {"http", "https"} and parts.hostname
    if not is_whole or parts.query or parts.fragment or not text.isprintable():
        raise InputError(
            f"{shorten(text)} is not the address of a Linewatch: write it as in a browser, such as "
            "https://watch.example"
        )
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise InputError(
            f"http://{parts.netloc} would send the token unencrypted: write https:// (http:// is "
            "for this machine only)"
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def token_for(server: str) -> Secret:
    """Return the token for an address: that of the environment, else of the keyring."""
    found = os.environ.get(_TOKEN, "").strip() or _kept(server)
    if not found:
        raise InputError(
            f"there is no token for {server}: put one into {_TOKEN}, or save it with "
            f"`keyring set {_SERVICE} {server}`"
        )
    if not _VALID.fullmatch(found):
        raise InputError(
            f"the token for {server} holds characters that no token has: copy it again"
        )
    return Secret(found)


def _kept(server: str) -> str:
    """Return the token in the keyring of the system, if the library `keyring` is installed."""
    try:
        import keyring  # noqa: PLC0415 - need not be installed
        from keyring.errors import KeyringError  # noqa: PLC0415 - likewise
    except ImportError:
        return ""
    try:
        return (keyring.get_password(_SERVICE, server) or "").strip()
    except KeyringError:
        raise InputError(
            f"the keyring gives no token: unlock it, or put the token into {_TOKEN}"
        ) from None
