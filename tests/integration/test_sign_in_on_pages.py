"""Real pages that people sign in to: nothing before, and the end of a session at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import httpx
import pytest
from pyotp import TOTP
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests import plain_http
from tests.canaries import canary
from tests.installation import Installation, running_pages
from tests.waiting import PATIENCE

PASSWORD = canary("password of everybody")
COOKIE = "__Host-linewatch"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with running_pages(
        tmp_path_factory.mktemp("pages"),
        LINEWATCH_SIGN_IN_ACCOUNTS="true",
        LINEWATCH_SIGN_IN_SECOND_FACTOR="support",
    ) as installation:
        yield installation


@dataclass(frozen=True)
class Visitor:
    """Somebody who signed in, by the cookie of their browser."""

    installation: Installation
    cookie: str

    def get(self, path: str) -> httpx.Response:
        return plain_http.get(f"{self.installation.pages}{path}", headers=self.headers())

    def send(self, path: str, **form: str) -> httpx.Response:
        own = {"Origin": self.installation.pages, **self.headers()}
        return plain_http.post(f"{self.installation.pages}{path}", data=form, headers=own)

    def headers(self) -> dict[str, str]:
        return {"Cookie": f"{COOKIE}={self.cookie}"}

    @contextmanager
    def page(self, session_of_streamlit: str = "") -> Iterator[tuple[ClientConnection, str]]:
        """Open a page, also one that presents the id of a session; yield the id that it got."""
        presented = ("x", session_of_streamlit) if session_of_streamlit else ()
        protocols = ("streamlit", *presented)
        with connect(
            f"ws://127.0.0.1:{self.installation.pages_port}/_stcore/stream",
            additional_headers=self.headers(),
            subprotocols=[Subprotocol(each) for each in protocols],
            max_size=None,
            max_queue=None,
            proxy=None,
        ) as socket:
            socket.send(BackMsg(rerun_script=ClientState()).SerializeToString())
            while True:
                message = ForwardMsg.FromString(socket.recv(timeout=PATIENCE))
                if message.WhichOneof("type") == "new_session":
                    break
            yield socket, message.new_session.initialize.session_id


def joined(installation: Installation, name: str, role: str = "viewer") -> Visitor:
    """Invite somebody by command, and set the password as a browser does."""
    link = installation.run("people", "invite", name, "--role", role).stdout
    (path,) = re.findall(r"/invitation/\S+", link)
    reply = plain_http.post(
        f"{installation.pages}{path}",
        data={"password": PASSWORD},
        headers={"Origin": installation.pages},
    )
    return Visitor(installation, reply.cookies[COOKIE])


def test_stranger_gets_no_byte_of_streamlit(running: Installation) -> None:
    for path in ("/_stcore/health", "/_stcore/host-config", "/static/x.js", "/media/x", "/_stcore"):
        reply = plain_http.get(f"{running.pages}{path}")
        assert (reply.status_code, reply.text) == (
            401,
            "You are signed out. Reload this page and sign in.",
        )
    page = plain_http.get(f"{running.pages}/fees", follow_redirects=True)
    assert "Sign in to Linewatch" in page.text
    assert "streamlit" not in page.text.lower()
    with pytest.raises(InvalidStatus) as refusal:
        Visitor(running, "made-up").page().__enter__()
    assert refusal.value.response.status_code == 401


def test_session_of_streamlit_is_not_given_to_somebody_else(running: Installation) -> None:
    ada, bob = joined(running, "Ada", "admin"), joined(running, "Bob")
    with ada.page() as (_, first):
        pass
    with ada.page(first) as (_, again):
        pass
    with bob.page(first) as (_, of_bob):
        pass

    assert again == first
    assert of_bob != first


def test_open_page_closes_when_its_session_is_ended_by_command(running: Installation) -> None:
    eve = joined(running, "Eve", "operator")
    with eve.page() as (socket, _):
        listed = running.run("people", "sessions", "--json").stdout
        assert '"Eve"' in listed
        running.run("people", "remove", "Eve")
        with suppress(ConnectionClosed):
            while socket.recv(timeout=PATIENCE):
                pass

    assert socket.close_code == 4401
    assert eve.get("/_stcore/health").status_code == 401
    with pytest.raises(InvalidStatus):
        eve.page().__enter__()


def test_role_that_takes_a_second_factor_gets_no_page_before_it_is_there(
    running: Installation,
) -> None:
    sam = joined(running, "Sam", "support")
    assert sam.get("/fees").headers["location"] == "account"
    assert sam.get("/_stcore/health").status_code == 401
    with pytest.raises(InvalidStatus) as refusal:
        sam.page().__enter__()
    assert refusal.value.response.status_code == 401

    (key,) = re.findall(r'name="key" value="(\w+)"', sam.send("/account", act="set-up-app").text)
    sam.send("/account", act="add-app", key=key, code=TOTP(key).now())
    with sam.page() as (socket, _):
        sam.send("/account", act="remove-app")
        with suppress(ConnectionClosed):
            while socket.recv(timeout=PATIENCE):
                pass
    assert socket.close_code == 4401
