"""Types of settings beyond text and numbers: durations, sizes, fees, rates, secrets."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from dashboard.domain.formatting import LENGTH_EXAMPLES, LONGEST, read_duration, read_fee
from dashboard.domain.people.access import parse_rate
from dashboard.domain.quantity import Wei, shorten
from dashboard.domain.secret import Secret
from dashboard.domain.tracking.transaction_cost import CoinPrice, read_coin_price
from dashboard.errors import InputError, SettingsError
from dashboard.settings.layers import read_text
from dashboard.store.engine.disk import path_of

_SIZE: Final = re.compile(r"(\d{1,9})(B|kB|MB)", re.ASCII)
_WIDEST_NETWORK: Final = 8
"""Bits that all addresses of a network have in common, at least."""

_CREDENTIALS: Final = "CREDENTIALS_DIRECTORY"
"""The variable with the folder into which systemd puts the credentials that a unit loads."""

_SIZE_UNITS: Final = {"B": 1, "kB": 1000, "MB": 1000_000}


class KeptFor:
    """How long something is kept, written as a duration or as forever, which is None.

    No dataclass: msgspec would read one from a table.
    """

    def __init__(self, length: timedelta | None) -> None:
        self.length: Final = length


class Rate(float):
    """Calls a second, written as a whole number and a unit: 50/s, 600/m, 1000/h, or none."""


class ByteSize(int):
    """A number of bytes, written as a whole number and a unit: 512B, 64kB, 1MB."""


class FreeSpace(ByteSize):
    """How many bytes should be free; 0B: none need be."""


def parse_fee(text: object) -> Wei:
    """Read a fee exactly, zero included; ValueError says what is expected."""
    try:
        return read_fee(text)
    except InputError as error:
        raise ValueError(str(error)) from error


def parse_price(text: object) -> CoinPrice:
    """Read the price of a coin; ValueError says what is expected."""
    try:
        return read_coin_price(text)
    except InputError as error:
        raise ValueError(str(error)) from error


_UNIX_SECONDS: Final = range(10**9, 10**10)


def parse_point_in_time(written: object) -> datetime:
    """Read a moment; ValueError says what is expected."""
    if isinstance(written, str):
        written = _moment_of_text(written)
    if isinstance(written, int) and written in _UNIX_SECONDS:
        return datetime.fromtimestamp(written, UTC)
    if isinstance(written, datetime) and written.tzinfo is not None:
        return written.astimezone(UTC)
    if isinstance(written, date) and not isinstance(written, datetime):
        return datetime(written.year, written.month, written.day, tzinfo=UTC)
    raise ValueError(_no_moment(written))


def _moment_of_text(text: str) -> object:
    """Return what TOML would have made of it without quotes."""
    for read in (int, date.fromisoformat, datetime.fromisoformat):
        with suppress(ValueError):
            return read(text)
    return text


def _no_moment(written: object) -> str:
    return (
        f"{shorten(str(written))} is not a time; write it as 2027-01-15T12:00:00Z, a date, or "
        "seconds since 1970 as the sequencer's option has them"
    )


def parse_duration(text: object, most: timedelta = LONGEST) -> timedelta:
    """Read a length of time above zero, as `read_duration` does; ValueError says so."""
    length = _length(text, most)
    if length is None:
        msg = (
            f"{shorten(str(text))} is not a duration; write a number and a unit, such as "
            f"{LENGTH_EXAMPLES}"
        )
        raise ValueError(msg)
    return length


def parse_kept_for(text: object) -> KeptFor:
    """Read a duration or forever; ValueError says what is expected."""
    if text == "forever":
        return KeptFor(None)
    length = _length(text)
    if length is None:
        msg = f"{shorten(str(text))} is not a duration; write one such as 14d or 12h, or forever"
        raise ValueError(msg)
    return KeptFor(length)


def _length(text: object, most: timedelta = LONGEST) -> timedelta | None:
    """Read a length that a clock can count; None if the text has another form."""
    try:
        length = read_duration(text, most)
    except InputError as error:
        raise ValueError(str(error)) from error
    if length is not None and not length:
        msg = f"{text} is too short; write more than zero, such as 250ms or 4s"
        raise ValueError(msg)
    return length


def parse_size(text: object) -> ByteSize:
    """Read a size above zero; ValueError says what is expected."""
    if not (size := parse_free_space(text)):
        msg = f"{text} is too small; write more than zero, such as 64kB or 1MB"
        raise ValueError(msg)
    return ByteSize(size)


def parse_free_space(text: object) -> FreeSpace:
    """Read a size, zero included; ValueError says what is expected."""
    match = _SIZE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        msg = f"{shorten(str(text))} is not a size; write a number and a unit, such as 64kB or 1MB"
        raise ValueError(msg)
    return FreeSpace(int(match[1]) * _SIZE_UNITS[match[2]])


def parse_rate_setting(text: object) -> Rate:
    """Read a rate; ValueError says what is expected."""
    try:
        return Rate(parse_rate(str(text)))
    except InputError as error:
        raise ValueError(str(error)) from error


def parse_secret(text: object, variables: Mapping[str, str]) -> Secret:
    """Read a secret: the text itself, ``env:NAME`` or ``file:/path``; errors never show it.

    The path may begin with ``$CREDENTIALS_DIRECTORY``, where systemd puts what a unit loads.
    """
    if not isinstance(text, str):
        msg = "a secret is text, env:NAME or file:/path"
        raise ValueError(msg)  # noqa: TRY004 - the caller turns ValueError into a named setting
    if text.startswith("env:"):
        return _secret_from_variable(text.removeprefix("env:"), variables)
    if text.startswith("file:"):
        return _secret_from_file(secret_path(text.removeprefix("file:"), variables))
    return Secret(text)


def _secret_from_variable(name: str, variables: Mapping[str, str]) -> Secret:
    if not variables.get(name):
        msg = f"the variable {name} is not set; set it, or name another one after env:"
        raise ValueError(msg)
    return Secret(variables[name])


def secret_path(path: str, variables: Mapping[str, str]) -> Path:
    """Return the file that is named after ``file:``; ValueError if no unit loads credentials."""
    name = path.removeprefix(f"${_CREDENTIALS}/")
    if name == path:
        return path_of(path)
    if not (folder := variables.get(_CREDENTIALS)):
        msg = f"the variable {_CREDENTIALS} is not set; systemd sets it if a unit loads credentials"
        raise ValueError(msg)
    return Path(folder, name)


def _secret_from_file(path: Path) -> Secret:
    try:
        secret = read_text(path).strip()
    except OSError as error:
        msg = f"the secret file {path} cannot be read: {error.strerror}"
        raise ValueError(msg) from error
    except UnicodeDecodeError:
        msg = f"the secret file {path} is not UTF-8 text"
        raise ValueError(msg) from None  # the error would quote the secret
    if not secret:
        msg = f"the secret file {path} is empty; write the secret into it"
        raise ValueError(msg)
    return Secret(secret)


def zone_of(name: str) -> tzinfo:
    """Return the zone of that name; SettingsError if there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise SettingsError(
            f"is {shorten(name)}, which is not a time zone: write one such as Europe/Zurich or UTC"
        ) from error


def host_of(url: str) -> str | None:
    """Return the host of an address, in lower case; None for no host or an impossible port."""
    try:
        address = urlsplit(url)
        has_port = address.port != 0
    except ValueError:
        return None
    return (address.hostname or "").removesuffix(".") or None if has_port else None


def origin_of(url: str) -> str:
    """Return the origin of a web address that has a host, as browsers send it."""
    address, host = urlsplit(url), host_of(url) or ""
    scheme = address.scheme.lower()
    usual = {"http": 80, "https": 443}.get(scheme)
    port = "" if address.port in {None, usual} else f":{address.port}"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}{port}"


def authority_of(host: str, port: int) -> str:
    """Return a host and a port as they stand in an address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def network_of(text: str) -> IPv4Network | IPv6Network:
    """Read the address of a machine or of a network; ValueError says what is expected."""
    try:
        network = ipaddress.ip_network(text)
    except ValueError:
        msg = (
            f"{shorten(text)}, which is not a network: write an address such as 10.0.0.5, or "
            "a network such as 10.0.0.0/24"
        )
        raise ValueError(msg) from None
    if network.prefixlen < _WIDEST_NETWORK:
        msg = f"{network}, which is too wide: name the addresses of the proxy alone"
        raise ValueError(msg)
    return network


def is_loopback(host: str) -> bool:
    """Whether traffic to a host never leaves this machine; names are not resolved."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_wildcard(host: str) -> bool:
    """Whether listening there is listening on every address of this machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return not host
