"""Upstream errors: HTTP status codes and JSON-RPC error codes as kinds of UpstreamError.

The texts are ours alone. The text of an upstream may quote the key or the address, so it
is not repeated.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Final

from dashboard.domain.formatting import span
from dashboard.domain.observation import Failure, FailureKind
from dashboard.errors import (
    UpstreamError,
    UpstreamRefused,
    UpstreamThrottled,
    UpstreamUnavailable,
    UpstreamUnreadable,
    WireError,
)
from dashboard.upstream.endpoint import Endpoint, mask
from dashboard.wire.retry_after import parse_retry_after

_REMEDIES: Final[Mapping[int, str]] = {
    HTTPStatus.BAD_REQUEST: "it does not support this network or this question",
    HTTPStatus.PAYMENT_REQUIRED: "the quota of the API key is used up",
    HTTPStatus.NOT_FOUND: "check the address",
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

    The codec quotes what it found there, and a server may have sent the key back: it is masked.
    """
    found = mask(endpoint.mask(str(error)), secrets)
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
