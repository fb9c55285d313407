"""The gate: nothing of the pages without a session, and each session with its own identity."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from ipaddress import ip_network
from itertools import product
from urllib.parse import unquote

import anyio
import httpx
import pytest
from msgspec.structs import replace
from starlette.types import Message, Receive, Scope, Send

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.application.sessions import Device
from dashboard.application.text import PAGES
from dashboard.domain.people.access import Actor, Role
from dashboard.domain.people.sign_in import Proxy
from dashboard.errors import StoreUnavailable
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.transport.http_connection import PEER
from dashboard.web.sign_in import SIGNED_OUT, SignInGate
from tests.fake_clock import FakeClock
from tests.unit.show.web.gate_site import (
    GATE,
    PASSWORD,
    POLICY,
    browser,
    pages,
    queries,
    send,
    signed_in,
    store,
)

__all__ = ["queries", "store"]

BEHIND = (
    *(f"/{name}" for name in PAGES),
    "/_stcore/health",
    "/_stcore/host-config",
    "/_stcore/upload_file/a/b",
    "/media/a.csv",
    "/static/js/index.js",
    "/favicon.png",
    "/sign-in/",
    "/Sign-in",
    "//sign-in",
    "/account/x",
    "/live/",
)


@pytest.mark.usefixtures("queries")
async def test_nothing_is_served_without_a_session() -> None:
    methods = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS")
    cookies = (b"", b"x", b"\xe9", b"x" * 4_000)
    async with browser() as client:
        for method, path, cookie in product(methods, BEHIND, cookies):
            sent = {b"Cookie": b"__Host-linewatch=" + cookie}
            reply = await client.request(method, f"https://localhost{path}", headers=sent)
            is_page = method in {"GET", "HEAD"} and path[1:] in PAGES
            assert "identities" not in reply.text, (method, path, cookie)
            assert reply.status_code == (303 if is_page else 401), (method, path, cookie)


async def test_session_gets_everything_with_its_identity_alone(queries: Application) -> None:
    async with browser() as client:
        session = await signed_in(client, queries, "Ada")
        for path in BEHIND:
            if path != "//sign-in":
                reply = await client.get(path, headers={"X-Linewatch-Session": "of another"})
                assert reply.json() == {"path": path, "identities": [session]}


async def test_quoted_cookie_costs_nothing_and_does_not_reach_the_pages(
    queries: Application,
) -> None:
    quoted = b'a="' + b'\\"' * 200_000 + b'"'  # http.cookies takes minutes to unquote it
    seen: list[dict[bytes, bytes]] = []

    async def behind(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(dict(scope["headers"]))
        await pages(scope, receive, send)

    async with browser() as client:
        await signed_in(client, queries, "Ada")
    own = f"__Host-linewatch={client.cookies['__Host-linewatch']}".encode()
    transport = httpx.ASGITransport(SignInGate(behind))
    async with httpx.AsyncClient(transport=transport, base_url="https://localhost") as anybody:
        stranger = await anybody.get("/fees", headers={b"Cookie": quoted})
        await anybody.get("/fees", headers={b"Cookie": b"x=1; " + quoted + b"; " + own})
        application.register(Application(queries.context.store, (), None, queries.now))
        await anybody.get("/fees", headers={b"Cookie": quoted})

    assert stranger.status_code == 303
    assert [each.get(b"cookie") for each in seen] == [b"x=1; " + own, None]


async def test_made_up_identity_is_dropped_where_nobody_signs_in(store: Store) -> None:
    application.register(Application(store, (), None, lambda: FakeClock().now()))
    async with browser() as client:
        reply = await client.get("/fees", headers={"X-Linewatch-Session": "of another"})

    assert reply.json()["identities"] == []


async def test_deep_link_is_followed_after_signing_in(queries: Application) -> None:
    async with browser() as client:
        await signed_in(client, queries, "Ada")
    async with browser() as client:
        led = await client.get("/lookup?tx=0xab&network=59144")
        form = await client.get(f"/{led.headers['location']}")
        reply = await send(
            client,
            "/sign-in",
            name="Ada",
            password=PASSWORD,
            next=unquote(led.headers["location"].partition("next=")[2]),
        )
        last = await client.get(f"/{reply.headers['location']}")

    assert 'value="lookup?tx=0xab&amp;network=59144"' in form.text
    assert last.headers["location"] == "./lookup?tx=0xab&network=59144"


async def test_sign_in_leads_to_no_other_site(queries: Application) -> None:
    async with browser() as client:
        await signed_in(client, queries, "Ada")
        for place in (
            "//evil.example",
            "https://evil.example",
            "\\\\evil.example",
            "../x",
            "nowhere",
            "fees\r\nX: y",
        ):
            again = await client.get("/sign-in", params={"next": place})
            reply = await send(client, "/sign-in", name="Ada", password=PASSWORD, next=place)
            last = await client.get(f"/{reply.headers['location']}")
            assert (again.headers["location"], last.headers["location"]) == ("./", "./"), place


async def test_browser_that_keeps_no_cookie_is_told_so(queries: Application) -> None:
    async with browser() as client:
        await signed_in(client, queries, "Ada")
        reply = await send(client, "/sign-in", name="Ada", password=PASSWORD, next="fees")
    async with browser() as forgetful:
        page = await forgetful.get(f"/{reply.headers['location']}")

    assert "open this Linewatch by its https address" in page.text
    assert 'value="fees"' in page.text


async def test_cookie_is_for_this_host_over_tls_and_not_for_scripts(queries: Application) -> None:
    token = queries.people.invite("Ada", Role.VIEWER, Actor("root", queries.now())).reveal()
    async with browser() as client:
        reply = await send(client, f"/invitation/{token}", password=PASSWORD)

    name, *attributes = reply.headers["set-cookie"].split("; ")
    assert name.startswith("__Host-linewatch=")
    assert {each.lower() for each in attributes} == {
        *("httponly", "secure", "samesite=lax", "path=/", f"max-age={30 * 86_400}")
    }
    assert reply.headers["cache-control"] == "no-store"


async def test_form_of_no_page_of_ours_is_refused(queries: Application) -> None:
    async with browser() as client:
        session = await signed_in(client, queries, "Ada")
        for path in ("/sign-in", "/sign-out", "/account", "/invitation/x"):
            reply = await client.post(path, data={"session": session})
            assert reply.status_code == 403
    assert len(queries.people.sessions()) == 1


async def test_sign_in_changes_the_secret_and_ends_the_session_before(queries: Application) -> None:
    async with browser() as client:
        first = await signed_in(client, queries, "Ada")
        old = client.cookies["__Host-linewatch"]
        await send(client, "/sign-in", name="Ada", password=PASSWORD)
        new = client.cookies["__Host-linewatch"]

    [session] = queries.people.sessions()
    assert (new != old, str(session.session_id) != first) == (True, True)


@pytest.mark.usefixtures("queries")
async def test_wrong_password_keeps_the_name_and_says_so() -> None:
    async with browser() as client:
        reply = await send(client, "/sign-in", name='A"><b>', password="wrong wrong wrong")

    assert reply.status_code == 403
    assert "The name or the password is wrong" in reply.text
    assert 'value="A&quot;&gt;&lt;b&gt;"' in reply.text
    assert "wrong wrong wrong" not in reply.text


async def test_person_signs_another_device_out_and_then_this_one(queries: Application) -> None:
    async with browser() as laptop, browser("198.51.100.7") as phone:
        await signed_in(laptop, queries, "Ada")
        await send(phone, "/sign-in", name="Ada", password=PASSWORD)
        page = await laptop.get("/account")
        [other] = [
            each.session_id for each in queries.people.sessions() if each.address == "198.51.100.7"
        ]
        said = await send(laptop, "/account", act="sign-out", session=other.hex)
        left = await phone.get("/fees")
        await send(laptop, "/sign-out")
        gone = await laptop.get("/fees")

    assert "from 198.51.100.7" in page.text
    assert "That device is signed out." in said.text
    assert (left.status_code, gone.status_code) == (303, 303)
    assert queries.people.sessions() == []


async def test_account_page_ends_no_session_of_somebody_else(queries: Application) -> None:
    async with browser() as ada, browser() as bob:
        await signed_in(ada, queries, "Ada", Role.ADMIN)
        others = await signed_in(bob, queries, "Bob")
        end = {"act": "sign-out", "session": others.replace("-", "")}
        reply = await send(ada, "/account", **end)

    assert reply.status_code == 400
    assert len(queries.people.sessions()) == 2


class LostStore(Store):
    """A store that cannot be read any more."""

    def __init__(self) -> None:
        """Need nothing."""

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Refuse."""
        yield self._connection()

    def _connection(self) -> Connection:
        raise StoreUnavailable("the store is gone")


async def test_store_that_cannot_be_read_lets_nobody_in(queries: Application) -> None:
    async with browser() as client:
        await signed_in(client, queries, "Ada")
        settings = PageSettings(sign_in=POLICY)
        application.register(Application(LostStore(), (), None, queries.now, settings=settings))
        reply = await client.get("/fees")

    assert reply.status_code == 503
    assert "identities" not in reply.text


async def test_live_says_so_to_everybody(queries: Application) -> None:
    assert queries.people.must_sign_in
    async with browser() as client:
        reply = await client.get("/live")
    assert (reply.status_code, reply.text) == (200, "live\n")


class Socket:
    """A WebSocket without a server: what the app sends, and what the browser says to it."""

    def __init__(self, cookie: str, *, can_refuse: bool = True) -> None:
        headers = [(b"host", b"localhost"), (b"cookie", f"__Host-linewatch={cookie}".encode())]
        refusing: dict[str, object] = {"websocket.http.response": {}} if can_refuse else {}
        self.scope: Scope = {
            "type": "websocket",
            "path": "/_stcore/stream",
            "headers": headers,
            "extensions": refusing,
        }
        self.sent: list[Message] = []
        self.said, self._coming = anyio.create_memory_object_stream[Message](10)
        self.said.send_nowait({"type": "websocket.connect"})

    async def receive(self) -> Message:
        return await self._coming.receive()

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def converse(self, gate: SignInGate = GATE) -> None:
        """Be connected until one side ends it."""
        with self.said, self._coming:
            await gate(self.scope, self.receive, self.send)


@pytest.mark.usefixtures("queries")
@pytest.mark.parametrize("can_refuse", [True, False])
async def test_websocket_without_a_session_is_refused(*, can_refuse: bool) -> None:
    socket = Socket("made up", can_refuse=can_refuse)
    await socket.converse()

    first = socket.sent[0]
    assert first["type"] == ("websocket.http.response.start" if can_refuse else "websocket.close")
    assert first.get("status") == (401 if can_refuse else None)


async def test_websocket_is_closed_soon_after_its_session_ends(queries: Application) -> None:
    async with browser() as client:
        session = await signed_in(client, queries, "Ada")
        socket = Socket(client.cookies["__Host-linewatch"])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(GATE.watch)
            tasks.start_soon(socket.converse)
            while not any(each["type"] == "websocket.send" for each in socket.sent):
                await anyio.lowlevel.checkpoint()
            await send(client, "/sign-out")
            while socket.sent[-1]["type"] != "websocket.close":
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()

    assert [each.get("text") for each in socket.sent[1:2]] == [f"['{session}']"]
    assert socket.sent[-1]["code"] == SIGNED_OUT


PROXY = Proxy([ip_network("10.0.0.5")], "remote-user", "", ",", {"*": Role.VIEWER})


def behind_proxy(queries: Application) -> Application:
    """Answer behind a proxy from now on."""
    settings = PageSettings(sign_in=replace(POLICY, proxy=PROXY))
    made = Application(queries.context.store, (), None, queries.now, settings=settings)
    application.register(made)
    return made


async def test_word_of_the_proxy_wins_over_a_session_of_before(queries: Application) -> None:
    async def from_proxy(scope: Scope, receive: Receive, send: Send) -> None:
        await GATE({**scope, "state": {PEER: "10.0.0.5"}}, receive, send)

    async with browser() as client:
        await signed_in(client, queries, "Ada", Role.ADMIN)
    own = behind_proxy(queries)
    through = httpx.ASGITransport(from_proxy)
    async with httpx.AsyncClient(
        transport=through, base_url="https://localhost", cookies=client.cookies
    ) as client:
        unnamed = await client.get("/fees")
        forged = await client.get("/fees", headers={"Remote-User": "bob, ada"})
        named = await client.get("/fees", headers={"Remote-User": "bob"})
        begun = await client.get("/sign-in", headers={"Remote-User": "bob"})
        after = await client.get("/fees", headers={"Remote-User": "bob"})

    assert [each.status_code for each in (unnamed, forged, named)] == [200, 303, 303]
    assert begun.headers["location"] == "sign-in?kept=&next="
    assert len(after.json()["identities"]) == 1
    assert [each.person.name for each in own.people.sessions()] == ["bob"]


async def test_websocket_of_a_person_of_the_proxy_asks_it_again_after_a_while(
    queries: Application,
) -> None:
    own, headers = behind_proxy(queries), [(b"remote-user", b"ada")]
    named = PROXY.identity(headers)
    assert named is not None
    begun = own.people.sign_in_by(named, Device("Firefox", "192.0.2.1"))
    socket = Socket(begun.secret.reveal())
    socket.scope["headers"] += headers
    socket.scope["state"] = {PEER: "10.0.0.5"}
    await socket.converse(SignInGate(pages, named_for=timedelta(0)))

    assert {each.get("code") for each in socket.sent if "close" in each["type"]} == {SIGNED_OUT}
