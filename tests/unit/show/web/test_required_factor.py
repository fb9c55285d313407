"""Roles that take a second factor: with a password alone nothing opens but the way to one."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest
from msgspec.structs import replace
from pyotp import TOTP

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.application.people import People
from dashboard.application.sessions import Device
from dashboard.application.tokens import Tokens
from dashboard.domain.people.access import Actor, Role
from dashboard.domain.people.sign_in import Identity, Issuer
from dashboard.domain.secret import Secret
from dashboard.errors import NotAllowed
from dashboard.store.access.factors import save_app_key
from dashboard.store.engine.engine import Store
from dashboard.web.api.server import ManagementApi
from tests.fake_clock import FakeClock
from tests.passwords import CHEAP_HASHER
from tests.software_authenticator import Authenticator
from tests.unit.show.web.gate_site import (
    GATE,
    PASSWORD,
    POLICY,
    SITE,
    browser,
    send,
    signed_in,
    store,
)
from tests.unit.show.web.test_sign_in import BEHIND, Socket

__all__ = ["store"]

REQUIRED = frozenset({Role.OPERATOR, Role.ADMIN})
LAPTOP = Device("Firefox", "192.0.2.1")
KEY = Authenticator(origin=SITE.origin, host=SITE.host)


ISSUER = Issuer("id", "ID", "https://id", "us", Secret(""), "openid", "groups", {"*": Role.ADMIN})


@pytest.fixture
def queries(store: Store, fake_clock: FakeClock) -> Application:
    policy = replace(POLICY, second_factor=REQUIRED, issuers={ISSUER.name: ISSUER})
    settings = PageSettings(sign_in=policy)
    made = Application(store, (), None, fake_clock.now, settings=settings)
    made.people = People(made.context, CHEAP_HASHER)
    application.register(made)
    return made


async def adds_passkey(client: httpx.AsyncClient) -> httpx.Response:
    options = await client.post("/passkey/new", headers={"Origin": SITE.origin})
    return await send(
        client, "/account", act="add-passkey", credential=KEY.create(options.text), name="key"
    )


async def adds_app(client: httpx.AsyncClient, queries: Application, session: str) -> httpx.Response:
    key = queries.people.factors.new_app_key(
        queries.people.session_beginning(session).session_id
    ).reveal()
    return await send(client, "/account", act="add-app", key=key, code=TOTP(key).at(queries.now()))


async def socket_of(client: httpx.AsyncClient) -> str:
    """Open a WebSocket, and say whether the pages or the gate answered first."""
    socket = Socket(client.cookies["__Host-linewatch"])
    socket.said.send_nowait({"type": "websocket.disconnect"})
    await socket.converse()
    return str(socket.sent[0]["type"])


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("factor", ["none", "app", "passkey"])
async def test_role_that_takes_a_second_factor_opens_nothing_before_it_is_there(
    queries: Application, role: Role, factor: str
) -> None:
    async with browser() as client:
        session = await signed_in(client, queries, "Ada", role)
        if factor == "app":
            await adds_app(client, queries, session)
        if factor == "passkey":
            await adds_passkey(client)
        found = queries.people.session_beginning(session)
        replies = [await client.get(path) for path in BEHIND if path != "//sign-in"]
        by_socket = await socket_of(client)
        through, cookies = httpx.ASGITransport(ManagementApi(GATE)), client.cookies
        async with httpx.AsyncClient(
            transport=through, base_url=SITE.origin, cookies=cookies
        ) as api:
            by_api = await api.get("/api/v1/people")

    opens = factor != "none" or role not in REQUIRED
    assert {("identities" in each.text) for each in replies} == {opens}
    assert (by_socket == "websocket.accept") is opens
    assert by_api.status_code == 401
    assert (found.session_id in queries.people.valid_among({found.session_id})) is opens
    if opens:
        assert queries.people.actor(found.session_id).role is role
    else:
        with pytest.raises(NotAllowed, match="your role requires a second factor"):
            queries.people.actor(found.session_id)
        assert {each.headers.get("location") for each in replies} == {None, "account"}


async def test_person_without_a_factor_is_led_to_one_and_on(queries: Application) -> None:
    async with browser() as client, browser() as thief:
        await signed_in(client, queries, "Ada", Role.ADMIN)
        await send(thief, "/sign-in", name="Ada", password=PASSWORD)
        page = await client.get("/fees", follow_redirects=True)
        other = await send(client, "/account", act="password", old=PASSWORD, new=PASSWORD[::-1])
        added = await adds_passkey(client)
        after = await client.get("/fees")
        of_thief = await thief.get("/account")
        tried = await send(thief, "/account", act="set-up-app")
        opened = await thief.get("/fees")

    assert "Set up an app or add a passkey here. Until then nothing else opens." in page.text
    assert ("Devices" in page.text, "Current password" in page.text) == (False, False)
    assert (other.status_code, "requires a second factor" in other.text) == (400, True)
    assert ("Devices" in added.text, "identities" in after.text) == (True, True)
    assert "Sign out, and sign in with your passkey." in of_thief.text
    assert (tried.status_code, "sign in with your passkey" in tried.text) == (400, True)
    assert opened.headers["location"] == "account"


async def test_password_of_who_has_a_passkey_signs_in_nobody_in_such_a_role(
    queries: Application,
) -> None:
    async with browser() as client:
        await signed_in(client, queries, "Ada", Role.OPERATOR)
        await adds_passkey(client)
    async with browser() as client:
        refused = await send(client, "/sign-in", name="Ada", password=PASSWORD)
        token = queries.people.invite("Ada", Role.OPERATOR, Actor("root", queries.now())).reveal()
        again = await send(client, f"/invitation/{token}", password=PASSWORD[::-1])
        options = await client.post("/passkey/sign-in", headers={"Origin": SITE.origin})
        await send(client, "/sign-in", credential=KEY.but(uses=1).get(options.text))
        opened = await client.get("/fees")

    assert (refused.status_code, "sign in with your passkey" in refused.text) == (403, True)
    assert ("Your password is set" in again.text, "set-cookie" in again.headers) == (True, False)
    assert "identities" in opened.text


async def test_raised_role_and_removed_factor_close_what_a_password_opened(
    queries: Application,
) -> None:
    async with browser() as client:
        session = await signed_in(client, queries, "Ada", Role.VIEWER)
        before = await client.get("/fees")
        queries.people.change_role("Ada", Role.OPERATOR, Actor("root", queries.now()))
        raised = await client.get("/fees")
        await adds_app(client, queries, session)
        proven = await client.get("/fees")
        await send(client, "/account", act="remove-app")
        removed = await client.get("/fees")

    assert [each.status_code for each in (before, raised, proven, removed)] == [200, 303, 200, 303]


async def test_session_of_a_password_proves_the_app_by_a_code(
    queries: Application, fake_clock: FakeClock
) -> None:
    people = queries.people
    async with browser() as client:
        session = await signed_in(client, queries, "Ada", Role.VIEWER)
        key = people.factors.new_app_key(people.session_beginning(session).session_id)
        weak = people.sign_in("Ada", Secret(PASSWORD), LAPTOP)
    with queries.context.store.write() as connection:
        save_app_key(connection, weak.session.person, key, 0)
    people.change_role("Ada", Role.ADMIN, Actor("root", queries.now()))
    for act in (people.factors.renew_codes, people.factors.remove_app, people.actor):
        with pytest.raises(NotAllowed, match="requires a second factor"):
            act(weak.session.session_id)
    people.confirm(
        weak.session.session_id, Secret(PASSWORD), TOTP(key.reveal()).at(fake_clock.now())
    )

    assert people.actor(weak.session.session_id).role is Role.ADMIN


async def test_people_of_an_issuer_and_programs_take_no_factor_of_ours(
    queries: Application,
) -> None:
    identity = Identity(ISSUER, "1", "Eve", frozenset())
    begun = queries.people.sign_in_by(identity, LAPTOP)
    made = Tokens(queries.context).create(
        "backup", Role.ADMIN, timedelta(days=1), Actor("root", queries.now())
    )
    through = httpx.ASGITransport(ManagementApi(GATE))
    async with httpx.AsyncClient(transport=through, base_url=SITE.origin) as api:
        sent = {"Authorization": f"Bearer {made.secret.reveal()}"}
        reply = await api.get("/api/v1/people", headers=sent)

    assert queries.people.actor(begun.session.session_id).role is Role.ADMIN
    assert reply.status_code == 200
