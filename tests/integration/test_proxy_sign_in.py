"""People whom a real HAProxy in front of real pages names, and who else tries to be named."""

from __future__ import annotations

import base64
import json
import re
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests import plain_http
from tests.installation import Installation, answers, free_ports, new_installation
from tests.provision import program
from tests.waiting import PATIENCE, eventually

PROXY = "127.0.0.2"
"""From where HAProxy connects; everybody else comes from 127.0.0.1."""

COOKIE = "__Host-linewatch"
SETTINGS = f"""\
[pages]
public_url = "http://127.0.0.1:{{port}}"
[sign_in.proxy]
addresses = ["{PROXY}"]
groups_header = "Remote-Groups"
roles = {{{{ on-call = "operator", staff = "viewer" }}}}
sign_out_url = "/leave"
"""
HAPROXY = f"""\
userlist people
    group on-call
    group staff
    group visitors
    user ada insecure-password x groups on-call
    user bob insecure-password x groups staff
    user eve insecure-password x groups visitors
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend front
    bind 127.0.0.1:{{front}}
    option forwardfor
    http-request del-header Remote-Groups
    http-request del-header Remote-User
    http-request set-header Remote-User %[http_auth_user] if {{{{ http_auth(people) }}}}
    http-request set-header Remote-Groups staff,on-call if {{{{ http_auth_group(people) on-call }}}}
    http-request set-header Remote-Groups staff if {{{{ http_auth_group(people) staff }}}}
    default_backend pages
backend pages
    server pages 127.0.0.1:{{pages}} source {PROXY}
"""


@dataclass(frozen=True)
class Site:
    """Pages behind HAProxy; `front` is where that listens."""

    installation: Installation
    front: str
    log: Path

    def get(self, path: str, name: str = "", cookie: str = "", **headers: str) -> httpx.Response:
        """Open a page through HAProxy, to which a browser says its name and password."""
        sent = {**headers, **known_as(name), "Cookie": f"{COOKIE}={cookie}"}
        return plain_http.get(f"{self.front}{path}", headers=sent)

    def signed_in(self, name: str) -> str:
        """Come to a page as somebody new; return the cookie."""
        reply = self.get(f"/{self.get('/fees', name).headers['location']}", name)
        assert reply.headers["location"] == "sign-in?kept=&next=fees"
        return reply.cookies[COOKIE]

    def people(self) -> dict[str, str]:
        """Return everybody's role by name."""
        rows = json.loads(self.installation.run("people", "list", "--json").stdout)["people"]
        return {each["name"]: each["role"] for each in rows}


def known_as(name: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{name}:x'.encode()).decode()}"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("proxy")
    (front,) = free_ports(1)
    allowed = {"FORWARDED_ALLOW_IPS": f"127.0.0.1,{PROXY}"}
    installation = new_installation(
        folder / "home", LINEWATCH_CONFIG=str(folder / "own.toml"), **allowed
    )
    (folder / "own.toml").write_text(SETTINGS.format(port=front))
    settings = folder / "haproxy.cfg"
    settings.write_text(HAPROXY.format(front=front, pages=installation.pages_port))
    installation.run("migrate")
    with (
        installation.role("pages", folder / "log"),
        subprocess.Popen([program("haproxy"), "-db", "-f", settings]) as process,
    ):
        try:
            eventually(lambda: answers(f"http://127.0.0.1:{front}/live"), what="HAProxy")
            yield Site(installation, f"http://127.0.0.1:{front}", folder / "log")
        finally:
            process.terminate()


def test_person_whom_the_proxy_names_is_signed_in_with_the_role_of_their_groups(site: Site) -> None:
    ada, bob = site.signed_in("ada"), site.signed_in("bob")
    page = site.get("/account", "ada", ada)
    audit = site.installation.run("audit", "--action", "sign-in", "--json").stdout
    entries = json.loads(audit)["entries"]

    assert "You are an operator." in page.text
    assert site.get("/_stcore/health", "bob", bob).text == "ok"
    assert site.people() == {"ada": "operator", "bob": "viewer"}
    assert {(each["actor"], each["from"], each["details"]["with"]) for each in entries} == {
        ("ada", "127.0.0.1", "the proxy"),
        ("bob", "127.0.0.1", "the proxy"),
    }


def test_person_whose_groups_have_no_role_is_told_so(site: Site) -> None:
    reply = site.get("/sign-in", "eve")

    assert (reply.status_code, "set-cookie" in reply.headers) == (403, False)
    assert "None of your groups at the proxy has a role here" in reply.text


def test_header_of_anybody_else_is_dropped(site: Site) -> None:
    forged = {"Remote-User": "ada", "Remote-Groups": "on-call"}
    for more in ({}, {"X-Forwarded-For": PROXY}, {"X-Real-IP": PROXY, "Forwarded": f"for={PROXY}"}):
        reply = plain_http.get(f"{site.installation.pages}/sign-in", headers=forged | more)
        assert "Sign in through the proxy" in reply.text
        assert "set-cookie" not in reply.headers
    through = site.get("/sign-in", "nobody", **forged)

    assert "set-cookie" not in through.headers
    assert "a header was not believed" in site.log.read_text()


def test_cookie_of_a_person_of_the_proxy_opens_nothing_past_it(site: Site) -> None:
    cookie = site.signed_in("ada")
    past = plain_http.get(
        f"{site.installation.pages}/_stcore/health", headers={"Cookie": f"{COOKIE}={cookie}"}
    )

    assert site.get("/_stcore/health", "ada", cookie).status_code == 200
    assert past.status_code == 401
    with pytest.raises(InvalidStatus):
        socket_of(site.installation.pages, cookie, "ada")


def socket_of(address: str, cookie: str, name: str) -> ClientConnection:
    return connect(
        f"{address.replace('http', 'ws')}/_stcore/stream",
        additional_headers={**known_as(name), "Cookie": f"{COOKIE}={cookie}"},
        subprotocols=[Subprotocol("streamlit")],
        proxy=None,
    )


def test_another_person_in_the_same_browser_gets_a_session_of_their_own(site: Site) -> None:
    of_ada = site.signed_in("ada")
    page = site.get("/fees", "bob", of_ada)
    reply = site.get("/sign-in", "bob", of_ada)

    assert (page.status_code, page.headers["location"]) == (303, "sign-in?next=fees")
    assert reply.cookies[COOKIE] != of_ada
    assert "You are a viewer." in site.get("/account", "bob", reply.cookies[COOKIE]).text
    assert site.get("/_stcore/health", "ada", of_ada).status_code == 401


def test_person_who_is_kept_out_here_is_kept_out_though_the_proxy_names_them(site: Site) -> None:
    cookie = site.signed_in("bob")
    with socket_of(site.front, cookie, "bob") as opened:
        site.installation.run("people", "disable", "bob")
        with pytest.raises(ConnectionClosed) as ended:
            _ = [opened.recv(timeout=PATIENCE) for _ in count()]
    reply = site.get("/sign-in", "bob", cookie)
    site.installation.run("people", "enable", "bob")

    assert ended.value.rcvd is not None
    assert ended.value.rcvd.code == 4401
    assert (reply.status_code, "Your account is disabled" in reply.text) == (403, True)


def test_sign_out_says_that_the_proxy_still_knows_who_left(site: Site) -> None:
    cookie = site.signed_in("ada")
    reply = plain_http.post(
        f"{site.front}/sign-out",
        headers={**known_as("ada"), "Cookie": f"{COOKIE}={cookie}", "Origin": site.front},
    )

    assert 'href="/leave"' in reply.text
    assert site.get("/_stcore/health", "ada", cookie).status_code == 401


def test_nothing_that_another_site_shows_begins_a_session(site: Site) -> None:
    reply = site.get("/sign-in", "ada", **{"Sec-Fetch-Dest": "image"})

    assert "set-cookie" not in reply.headers


LONG = b"a" * 251
HOSTILE = {
    "two values": b"Remote-User: ada\r\nRemote-User: root",
    "two groups": b"Remote-User: ada\r\nRemote-Groups: staff\r\nRemote-Groups: on-call",
    "a list": b"Remote-User: root, ada",
    "empty": b"Remote-User:",
    "blank": b"Remote-User: \t ",
    "another name": b"Remote_User: ada",
    "Latin-1": b"Remote-User: ad\xe9",
    "half a character": b"Remote-User: ad\xc3",
    "a surrogate": b"Remote-User: \xed\xa0\x80",
    "turned text": "Remote-User: \u202eada".encode(),
    "a control": b"Remote-User: a\x1bda",
    "a null": b"Remote-User: a\x00da",
    "a lonely return": b"Remote-User: a\rRemote-User: b",
    "a folded line": b"Remote-User: a\r\n da",
    "long": b"Remote-User: " + LONG,
    "long groups": b"Remote-User: ada\r\nRemote-Groups: " + b"a," * 2_001,
    "a huge one": b"Remote-User: " + LONG * 300,
}


@pytest.mark.parametrize("header", HOSTILE.values(), ids=HOSTILE)
def test_header_of_the_proxy_that_may_be_somebody_elses_signs_nobody_in(
    site: Site, header: bytes
) -> None:
    reply = sent_as_proxy(site, header)

    assert re.match(rb"HTTP/1.1 (200|400|403|431) ", reply), reply[:200]
    assert b"set-cookie" not in reply.lower()


def test_name_in_any_script_is_a_name(site: Site) -> None:
    name = "Ægir Þórsson-Łuk"
    reply = sent_as_proxy(site, f"Remote-User: {name}\r\nRemote-Groups: staff".encode())

    assert reply.startswith(b"HTTP/1.1 303 ")
    assert site.people()[name] == "viewer"


def sent_as_proxy(site: Site, header: bytes) -> bytes:
    """Return the answer to the sign-in page, asked for from the address of the proxy."""
    with socket.create_connection(
        ("127.0.0.1", site.installation.pages_port), PATIENCE, source_address=(PROXY, 0)
    ) as opened:
        opened.sendall(
            b"GET /sign-in HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            + header
            + b"\r\n\r\n"
        )
        answer = b""
        while piece := opened.recv(65_536):
            answer += piece
    return answer
