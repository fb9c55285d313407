"""Mail addresses, internationalised ones too: as people write them and as servers take them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final, Self

import idna

from dashboard.domain.foreign_text import visible
from dashboard.domain.quantity import shorten
from dashboard.errors import InputError

_LONGEST_TEXT: Final = 1_000
"""Characters: more than any address has, and few enough to look at some of them twice."""

_LONGEST_NAME: Final = 80
_LONGEST_LOCAL: Final = 64
_LONGEST_DOMAIN: Final = 253
_WITH_NAME: Final = re.compile(r"(?P<name>[^<>]*)<(?P<address>[^<>]+)>")
_ATOM: Final = r"[^\s\x00-\x20\x7f()<>@,;:\\\"\[\].]+"
_LOCAL: Final = re.compile(rf"{_ATOM}(\.{_ATOM})*")
_HOST: Final = re.compile(
    r"[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?)*"
    r"|\[(IPv6:)?[0-9a-f:.]{2,45}\]",
    re.ASCII | re.IGNORECASE,
)
"""A name of a host, or an address in brackets (RFC 5321 section 4.1.3)."""


@dataclass(frozen=True, slots=True)
class MailAddress:
    """A mailbox: `domain` in ASCII as DNS has it, `local` in any script, a name for people."""

    local: str
    domain: str
    display_name: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``name@example.org`` or ``Some Name <name@example.org>``; InputError for others.

        A domain in another script becomes its ASCII form (IDNA 2008).
        """
        if len(text) > _LONGEST_TEXT:
            raise _no_address(text)
        named = _WITH_NAME.fullmatch(text)
        display_name, address = ("", text) if named is None else named.groups()
        local, _, domain = address.rpartition("@")
        local = unicodedata.normalize("NFC", local)
        if not _is_local(local) or not _is_name(display_name.rstrip()):
            raise _no_address(text)
        try:
            return cls(local, _ascii_domain(domain), " ".join(display_name.split()))
        except ValueError as error:
            raise _no_address(text) from error

    @property
    def spec(self) -> str:
        """The address alone, as SMTP commands name it."""
        return f"{self.local}@{self.domain}"

    @property
    def is_international(self) -> bool:
        """Whether only servers that speak SMTPUTF8 (RFC 6531) can take it."""
        return not self.local.isascii()


def _is_name(text: str) -> bool:
    """Whether a name reads the same everywhere: the mark of an encoded word would be decoded."""
    return visible(text, _LONGEST_NAME) == text and "=?" not in text


def _is_local(local: str) -> bool:
    is_short = len(local.encode("utf-8", "surrogatepass")) <= _LONGEST_LOCAL
    return is_short and _LOCAL.fullmatch(local) is not None and visible(local) == local


def _ascii_domain(domain: str) -> str:
    """Return a domain as DNS has it; ValueError where it is none."""
    shown = domain if domain.isascii() else idna.encode(domain, uts46=True).decode("ascii")
    if len(shown) > _LONGEST_DOMAIN or not _HOST.fullmatch(shown):
        raise ValueError(f"{domain!a} is no domain")
    return shown


def _no_address(text: str) -> InputError:
    return InputError(f"{shorten(text)} is not an email address: write name@example.org")
