"""The client of OpenID Connect providers, loaded only if there are any, as it weighs megabytes."""

from __future__ import annotations

import warnings
from importlib import import_module

from dashboard.settings import Settings
from dashboard.settings.tls import tls_context
from dashboard.web.issuers import AsksIssuers
from dashboard.wiring.clock import utc_now
from dashboard.wiring.page_settings import sign_in_policy


def issuer_client(settings: Settings) -> AsksIssuers:
    """Return the client of all issuers."""
    warnings.filterwarnings("ignore", message="The httpx module is deprecated")
    module = import_module("dashboard.upstream.issuer")
    client: AsksIssuers = module.IssuerClient(utc_now, tls_context(settings.tls))
    return client


async def ask_issuers(settings: Settings) -> None:
    """Ask each issuer where people sign in, as a sign-in does; UpstreamError if one cannot say."""
    policy = sign_in_policy(settings)
    for issuer in () if policy is None else policy.issuers.values():
        await issuer_client(settings).sign_in_url(issuer, issuer.url, "state", "nonce", "verifier")
