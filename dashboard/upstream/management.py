"""The management API of another installation, as the command line uses it."""

from __future__ import annotations

import logging
import ssl
import time
from datetime import timedelta
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import httpx
import msgspec

from dashboard.domain.markup import visible
from dashboard.domain.secret import Secret
from dashboard.errors import (
    InputError,
    LinewatchError,
    UpstreamRefused,
    UpstreamUnavailable,
    UpstreamUnreadable,
)
from dashboard.upstream.endpoint import is_untrusted

PATIENCE: Final = timedelta(minutes=5)
"""The time-out of a whole answer: a look-up may ask upstream about 10,000 transactions."""

_CONNECT: Final = 10.0
_LARGEST_ANSWER: Final = 50_000_000
_LARGEST_PROBLEM: Final = 100_000
_NO_ENDPOINT: Final = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}


def post_json(url: str, token: Secret, body: bytes, patience: timedelta = PATIENCE) -> bytes:
    """Post JSON to an endpoint; return its answer.

    Certificates are verified by the authorities that the system trusts, or those in SSL_CERT_FILE.
    Redirects are not followed, and no proxy or `.netrc` is used, so that the token is only sent to
    the host of the address. InputError: the server refused the input. UpstreamError: there was no
    answer.
    """
    host = urlsplit(url).netloc
    for library in ("httpx", "httpcore"):
        logging.getLogger(library).setLevel(logging.WARNING)
    headers = {
        "Authorization": f"Bearer {token.reveal()}",
        "Content-Type": "application/json",
        "Accept-Encoding": "identity",
    }
    ends_at = time.monotonic() + patience.total_seconds()
    try:
        with (
            httpx.Client(
                verify=ssl.create_default_context(),
                follow_redirects=False,
                timeout=httpx.Timeout(patience.total_seconds(), connect=_CONNECT),
                trust_env=False,
            ) as client,
            client.stream("POST", url, content=body, headers=headers) as response,
        ):
            return _answer(host, response, ends_at)
    except httpx.TimeoutException:
        raise _late(host, patience) from None
    except httpx.HTTPError as error:
        raise _no_answer(host, error) from None


def _answer(host: str, response: httpx.Response, ends_at: float) -> bytes:
    if response.is_redirect:
        place = urlsplit(response.headers.get("location", ""))
        where = visible(f"{place.scheme}://{place.netloc.rpartition('@')[2]}", 200)
        raise UpstreamRefused(
            f"{host} redirects to {where}, where the token does not go: give that address with "
            "--server if you trust it"
        )
    limit = _LARGEST_ANSWER if response.is_success else _LARGEST_PROBLEM
    body = bytearray()
    for chunk in response.iter_raw():
        body += chunk
        if len(body) > limit:
            raise UpstreamUnreadable(f"{host} answers with more than {limit:,} bytes: ask for less")
        if time.monotonic() > ends_at:
            raise httpx.ReadTimeout("as a whole")
    if not response.is_success:
        raise _refusal(host, response, bytes(body))
    return bytes(body)


def _refusal(host: str, response: httpx.Response, body: bytes) -> LinewatchError:
    """Return the error that problem details (RFC 9457) describe."""
    try:
        form = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        form = None
    detail = form.get("detail") if isinstance(form, dict) else None
    if not isinstance(detail, str):
        return UpstreamRefused(
            f"{host} answers {response.status_code} and not as a Linewatch does: check the address"
        )
    said = f"{host}: {visible(detail.removesuffix('.'), 1_000)}"
    if response.is_server_error:
        return UpstreamUnavailable(said)
    if response.status_code in _NO_ENDPOINT:
        return UpstreamRefused(said)
    return InputError(said)


def _late(host: str, patience: timedelta) -> UpstreamUnavailable:
    return UpstreamUnavailable(
        f"{host} does not answer within {patience.total_seconds():g} s: it may still do what was "
        "asked, so look before you try again"
    )


def _no_answer(host: str, error: httpx.HTTPError) -> UpstreamUnavailable | UpstreamRefused:
    if is_untrusted(error):
        return UpstreamRefused(
            f"{host}: its TLS certificate is not trusted (SSL_CERT_FILE is for an authority of "
            "your own)"
        )
    if isinstance(error, httpx.ConnectError):
        return UpstreamUnavailable(f"{host} cannot be reached: check the address, and that it runs")
    return UpstreamUnavailable(f"{host} gives no answer: it was cut off or is not HTTP")
