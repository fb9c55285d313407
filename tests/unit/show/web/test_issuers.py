"""Sign-in by issuers: what a browser keeps of one meanwhile, and where it comes back to."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import httpx
from msgspec.structs import replace

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.domain.people.access import Role
from dashboard.domain.people.sign_in import Identity, Issuer
from dashboard.domain.secret import Secret
from dashboard.web.issuers import Issuers
from dashboard.web.sign_in import SignInGate
from tests.unit.show.web.gate_site import POLICY, pages, queries, store

__all__ = ["queries", "store"]


class TwoIssuers:
    """Stands in for issuers that vouch for whoever comes."""

    async def sign_in_url(
        self, issuer: Issuer, back: str, state: str, nonce: str, verifier: str
    ) -> str:
        return f"{issuer.url}/?state={state}&{back}{nonce}{verifier}"

    async def identity(
        self, issuer: Issuer, back: str, code: str, nonce: str, verifier: str
    ) -> Identity:
        return Identity(issuer, code, f"{back}{nonce}{verifier}"[:9], frozenset())

    async def ended(self, issuer: Issuer, logout_token: str) -> tuple[str | None, str | None]:
        return issuer.name, logout_token


async def test_sign_in_at_one_issuer_is_not_finished_at_another(queries: Application) -> None:
    issuers = {
        name: Issuer(
            name, name, f"https://{name}.example", "c", Secret(""), "", "", {"*": Role.VIEWER}
        )
        for name in ("first", "other")
    }
    settings = PageSettings(sign_in=replace(POLICY, issuers=issuers))
    own = Application(queries.context.store, (), None, queries.now, settings=settings)
    application.register(own)
    gate = httpx.ASGITransport(SignInGate(pages, Issuers(TwoIssuers())))
    async with httpx.AsyncClient(transport=gate, base_url="https://localhost") as client:
        begun = await client.get("/sign-in/first", params={"next": "lookup?tx=0xab&network=1"})
        query = {"state": parse_qs(urlsplit(begun.headers["location"]).query)["state"], "code": "x"}
        elsewhere = await client.get("/sign-in/other/callback", params=query)
        here = await client.get("/sign-in/first/callback", params=query)

    assert '"' not in begun.headers["set-cookie"]
    assert elsewhere.status_code == 403
    assert "was begun elsewhere" in elsewhere.text
    assert parse_qs(here.headers["location"])["next"] == ["lookup?tx=0xab&network=1"]
    assert [each.person.issuer for each in own.people.sessions()] == ["https://first.example"]
