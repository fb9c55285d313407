"""An address that is asked, its time-out, and what errors may say about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from dashboard.domain.secret import MASK, Secret
from dashboard.upstream.meter import Note, note_nothing

BODY_ALLOWANCE: Final = 64 * 1024
"""Bytes that every answer may have."""

ITEM_ALLOWANCE: Final = 8 * 1024
"""Further bytes for each item that was asked for."""

_SHORTEST_SECRET: Final = 6


def body_limit(items: int) -> int:
    """Return how many bytes an answer to `items` questions may have; one more is refused."""
    return BODY_ALLOWANCE + ITEM_ALLOWANCE * items


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address that is asked.

    `name` is the network's name and the role ("devnet node"): all that errors and logs say.
    `url` is a secret, since addresses hold API keys. `timeout` bounds one attempt as a whole,
    from the connection to the last byte, so that a slow answer ends too. `note` counts each
    question, batches by their questions; a retry is not counted again. `key_advice` is what helps
    where a key is missing or wrong, `forbidden_advice` where it is not said what may not be asked.
    """

    name: str
    url: Secret
    timeout: timedelta = timedelta(seconds=10)
    note: Note = field(default=note_nothing, compare=False, repr=False)
    key_advice: str = "check the API key and its secret"
    forbidden_advice: str = "the settings of the API key do not allow this"

    def mask(self, text: str) -> str:
        """Return `text`, which an upstream may have made, without any part of the address."""
        return mask(text, self._parts())

    def _parts(self) -> Iterator[str]:
        url = self.url.reveal()
        address = urlsplit(url)
        yield url
        yield from (address.netloc, address.username or "", address.password or "")
        yield from address.path.split("/")
        yield from (pair.rpartition("=")[2] for pair in address.query.split("&"))


def mask(text: str, secrets: Iterable[str]) -> str:
    """Return `text` with each secret in it hidden, in plain and in percent-encoded form."""
    for secret in secrets:
        for form in {secret, unquote(secret)}:
            if len(form) >= _SHORTEST_SECRET:
                text = text.replace(form, MASK)
    return text


class Asker(Protocol):
    """What sends one JSON text to an endpoint and returns the JSON text that answers it."""

    @property
    def endpoint(self) -> Endpoint:
        """The address that is asked."""
        ...

    async def post_json(self, body: bytes, limit: int) -> bytes:
        """Return the answer, at most `limit` bytes; an UpstreamError says why there is none."""
        ...
