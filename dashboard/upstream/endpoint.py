"""An endpoint: its errors, without a secret, and how its calls are counted."""

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

import msgspec
from msgspec import Struct

from dashboard.domain.formatting import span
from dashboard.domain.health.budgets import Budget
from dashboard.domain.health.observation import AnswerCounts, Failure, FailureKind, Operation, Spent
from dashboard.domain.health.transport_state import Transport, TransportState
from dashboard.domain.secret import Secret, quotes
from dashboard.errors import (
    UpstreamError,
    UpstreamFailed,
    UpstreamRefused,
    UpstreamThrottled,
    UpstreamUnavailable,
    UpstreamUnreadable,
    WireError,
)
from dashboard.upstream.budget import BudgetKeeper
from dashboard.wire.decoding import parse_retry_after

Note: TypeAlias = Callable[[str, int], None]
"""Takes an operation and the number of its calls; each question of a batch is one call."""


def note_nothing(_operation: str, _calls: int) -> None:
    """Ignore the calls."""


class Metered(Struct, frozen=True):
    """The calls and credits `spent` by operation, and the results of polled questions.

    `transports` are the changed states of transports, by endpoint.
    """

    spent: dict[str, Spent] = msgspec.field(default_factory=dict)
    answers: dict[Operation, AnswerCounts] = msgspec.field(default_factory=dict)
    transports: dict[str, dict[Transport, TransportState]] = msgspec.field(default_factory=dict)


class Meter:
    """What was learnt about one network and is not stored yet; used by many threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held = Metered()

    def note_at(self, tariff: Budget) -> Note:
        """Return a counter of calls at the prices of a tariff."""
        return partial(self._note, tariff)

    def note_answers(self, operation: Operation, counts: AnswerCounts) -> None:
        """Count the results of a question."""
        with self._lock:
            held = self._held.answers
            held[operation] = held.get(operation, AnswerCounts()) + counts

    def note_transport(self, endpoint: str, state: TransportState) -> None:
        """Remember the state of an endpoint's transport."""
        with self._lock:
            self._held.transports.setdefault(endpoint, {})[state.transport] = state

    @contextmanager
    def handed_over(self) -> Iterator[Metered]:
        """Yield the counts; they are added back if the block fails."""
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
"""Bytes that any answer may have."""

ITEM_ALLOWANCE: Final = 8 * 1024
"""Additional bytes for each requested item."""


def body_limit(items: int) -> int:
    """Return the most bytes that an answer to `items` questions may have."""
    return BODY_ALLOWANCE + ITEM_ALLOWANCE * items


class Charge(NamedTuple):
    """The calls in one request: an operation, how many, and whether they are made for fees."""

    operation: str
    calls: int = 1
    is_fee: bool = False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One upstream address and how to use it.

    `name` is the network's name and the role ("devnet node"): all that errors and logs say. `url`
    is a secret, since addresses contain API keys. `timeout` bounds one whole attempt, from the
    connection to the last byte, so that a slow answer ends too. `note` counts each question, also
    those in batches and in retries, as the upstream does. `key_advice` is the remedy for a missing
    or wrong key, `forbidden_advice` for a request that is forbidden without a reason. `budget`
    limits the account, if there is one.
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
        """Count one request, once the budget allows it.

        UpstreamThrottled if the budget has no credits for it: then nothing is sent.
        """
        if charge is None:
            yield
            return
        operation, calls, is_fee = charge
        if self.budget is None:
            self.note(operation, calls)
            yield
            return
        async with self.budget.turn(operation, calls, is_fee=is_fee):
            self.note(operation, calls)
            yield

    def parts(self) -> Iterator[str]:
        """Yield the parts of the address that may be a key, and its host."""
        address = urlsplit(self.url.reveal())
        yield from (address.netloc, address.username or "", address.password or "")
        yield from address.path.split("/")
        yield from (pair.rpartition("=")[2] for pair in address.query.split("&"))


class Asker(Protocol):
    """Sends JSON text to an endpoint and returns the JSON text that answers it."""

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint that is asked."""

    async def post_json(self, body: bytes, limit: int, charge: Charge | None = None) -> bytes:
        """Return the answer, at most `limit` bytes; UpstreamError says why there is none.

        Each attempt counts as `charge`.
        """


_REMEDIES: Final[Mapping[int, str]] = {
    HTTPStatus.BAD_REQUEST: "it does not support this network or this question",
    HTTPStatus.PAYMENT_REQUIRED: "the quota of the API key is used up",
    HTTPStatus.NOT_FOUND: "check the address",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "it takes fewer questions at once",
}
_RPC_THROTTLED: Final = frozenset({-32005, HTTPStatus.TOO_MANY_REQUESTS})
"""Over WebSocket, which has no status, some gateways put that of HTTP into the error."""

_RPC_REFUSED: Final[Mapping[int, str]] = {
    -32601: "it does not know this method; check the address and the method prefix",
    -32002: "check the API key",
    -40100: "check the API key",
}
_RPC_NOT_UNDERSTOOD: Final = frozenset({-32700, -32600, -32602})


def http_error(endpoint: Endpoint, status: int, headers: Mapping[str, str]) -> UpstreamError:
    """Return the error for a status other than 2xx; header names are in lower case."""
    name = endpoint.name
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        wait_asked = parse_retry_after(headers.get("retry-after", ""), headers.get("date", ""))
        pause = f", and asked for a pause of {span(wait_asked)}" if wait_asked else ""
        return UpstreamThrottled(f"{name}: asked too often (HTTP 429){pause}", wait_asked)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
        return UpstreamFailed(f"{name}: the server failed (HTTP {status})")
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
    if code in _RPC_THROTTLED:
        return UpstreamThrottled(f"{name}: asked too often (error {code})")
    if code in _RPC_REFUSED:
        return UpstreamRefused(f"{name}: refused (error {code}): {_RPC_REFUSED[code]}")
    if code in _RPC_NOT_UNDERSTOOD:
        return UpstreamUnreadable(f"{name}: did not understand the question (error {code})")
    return UpstreamUnavailable(f"{name}: the server failed (error {code})")


def unreadable(endpoint: Endpoint, error: WireError, secrets: Iterable[str] = ()) -> UpstreamError:
    """Return the error for an answer that a codec cannot read.

    It quotes what the codec found, unless a server echoed the key or the address.
    """
    is_quoting = quotes(str(error), (*endpoint.parts(), *secrets))
    found = "it repeats our address or our key, so it is not shown" if is_quoting else error
    return UpstreamUnreadable(f"{endpoint.name}: the answer cannot be read: {found}")


def is_untrusted(error: BaseException) -> bool:
    """Whether an error was caused by a certificate that cannot be verified."""
    return any(isinstance(each, ssl.SSLCertVerificationError) for each in _causes(error))


def untrusted(name: str) -> UpstreamError:
    """Return the error for a certificate that cannot be verified."""
    return UpstreamRefused(
        f"{name}: its TLS certificate is not trusted (tls.ca_file is for an authority of your own)"
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def failure_of(error: UpstreamError) -> Failure:
    """Convert an error to a value, so that the failure of one hash does not stop the others."""
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
