"""Second factors and passkeys on the pages of accounts: their forms, and what nobody else sees."""

from __future__ import annotations

import re
from functools import partial
from html import unescape
from threading import Event, Semaphore
from typing import Literal

import anyio
import httpx
import pytest
from anyio import to_thread
from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from msgspec.structs import replace
from pyotp import TOTP

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.application.factors import CONFIRMED_FOR
from dashboard.application.people import People
from dashboard.domain.people.access import Actor, Role
from dashboard.domain.people.sign_in import Site
from tests.fake_clock import FakeClock
from tests.software_authenticator import Authenticator
from tests.unit.show.web.gate_site import PASSWORD, POLICY, browser, queries, send, signed_in, store
from tests.waiting import PATIENCE

__all__ = ["queries", "store"]

HERE = {"Origin": "https://localhost"}
KEY = Authenticator(origin="https://localhost", host="localhost")
HOSTILE = '"><script>alert(1)</script>'


def field(reply: httpx.Response, name: str) -> str:
    """Return what a hidden field of a page brings back."""
    [value] = re.findall(rf'type="hidden" name="{name}" value="([^"]*)"', reply.text)
    return unescape(value)


def code_of(key: str, clock: FakeClock) -> str:
    return TOTP(key).at(clock.now())


async def set_up(client: httpx.AsyncClient, clock: FakeClock) -> tuple[str, httpx.Response]:
    """Set up an authenticator app; return its key and the page with the recovery codes."""
    page = await send(client, "/account", act="set-up-app")
    key = field(page, "key")
    done = await send(client, "/account", act="add-app", key=key, code=code_of(key, clock))
    return key, done


class Waiting(PasswordHasher):
    """Hashes no password before it is let."""

    begun = Semaphore(0)
    may_end = Event()

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:  # noqa: A002, ARG002 - as argon2 has it
        self.begun.release()
        self.may_end.wait(PATIENCE)
        raise VerifyMismatchError


async def test_passwords_of_strangers_keep_no_other_form_waiting(queries: Application) -> None:
    async with browser() as client, anyio.create_task_group() as strangers:
        await signed_in(client, queries, "Ada")
        queries.people = People(queries.context, hasher := Waiting())
        for number in range(4):
            strangers.start_soon(
                partial(send, client, "/sign-in", name=f"{number}", password="x" * 12)
            )
        try:
            for _ in range(2):
                await to_thread.run_sync(hasher.begun.acquire)
            with anyio.fail_after(PATIENCE):
                passkey = await send(client, "/sign-in", credential="{}")
                code = await send(client, "/sign-in", token="x", code="000000")
                named = await send(client, "/account", act="set-up-app")
        finally:
            hasher.may_end.set()

    assert [each.status_code for each in (passkey, code, named)] == [403, 403, 200]


async def test_app_is_set_up_by_picture_link_or_key_and_shows_its_codes_once(
    queries: Application, fake_clock: FakeClock
) -> None:
    async with browser() as client:
        await signed_in(client, queries, "Ada Ü")
        page = await send(client, "/account", act="set-up-app")
        key = field(page, "key")
        wrong = await send(client, "/account", act="add-app", key=key, code="000000")
        _, done = await set_up(client, fake_clock)
        account = await client.get("/account")

    assert (
        f'href="otpauth://totp/Linewatch:Ada%20%C3%9C?secret={key}&amp;issuer=Linewatch'
        in page.text
    )
    assert "<svg" in page.text
    assert " ".join(re.findall("....", key)) in page.text
    assert field(wrong, "key") == key
    assert "The code is wrong" in wrong.text
    codes = re.findall(r"<code>([A-Z2-7-]{19})</code>", done.text)
    assert len(set(codes)) == 10
    assert done.headers["cache-control"] == "no-store"
    assert "You have 10 recovery codes left." in account.text
    assert key not in account.text
    assert codes[0] not in account.text


async def test_sign_in_asks_for_the_code_and_goes_on_to_the_page(
    queries: Application, fake_clock: FakeClock
) -> None:
    async with browser() as client:
        await signed_in(client, queries, "Ada")
        key, _ = await set_up(client, fake_clock)
    fake_clock.wait(CONFIRMED_FOR)
    async with browser() as client:
        page = await send(client, "/sign-in", name="Ada", password=PASSWORD, next="fees")
        before = await client.get("/fees")
        going_on = {"token": field(page, "token"), "next": field(page, "next")}
        wrong = await send(client, "/sign-in", **going_on, code="000000")
        right = await send(client, "/sign-in", **going_on, code=code_of(key, fake_clock))
        again = await send(client, "/sign-in", **going_on, code=code_of(key, fake_clock))

    assert (before.status_code, "set-cookie" in page.headers) == (303, False)
    assert (wrong.status_code, field(wrong, "token")) == (403, going_on["token"])
    assert (right.status_code, right.headers["location"]) == (303, "sign-in?kept=&next=fees")
    assert (again.status_code, "Sign in to Linewatch" in again.text) == (403, True)


async def test_invitation_of_who_has_an_app_leads_to_the_code(
    queries: Application, fake_clock: FakeClock
) -> None:
    async with browser() as client:
        await signed_in(client, queries, "Ada")
        await set_up(client, fake_clock)
    token = queries.people.invite("Ada", Role.VIEWER, Actor("root", queries.now())).reveal()
    async with browser() as client:
        page = await send(client, f"/invitation/{token}", password="another long password")

    assert 'action="../sign-in"' in page.text
    assert "set-cookie" not in page.headers
    assert queries.people.sessions() == []


async def test_passkey_is_added_used_and_removed_on_pages(queries: Application) -> None:
    async with browser() as client:
        await signed_in(client, queries, "Ada")
        options = await client.post("/passkey/new", headers=HERE)
        sent = {"act": "add-passkey", "credential": KEY.create(options.text), "name": HOSTILE}
        added = await send(client, "/account", **sent)
    async with browser() as client:
        options = await client.post("/passkey/sign-in", headers=HERE)
        sent = {"credential": KEY.get(options.text), "next": "fees"}
        entered = await send(client, "/sign-in", **sent)
        again = await send(client, "/sign-in", **sent)
        page = await client.get("/account")
        removed = await send(
            client, "/account", act="remove-passkey", passkey=field(page, "passkey")
        )

    assert HOSTILE not in added.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;, added 2" in added.text
    assert entered.headers["location"] == "sign-in?kept=&next=fees"
    assert (again.status_code, "done already" in again.text) == (403, True)
    assert "The passkey is removed." in removed.text


async def test_old_sign_in_changes_nothing_before_the_password_is_typed_again(
    queries: Application, fake_clock: FakeClock
) -> None:
    async with browser() as client:
        await signed_in(client, queries, "Ada")
        fake_clock.wait(CONFIRMED_FOR * 2)
        page = await client.get("/account")
        refused = await send(client, "/account", act="set-up-app")
        options = await client.post("/passkey/new", headers=HERE)
        await send(client, "/account", act="confirm", password=PASSWORD)
        after = await client.get("/account")
        key, _ = await set_up(client, fake_clock)
        fake_clock.wait(CONFIRMED_FOR * 2)
        alone = await send(client, "/account", act="confirm", password=PASSWORD)
        code = code_of(key, fake_clock)
        both = await send(client, "/account", act="confirm", password=PASSWORD, code=code)

    offer = 'value="set-up-app"'
    assert (offer in page.text, offer in after.text) == (False, True)
    assert (refused.status_code, "type your password" in refused.text) == (400, True)
    assert (options.status_code, "ype your password" in options.text) == (400, True)
    assert (alone.status_code, 'name="code"' in alone.text) == (400, True)
    assert 'value="remove-app"' in both.text


@pytest.mark.usefixtures("queries")
async def test_stranger_learns_no_more_than_how_to_sign_in() -> None:
    async with browser() as client:
        script = await client.get("/passkey/script.js")
        other = await client.get("/passkey/anything")
        new = await client.post("/passkey/new", headers=HERE)
        unsent = await client.post("/passkey/sign-in")
        elsewhere = await client.post("/passkey/sign-in", headers={"Origin": "https://192.0.2.1"})

    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert (other.status_code, new.status_code, unsent.status_code) == (404, 401, 403)
    assert (elsewhere.status_code, "work at https://localhost only" in elsewhere.text) == (
        400,
        True,
    )


async def test_passkeys_are_bound_to_the_public_address(
    queries: Application, fake_clock: FakeClock
) -> None:
    policy = replace(POLICY, site=Site("https://watch.example", "watch.example"))
    settings = PageSettings(sign_in=policy)
    store = queries.context.store
    application.register(Application(store, (), None, fake_clock.now, settings=settings))
    async with browser() as client:
        other = await client.post("/passkey/sign-in", headers=HERE)
        own = await client.post("/passkey/sign-in", headers={"Origin": "https://watch.example"})

    assert other.status_code == 400
    assert other.text == (
        "Passkeys work at https://watch.example only: open this Linewatch there, or set "
        "pages.public_url to the address that you use."
    )
    assert (own.json()["rpId"], own.json()["userVerification"]) == ("watch.example", "required")


async def test_person_names_a_device(queries: Application) -> None:
    async with browser() as client:
        session = await signed_in(client, queries, "Ada")
        named = {"act": "name", "session": session.replace("-", ""), "label": HOSTILE}
        page = await send(client, "/account", **named)

    assert HOSTILE not in page.text
    assert [each.label for each in queries.people.sessions()] == [HOSTILE]
