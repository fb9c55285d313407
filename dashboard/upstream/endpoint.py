"""An address that is asked: what its errors say, without a secret, and how its calls count."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from threading import Lock
from typing import Final, NamedTuple, Protocol, TypeAlias
from urllib.parse import urlsplit

from dashboard.domain.formatting import span
from dashboard.domain.health.budgets import Budget
from dashboard.domain.health.observation import AnswerCounts, Failure, FailureKind, Operation, Spent
from dashboard.domain.health.transports import Transport, TransportState
from dashboard.domain.secret import Secret, quotes
from dashboard.errors import (
    UpstreamError,
    UpstreamRefused,
    UpstreamThrottled,
    UpstreamUnavailable,
    UpstreamUnreadable,
    WireError,
)
from dashboard.upstream.budget import BudgetKeeper
from dashboard.wire.decoding import parse_retry_after

Note: TypeAlias = Callable[[str, int], None]
"""Takes an operation and how many calls of it go out: each question of a batch is one."""


def note_nothing(_operation: str, _calls: int) -> None:
    """Count no calls."""


@dataclass(frozen=True, slots=True)
class Metered:
    """What was `spent` by operation, and what became of the questions that polls asked.

    `transports` say how endpoints take questions, by their names, where that changed.
    """

    spent: dict[str, Spent] = field(default_factory=dict)
    answers: dict[Operation, AnswerCounts] = field(default_factory=dict)
    transports: dict[str, dict[Transport, TransportState]] = field(default_factory=dict)


class Meter:
    """What is found out about one network and not stored yet; used by many threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held = Metered()

    def note_at(self, tariff: Budget) -> Note:
        """Return a counter of calls that cost what that says of their methods."""
        return partial(self._note, tariff)

    def note_answers(self, operation: Operation, counts: AnswerCounts) -> None:
        """Count what became of a question."""
        with self._lock:
            held = self._held.answers
            held[operation] = held.get(operation, AnswerCounts()) + counts

    def note_transport(self, endpoint: str, state: TransportState) -> None:
        """Remember how an endpoint takes questions over a transport."""
        with self._lock:
            self._held.transports.setdefault(endpoint, {})[state.transport] = state

    @contextmanager
    def handed_over(self) -> Iterator[Metered]:
        """Yield what was counted; it is counted again if the block fails."""
        with self._lock:
            taken, self._held = self._held, Metered()
        try:
            yield taken
        except BaseException:
            for operation, spent in taken.spent.items():
                self._add(operation, spent)
            for question, counts in taken.answers.items():
                self.note_answers(question, counts)
            with self._lock:
                for endpoint, states in taken.transports.items():
                    self._held.transports[endpoint] = states | self._held.transports.get(
                        endpoint, {}
                    )
            raise

    def _note(self, tariff: Budget, operation: str, calls: int) -> None:
        self._add(operation, Spent(calls, tariff.cost(operation, calls)))

    def _add(self, operation: str, spent: Spent) -> None:
        with self._lock:
            held = self._held.spent
            held[operation] = held.get(operation, Spent()) + spent


BODY_ALLOWANCE: Final = 64 * 1024
"""Bytes that every answer may have."""

ITEM_ALLOWANCE: Final = 8 * 1024
"""Further bytes for each item that was asked for."""


def body_limit(items: int) -> int:
    """Return how many bytes an answer to `items` questions may have; one more is refused."""
    return BODY_ALLOWANCE + ITEM_ALLOWANCE * items


class Charge(NamedTuple):
    """The questions in one request: so many calls of an operation."""

    operation: str
    calls: int = 1


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address that is asked.

    `name` is the network's name and the role ("devnet node"): all that errors and logs say.
    `url` is a secret, since addresses hold API keys. `timeout` bounds one attempt as a whole,
    from the connection to the last byte, so that a slow answer ends too. `note` counts each
    question, batches by their questions, and a retry again, since the upstream does. `key_advice`
    is what helps where a key is missing or wrong, `forbidden_advice` where it is not said what may
    not be asked. `budget` is what the account allows, if that is limited.
    """

    name: str
    url: Secret
    timeout: timedelta = timedelta(seconds=10)
    note: Note = field(default=note_nothing, compare=False, repr=False)
    key_advice: str = "check the API key and its secret"
    forbidden_advice: str = "the settings of the API key do not allow this"
    budget: BudgetKeeper | None = field(default=None, compare=False, repr=False)

    @asynccontextmanager
    async def turn(self, charge: Charge | None) -> AsyncIterator[None]:
        """Count one request that goes out, as soon as the budget lets it.

        UpstreamThrottled if the budget has no credits for it: then nothing is asked.
        """
        if charge is None:
            yield
            return
        if self.budget is None:
            self.note(*charge)
            yield
            return
        async with self.budget.turn(*charge):
            self.note(*charge)
            yield

    def parts(self) -> Iterator[str]:
        """Yield what of the address may be a key, and where it leads."""
        address = urlsplit(self.url.reveal())
        yield from (address.netloc, address.username or "", address.password or "")
        yield from address.path.split("/")
        yield from (pair.rpartition("=")[2] for pair in address.query.split("&"))


class Asker(Protocol):
    """What sends one JSON text to an endpoint and returns the JSON text that answers it."""

    @property
    def endpoint(self) -> Endpoint:
        """The address that is asked."""
        ...

    async def post_json(self, body: bytes, limit: int, charge: Charge | None = None) -> bytes:
        """Return the answer, at most `limit` bytes; an UpstreamError says why there is none.

        Each attempt counts as `charge`.
        """
        ...


_REMEDIES: Final[Mapping[int, str]] = {
    HTTPStatus.BAD_REQUEST: "it does not support this network or this question",
    HTTPStatus.PAYMENT_REQUIRED: "the quota of the API key is used up",
    HTTPStatus.NOT_FOUND: "check the address",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "it takes fewer questions at once",
}
_RPC_THROTTLED: Final = -32005
_RPC_REFUSED: Final[Mapping[int, str]] = {
    -32601: "it does not know this method; check the address and the method prefix",
    -32002: "check the API key",
    -40100: "check the API key",
}
_RPC_NOT_UNDERSTOOD: Final = frozenset({-32700, -32600, -32602})


def http_error(endpoint: Endpoint, status: int, headers: Mapping[str, str]) -> UpstreamError:
    """Return the error for an answer whose status is not 2xx; header names are lower case."""
    name = endpoint.name
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        wait_asked = parse_retry_after(headers.get("retry-after", ""), headers.get("date", ""))
        pause = f", and asked for a pause of {span(wait_asked)}" if wait_asked else ""
        return UpstreamThrottled(f"{name}: asked too often (HTTP 429){pause}", wait_asked)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
        return UpstreamUnavailable(f"{name}: the server failed (HTTP {status})")
    if status >= HTTPStatus.BAD_REQUEST:
        of_key: Mapping[int, str] = {
            HTTPStatus.UNAUTHORIZED: endpoint.key_advice,
            HTTPStatus.FORBIDDEN: endpoint.forbidden_advice,
        }
        remedy = of_key.get(status) or _REMEDIES.get(status, "check the address")
        return UpstreamRefused(f"{name}: refused (HTTP {status}): {remedy}")
    if status >= HTTPStatus.MULTIPLE_CHOICES:
        return UpstreamRefused(
            f"{name}: answered with a redirect (HTTP {status}), which is not followed: "
            "configure the final address"
        )
    return UpstreamUnreadable(
        f"{name}: answered with HTTP {status}, which no API sends: check the address"
    )


def rpc_error(name: str, code: int) -> UpstreamError:
    """Return the error for a JSON-RPC error object with this code."""
    if code == _RPC_THROTTLED:
        return UpstreamThrottled(f"{name}: asked too often (error {code})")
    if code in _RPC_REFUSED:
        return UpstreamRefused(f"{name}: refused (error {code}): {_RPC_REFUSED[code]}")
    if code in _RPC_NOT_UNDERSTOOD:
        return UpstreamUnreadable(f"{name}: did not understand the question (error {code})")
    return UpstreamUnavailable(f"{name}: the server failed (error {code})")


def unreadable(endpoint: Endpoint, error: WireError, secrets: Iterable[str] = ()) -> UpstreamError:
    """Return the error for an answer that a codec cannot read.

    The codec quotes what it found there, unless a server sent the key or the address back.
    """
    is_quoting = quotes(str(error), (*endpoint.parts(), *secrets))
    found = "it repeats our address or our key, so it is not shown" if is_quoting else error
    return UpstreamUnreadable(f"{endpoint.name}: the answer cannot be read: {found}")


def is_untrusted(error: BaseException) -> bool:
    """Whether an error was caused by a certificate that cannot be verified."""
    return any(isinstance(each, ssl.SSLCertVerificationError) for each in _causes(error))


def untrusted(name: str) -> UpstreamError:
    """Return the error for such a certificate."""
    return UpstreamRefused(
        f"{name}: its TLS certificate is not trusted (tls.ca_file is for an authority of your own)"
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def failure_of(error: UpstreamError) -> Failure:
    """Return an error as a value, where the failure of one hash must not stop others."""
    wait_asked = error.retry_after if isinstance(error, UpstreamThrottled) else None
    return Failure(_kind(error), str(error), wait_asked)


def _kind(error: UpstreamError) -> FailureKind:
    match error:
        case UpstreamThrottled():
            return FailureKind.THROTTLED
        case UpstreamRefused():
            return FailureKind.REFUSED
        case UpstreamUnreadable():
            return FailureKind.UNREADABLE
        case _:
            return FailureKind.UNAVAILABLE
