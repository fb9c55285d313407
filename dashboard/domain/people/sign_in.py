"""How people sign in: for how long, with which passwords, and how often they may try."""

from __future__ import annotations

import math
from base64 import b32encode
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network, IPv6Network
from typing import Final, TypeAlias

from msgspec import Struct, field

from dashboard.domain.formatting import counted
from dashboard.domain.ip_addresses import client_prefix, ip_address_of
from dashboard.domain.people.access import Role
from dashboard.domain.secret import Secret
from dashboard.errors import InputError

SHORTEST_PASSWORD: Final = 12
LONGEST_PASSWORD: Final = 200
_FEWEST_CHARACTERS: Final = 5
"""The least number of different characters in a password."""
_SHORTEST_NAME: Final = 3
"""Characters of a name that no password may hold: a shorter one is in many words."""


EVERYBODY: Final = "*"
"""A group that contains everybody whom an issuer, or the proxy, identifies."""


class Issuer(Struct, frozen=True):
    """An OpenID Connect provider that says who somebody is, and to which groups they belong.

    `name` is its name in the settings and in URLs, `label` the text of the button. `url` is the
    issuer identifier. `scopes` are requested, `groups` is the claim that lists groups; `roles`
    gives each group its role here.
    """

    name: str
    label: str
    url: str
    client_id: str
    client_secret: Secret
    scopes: str
    groups: str
    roles: Mapping[str, Role]

    def role_of(self, groups: Collection[str]) -> Role | None:
        """Return the highest role of these groups, None if they have none."""
        return _highest(self.roles, groups)


PROXY: Final = "proxy"
"""Stored in place of an issuer's URL for people whom a reverse proxy identifies."""

_LONGEST_HEADER: Final = 4_000
_LONGEST_SUBJECT: Final = 250


class Proxy(Struct, frozen=True):
    """A reverse proxy in front of the pages that says in headers who somebody is.

    Only requests from one of the `networks` are trusted. Header names are in lower case;
    `groups_separator` separates groups. People sign out at `sign_out_url`, if it is set.
    """

    networks: Sequence[IPv4Network | IPv6Network]
    header: str
    groups_header: str
    groups_separator: str
    roles: Mapping[str, Role]
    sign_out_url: str = ""
    label: str = "the proxy"
    url: str = PROXY

    def role_of(self, groups: Collection[str]) -> Role | None:
        """Return the highest role of these groups, None if they have none."""
        return _highest(self.roles, groups)

    def is_at(self, peer: str) -> bool:
        address = ip_address_of(peer)
        return address is not None and any(address in each for each in self.networks)

    def identity(self, headers: Sequence[tuple[bytes, bytes]]) -> Identity | None:
        """Return the person whom the proxy's headers name, None if they name nobody.

        InputError for a header that somebody else may have added to: it is repeated, a list, or not
        text.
        """
        subject = _only(headers, self.header)
        if not subject:
            return None
        if "," in subject or len(subject) > _LONGEST_SUBJECT:
            raise InputError(
                f"the proxy names nobody: {self.header} is a list, or longer than "
                f"{_LONGEST_SUBJECT} characters. Let the proxy replace what browsers send"
            )
        listed = _only(headers, self.groups_header) if self.groups_header else ""
        groups = frozenset(each.strip() for each in listed.split(self.groups_separator))
        return Identity(self, subject, subject, groups - {""})


def _only(headers: Sequence[tuple[bytes, bytes]], name: str) -> str:
    """Return the single value of a header; empty if it is missing."""
    values = [value for each, value in headers if each == name.encode()]
    if not values:
        return ""
    if len(values) > 1:
        raise InputError(
            f"{name} came {len(values)} times: let the proxy replace what browsers send"
        )
    try:
        text = values[0].decode().strip(" \t")
    except UnicodeDecodeError:
        raise InputError(f"{name} is not UTF-8 text: let the proxy send it so") from None
    if len(text) > _LONGEST_HEADER or not text.isprintable():
        raise InputError(
            f"{name} is longer than {_LONGEST_HEADER} characters, or holds some that cannot be "
            "printed: let the proxy send plain text"
        )
    return text


def _highest(roles: Mapping[str, Role], groups: Collection[str]) -> Role | None:
    given = {roles[each] for each in (*groups, EVERYBODY) if each in roles}
    return next((role for role in reversed(Role) if role in given), None)


class Identity(Struct, frozen=True):
    """A person as an issuer, or the proxy, describes them; foreign text except for `issuer`.

    `subject` never changes, `name` is for people, `sid` is the issuer's session, if it names it.
    """

    issuer: Issuer | Proxy
    subject: str
    name: str
    groups: frozenset[str]
    sid: str | None = None


class Site(Struct, frozen=True):
    """The origin of the pages in browsers, and its host, to which passkeys are bound."""

    origin: str
    host: str


class SignInPolicy(Struct, frozen=True):
    """How people sign in, and for how long.

    A sign-in lasts while it is used at least every `idle`, and never longer than `longest`.
    `accounts`: people may sign in with passwords of our own; `proxy`: with headers of a reverse
    proxy. Issuers redirect people to addresses below `public_url`, and passkeys are bound to its
    `site`; if it is empty, to where the pages are on this machine. For the roles in
    `second_factor`, a password alone is not enough.
    """

    idle: timedelta
    longest: timedelta
    accounts: bool = True
    issuers: Mapping[str, Issuer] = field(default_factory=dict)
    public_url: str = ""
    site: Site = Site("http://localhost:8501", "localhost")
    proxy: Proxy | None = None
    second_factor: Collection[Role] = ()

    def lets_in(self, issuer: str | None) -> bool:
        """Whether people may sign in by an issuer or `PROXY`; None stands for our own accounts."""
        if issuer is None:
            return self.accounts
        if issuer == PROXY:
            return self.proxy is not None
        return any(each.url == issuer for each in self.issuers.values())


def refuse_weak_password(password: Secret, name: str) -> None:
    """Raise InputError, with the remedy, for a password that is easy to guess."""
    text = password.reveal()
    if len(text) < SHORTEST_PASSWORD:
        raise InputError(f"the password is too short: use at least {SHORTEST_PASSWORD} characters")
    if len(text) > LONGEST_PASSWORD:
        raise InputError(f"the password is too long: use at most {LONGEST_PASSWORD} characters")
    holds_name = len(name) >= _SHORTEST_NAME and name.lower() in text.lower()
    if len(set(text)) < _FEWEST_CHARACTERS or holds_name:
        raise InputError("the password repeats few characters or your name: use several words")


RECOVERY_CODES: Final = 10
RECOVERY_OCTETS: Final = 10
"""Random octets of a recovery code: too many to guess, so a plain hash of it is enough."""


def recovery_code(octets: bytes) -> str:
    """Format a recovery code in groups of four letters and digits."""
    letters = b32encode(octets).decode()
    return "-".join(letters[start : start + 4] for start in range(0, len(letters), 4))


def bare_code(text: str) -> str:
    """Return a code in its canonical form, however it was typed."""
    return "".join(text.replace("-", "").split()).upper()


class _Bound(Struct, frozen=True):
    """A burst of failed attempts, and one more after each `recovery`."""

    burst: int
    recovery: timedelta


_OF_NAME_AND_ADDRESS: Final = _Bound(5, timedelta(minutes=1))
_OF_NAME: Final = _Bound(50, timedelta(seconds=30))
_OF_ADDRESS: Final = _Bound(100, timedelta(seconds=5))
_OF_CODES: Final = _Bound(10, timedelta(minutes=15))
_OF_ALL_PASSKEYS: Final = _Bound(1_000, timedelta(milliseconds=100))
"""A bound over all addresses: each passkey request is stored before anybody is known."""

_CODE: Final = ("code",)
_PASSKEY: Final = ("passkey",)
_MOST_REMEMBERED: Final = 30_000
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
_Bounds: TypeAlias = dict[tuple[str, ...], _Bound]


class AttemptThrottle:
    """Limits how fast passwords are guessed: by name and address together, by name, and by address.

    An address is an IPv4 address, or the IPv6 network of a client. The bound of a name is wider
    than that of a name and address, so that a stranger who guesses from elsewhere does not lock a
    person out. Codes have a bound of their own, since only somebody with the password can try one.
    So have passkeys, so that flooding one way to sign in leaves the other open. For one thread at a
    time.
    """

    def __init__(self) -> None:
        self._counts_until: dict[tuple[str, ...], datetime] = {}

    @property
    def remembered(self) -> int:
        """How many names, addresses and pairs of both are in memory."""
        return len(self._counts_until)

    def attempt(self, name: str, address: str, now: datetime) -> None:
        """Count an attempt as failed; InputError says how long to wait after too many."""
        pair = {(name, client_prefix(address)): _OF_NAME_AND_ADDRESS}
        self._count(pair | _of_each(name, address), "wrong passwords", now)

    def attempt_code(self, name: str, address: str, now: datetime) -> None:
        """Count a code that follows a password; InputError as for `attempt`."""
        pair = {(name, client_prefix(address)): _OF_NAME_AND_ADDRESS}
        self._count(pair | _of_codes(name), "wrong codes", now)

    def attempt_passkey(self, address: str, now: datetime) -> None:
        """Count a request to sign in with a passkey, which names nobody yet."""
        self._count(_of_passkeys(address), "attempts", now)

    def succeeded(self, name: str, address: str, *, by_code: bool = False) -> None:
        """Undo the last attempt, and all failures of this name from this address.

        `by_code`: a code followed the password.
        """
        self._counts_until.pop((name, client_prefix(address)), None)
        self._take_back(_of_each(name, address) | (_of_codes(name) if by_code else {}))

    def passkey_succeeded(self, address: str) -> None:
        """Undo the last passkey request of an address."""
        self._take_back(_of_passkeys(address))

    def _count(self, bounds: _Bounds, what: str, now: datetime) -> None:
        counts_until = {
            key: max(self._counts_until.get(key, _LONG_AGO), now) + bound.recovery
            for key, bound in bounds.items()
        }
        wait = max(
            counts_until[key] - now - bound.burst * bound.recovery for key, bound in bounds.items()
        )
        if wait > timedelta(0):
            seconds = counted(math.ceil(wait.total_seconds()), "second")
            raise InputError(f"there were too many {what}: try again in {seconds}")
        self._counts_until |= counts_until
        if len(self._counts_until) > _MOST_REMEMBERED:
            self._evict()

    def _take_back(self, bounds: _Bounds) -> None:
        for key in bounds.keys() & self._counts_until.keys():
            self._counts_until[key] -= bounds[key].recovery

    def _evict(self) -> None:
        """Evict the half that recovers first, so that a flood evicts its own entries.

        Wrong codes stay: they are counted by the names of real people, so they are few.
        """
        soonest = sorted(self._counts_until, key=self._counts_until.__getitem__)
        for key in soonest[: _MOST_REMEMBERED // 2]:
            if key[2:] != _CODE:
                del self._counts_until[key]


def _of_each(name: str, address: str) -> _Bounds:
    return {(name, ""): _OF_NAME, ("", client_prefix(address)): _OF_ADDRESS}


def _of_codes(name: str) -> _Bounds:
    return {(name, "", *_CODE): _OF_CODES}


def _of_passkeys(address: str) -> _Bounds:
    own, of_all = ("", client_prefix(address), *_PASSKEY), ("", "", *_PASSKEY)
    return {own: _OF_ADDRESS, of_all: _OF_ALL_PASSKEYS}
