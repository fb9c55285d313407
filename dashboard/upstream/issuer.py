"""OpenID Connect providers: how to ask each one, and what its signed tokens say."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final, TypeAlias

import httpx
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from joserfc import jwt
from joserfc.errors import ClaimError, JoseError
from joserfc.jwk import KeySet
from joserfc.jwt import JWTClaimsRegistry
from msgspec import Struct

from dashboard.domain.people.sign_in import Identity, Issuer
from dashboard.domain.quantity import Clock
from dashboard.errors import UpstreamUnavailable, UpstreamUnreadable

_TIMEOUT: Final = timedelta(seconds=10)
_LARGEST_ANSWER: Final = 1_000_000
_LEEWAY: Final = 60
_ALGORITHMS: Final = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "ES512", "Ed25519"]
"""Only algorithms with a private key that the issuer does not share."""

_LOGOUT: Final = "http://schemas.openid.net/event/backchannel-logout"
_LOGOUT_IS_NEW_FOR: Final = 300
_REMEMBERED: Final = 60
"""Seconds for which addresses and keys are cached; issuers publish new keys well ahead."""

_Claims: TypeAlias = dict[str, Any]


class _Known(Struct, frozen=True):
    """The metadata and signing keys of an issuer, as of `read_at`."""

    read_at: float
    metadata: _Claims
    keys: KeySet


class IssuerClient:
    """Asks the issuers of the settings; each failure is an UpstreamError without any secret.

    `trust` says which certificates are trusted, by default those that the system trusts; `timeout`
    bounds everything that one step asks of an issuer.
    """

    def __init__(
        self, clock: Clock, trust: ssl.SSLContext | None = None, timeout: timedelta = _TIMEOUT
    ) -> None:
        self._clock = clock
        self._trust = trust
        self._timeout = timeout.total_seconds()
        self._known: dict[str, _Known] = {}
        self._asking: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def sign_in_url(
        self, issuer: Issuer, back: str, state: str, nonce: str, verifier: str
    ) -> str:
        """Return the address for the browser, which comes `back` with a code and the state."""
        async with self._asking_as(issuer, back) as client:
            known = await self._ask(issuer, client)
            url, _ = client.create_authorization_url(
                _text(known.metadata, "authorization_endpoint"),
                state=state,
                nonce=nonce,
                code_verifier=verifier,
            )
        return str(url)

    async def identity(
        self, issuer: Issuer, back: str, code: str, nonce: str, verifier: str
    ) -> Identity:
        """Return the person that a code stands for, after checking the issuer's token."""
        async with self._asking_as(issuer, back) as client:
            known = await self._ask(issuer, client)
            try:
                token = await client.fetch_token(
                    _text(known.metadata, "token_endpoint"), code=code, code_verifier=verifier
                )
            except OAuthError:
                raise UpstreamUnavailable("it refuses the code, or our client_secret") from None
            except (httpx.HTTPError, ValueError):
                raise UpstreamUnavailable("it gives no token: no usable answer came") from None
            claims = self._claims(issuer, known, _text(token, "id_token"))
            if claims.get("nonce") != nonce or not claims.get("sub"):
                raise UpstreamUnreadable("the token belongs to another attempt")
            if "userinfo_endpoint" in known.metadata:
                about = await _table(client, _text(known.metadata, "userinfo_endpoint"))
                if about.get("sub") != claims["sub"]:
                    raise UpstreamUnreadable("the token and the user information differ")
                claims = {**about, **claims}
        return _identity(issuer, claims)

    async def ended(self, issuer: Issuer, logout_token: str) -> tuple[str | None, str | None]:
        """Return the subject, the `sid`, or both, whose sessions the issuer ended."""
        async with self._asking_as(issuer, "") as client:
            known = await self._ask(issuer, client)
        claims = self._claims(issuer, known, logout_token, is_logout=True)
        subject, sid = claims.get("sub"), claims.get("sid")
        if not all(each is None or isinstance(each, str) for each in (subject, sid)):
            raise UpstreamUnreadable("the token names nobody")
        if not (subject or sid):
            raise UpstreamUnreadable("the token names nobody")
        if "nonce" in claims or self._clock().timestamp() - claims["iat"] > _LOGOUT_IS_NEW_FOR:
            raise UpstreamUnreadable("the token is not new")
        return subject, sid

    def _claims(
        self, issuer: Issuer, known: _Known, token: str, *, is_logout: bool = False
    ) -> _Claims:
        """Return the claims of a token after checking signature, issuer, audience and times."""
        checks = JWTClaimsRegistry(
            now=lambda: int(self._clock().timestamp()),
            leeway=_LEEWAY,
            iss={"essential": True, "value": issuer.url},
            aud={"essential": True, "value": issuer.client_id},
            iat={"essential": True},
            exp={"essential": not is_logout},
        )
        try:
            claims: _Claims = jwt.decode(token, known.keys, algorithms=_ALGORITHMS).claims
            checks.validate(claims)
        except ClaimError as error:
            remedy = ": compare the clocks" if error.claim in {"exp", "iat", "nbf"} else ""
            raise UpstreamUnreadable(f"the token has a wrong {error.claim}{remedy}") from None
        except (JoseError, ValueError, TypeError):  # TypeError: a header of another form
            raise UpstreamUnreadable("the signature of the token is not valid") from None
        if claims.get("azp", issuer.client_id) != issuer.client_id:
            raise UpstreamUnreadable("the token was made for another client")
        events = claims.get("events")
        if (isinstance(events, dict) and _LOGOUT in events) is not is_logout:
            raise UpstreamUnreadable("the token serves another purpose")
        return claims

    @asynccontextmanager
    async def _asking_as(self, issuer: Issuer, back: str) -> AsyncIterator[AsyncOAuth2Client]:
        """Yield a client for an issuer; all its requests together must end within the time-out."""
        try:
            async with asyncio.timeout(self._timeout), self._client(issuer, back) as client:
                yield client
        except TimeoutError:
            raise UpstreamUnavailable(f"it did not answer within {self._timeout:g} s") from None

    def _client(self, issuer: Issuer, back: str) -> AsyncOAuth2Client:
        secret = issuer.client_secret.reveal()
        connections = httpx.AsyncHTTPTransport(verify=self._trust or ssl.create_default_context())
        return AsyncOAuth2Client(
            issuer.client_id,
            secret or None,
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
            scope=issuer.scopes,
            redirect_uri=back,
            code_challenge_method="S256",
            headers={"Accept-Encoding": "identity"},
            timeout=self._timeout,
            transport=_BoundedTransport(connections),
            trust_env=False,
        )

    async def _ask(self, issuer: Issuer, client: AsyncOAuth2Client) -> _Known:
        if (remembered := self._remembered(issuer)) is not None:
            return remembered
        async with self._asking[issuer.name]:
            known = self._remembered(issuer)
            if known is None:
                place = f"{issuer.url.rstrip('/')}/.well-known/openid-configuration"
                metadata = await _table(client, place, withhold_token=True)
                if metadata.get("issuer") != issuer.url:
                    raise UpstreamUnreadable("it calls itself otherwise than the setting url does")
                keys = await _table(client, _text(metadata, "jwks_uri"), withhold_token=True)
                known = _Known(time.monotonic(), metadata, _key_set(keys))
                self._known[issuer.name] = known
            return known

    def _remembered(self, issuer: Issuer) -> _Known | None:
        known = self._known.get(issuer.name)
        is_old = known is None or time.monotonic() - known.read_at > _REMEMBERED
        return None if is_old else known


class _BoundedTransport(httpx.AsyncBaseTransport):
    """Refuses compressed answers, and answers above the largest size."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise httpx.DecodingError("compressed, which was not asked for")
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=_BoundedStream(response),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedStream(httpx.AsyncByteStream):
    """The bytes of an answer, up to the largest size."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._response.aiter_raw():
            size += len(chunk)
            if size > _LARGEST_ANSWER:
                raise httpx.DecodingError(f"larger than {_LARGEST_ANSWER} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._response.aclose()


def _identity(issuer: Issuer, claims: _Claims) -> Identity:
    names = (claims.get(each) for each in ("name", "preferred_username", "email", "sub"))
    groups, sid = claims.get(issuer.groups), claims.get("sid")
    several = groups if isinstance(groups, list) else [groups]
    return Identity(
        issuer,
        claims["sub"],
        next(each for each in names if isinstance(each, str) and each.strip()),
        frozenset(each for each in several if isinstance(each, str)),
        sid if isinstance(sid, str) else None,
    )


def _key_set(table: _Claims) -> KeySet:
    try:
        return KeySet.import_key_set({"keys": table["keys"]})
    except (JoseError, ValueError, KeyError, TypeError):
        raise UpstreamUnreadable("its keys cannot be read") from None


async def _table(client: AsyncOAuth2Client, url: str, *, withhold_token: bool = False) -> _Claims:
    try:
        response = await client.request("GET", url, withhold_token=withhold_token)
        found = response.raise_for_status().json()
    except httpx.TransportError:
        raise UpstreamUnavailable(
            "it cannot be reached, or its certificate is not trusted"
        ) from None
    except (OAuthError, httpx.HTTPError, httpx.InvalidURL, ValueError):
        raise UpstreamUnavailable(
            "its answer is compressed, too large, or not an object of OpenID Connect"
        ) from None
    if not isinstance(found, dict):
        raise UpstreamUnreadable("the answer is not an object")
    return found


def _text(table: _Claims, name: str) -> str:
    found = table.get(name)
    if not isinstance(found, str) or not found:
        raise UpstreamUnreadable(f"the answer lacks {name}")
    return found
