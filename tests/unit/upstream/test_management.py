"""The client of the management API: the token goes to one host, and answers end in time."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from dashboard.domain.secret import Secret
from dashboard.errors import InputError, LinewatchError, UpstreamRefused, UpstreamUnavailable
from dashboard.upstream.management import post_json
from tests.certificate import make_certificate
from tests.integration.faulty_upstreams import Behaviour, an_upstream, dripping, silent
from tests.webhook_server import Receiver, http_receiver

TOKEN = Secret("lwt_c4nary")
A_WHILE = timedelta(milliseconds=150)


@pytest.fixture
def receiver() -> Iterator[tuple[Receiver, str]]:
    told = Receiver(200, {"Content-Type": "application/json"}, b"{}")
    with http_receiver(told) as port:
        yield told, f"http://127.0.0.1:{port}/api/v1/commands"


def refused(url: str) -> LinewatchError:
    with pytest.raises(LinewatchError) as error:
        post_json(url, TOKEN, b"{}")
    assert TOKEN.reveal() not in str(error.value)
    return error.value


def test_token_follows_no_redirect(receiver: tuple[Receiver, str]) -> None:
    other, elsewhere = receiver
    redirect = {"Location": elsewhere.replace("127.0.0.1", "x:y@localhost")}
    with http_receiver(Receiver(307, redirect)) as port:
        error = refused(f"http://127.0.0.1:{port}/api/v1/commands")

    assert isinstance(error, UpstreamRefused)
    assert "redirects to http://localhost:" in str(error)
    assert other.requests == []


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (401, b'{"detail": "Send a valid token."}', InputError, "Send a valid token"),
        (403, b'{"detail": "No \\u001b[2J."}', InputError, r"No \u001b[2J"),
        (404, b'{"detail": "Nothing is here."}', UpstreamRefused, "Nothing is here"),
        (503, b'{"detail": "Try again."}', UpstreamUnavailable, "Try again"),
        (404, b"<html>", UpstreamRefused, "answers 404 and not as a Linewatch does"),
        (502, b"[1]", UpstreamRefused, "answers 502 and not as a Linewatch does"),
    ],
)
def test_problem_is_an_error_of_one_line(
    receiver: tuple[Receiver, str], status: int, body: bytes, kind: type[Exception], says: str
) -> None:
    told, url = receiver
    told.status, told.body = status, body

    error = refused(url)

    assert type(error) is kind
    assert str(error).endswith(says) or says in str(error)
    assert str(error).isprintable()


def test_certificate_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = make_certificate(tmp_path)
    told = Receiver(200, {}, b"{}")
    with http_receiver(told, certificate.for_server()) as port:
        url = f"https://127.0.0.1:{port}/api/v1/commands"
        error = refused(url)
        assert told.requests == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate.path))
        answer = post_json(url, TOKEN, b"{}")

    assert "its TLS certificate is not trusted" in str(error)
    assert answer == b"{}"
    assert told.requests[0].headers["Authorization"] == "Bearer lwt_c4nary"
    assert ssl.create_default_context().verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize("behaviour", [silent, dripping], ids=["silent", "dripping"])
async def test_answer_that_does_not_come_is_given_up(behaviour: Behaviour) -> None:
    async with an_upstream(behaviour) as upstream:
        url = f"http://127.0.0.1:{upstream.port}/"
        with pytest.raises(UpstreamUnavailable, match=r"does not answer within 0\.15 s"):
            await asyncio.to_thread(post_json, url, TOKEN, b"{}", A_WHILE)


def test_server_that_does_not_run_is_named() -> None:
    assert "cannot be reached" in str(refused("http://127.0.0.1:1/api/v1/commands"))
