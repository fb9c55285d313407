"""Certificates of a private authority are believed over https, wss and SMTP alike, or nowhere."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, serve

from dashboard.alert.channels.smtp import SmtpChannel
from dashboard.errors import DeliveryDeferred
from dashboard.settings import Settings, load_settings
from dashboard.settings.tls import take_seen_certificates
from dashboard.wiring.channels import mail_channel
from dashboard.wiring.clients import open_clients
from dashboard.wiring.networks import networks_of
from tests.builders import a_hash
from tests.certificate import Certificate, make_certificate
from tests.integration.faulty_upstreams import Upstream, an_upstream, replying
from tests.mail_server import Inbox, mail_server
from tests.recording_channel import MESSAGE, some_headers

Listen = Callable[[ssl.SSLContext], AbstractAsyncContextManager[Upstream]]


@asynccontextmanager
async def over_https(tls: ssl.SSLContext) -> AsyncIterator[Upstream]:
    async with an_upstream(replying("200 OK", b"[]"), tls) as upstream:
        yield upstream


@asynccontextmanager
async def over_wss(tls: ssl.SSLContext) -> AsyncIterator[Upstream]:
    upstream = Upstream(0)

    async def handle(connection: ServerConnection) -> None:
        async for message in connection:
            upstream.requests.append(str(message).encode())
            await connection.send("[]")

    async with serve(handle, "127.0.0.1", 0, ssl=tls) as server:
        upstream.port = next(iter(server.sockets)).getsockname()[1]
        yield upstream


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


def settings_with(folder: Path, text: str) -> Settings:
    (folder / "linewatch.toml").write_text(text, encoding="utf-8")
    return load_settings({"LINEWATCH_HOME": str(folder)})


def assert_seen(host: str) -> None:
    """Check that the end of the certificate was noted, a day after it was made."""
    [(seen, ends_at)] = take_seen_certificates().items()
    left = ends_at - datetime.now(UTC)
    assert seen == host
    assert timedelta(hours=23) < left <= timedelta(days=1)


async def asked(folder: Path, scheme: str, port: int, ca_file: str) -> str:
    """Ask an exclusion endpoint once; return what came of it."""
    url = f"{scheme}://127.0.0.1:{port}"
    text = f"[networks.mine]\nnetwork_id = 5\nexclusion = {{ url = '{url}', key = 'k' }}\n"
    settings = settings_with(folder, f"[tls]\nca_file = '{ca_file}'\n{text}")
    async with open_clients(settings, attempts=1) as clients:
        client = clients.exclusion(networks_of(settings)[0])
        assert client is not None
        [answer] = await client.ask([a_hash(1)])
    return str(answer)


@pytest.mark.parametrize(("scheme", "listen"), [("https", over_https), ("wss", over_wss)])
async def test_authority_of_the_settings_is_believed_for_questions(
    tmp_path: Path, certificate: Certificate, scheme: str, listen: Listen
) -> None:
    take_seen_certificates()
    async with listen(certificate.for_server()) as upstream:
        await asked(tmp_path, scheme, upstream.port, str(certificate.path))

    assert upstream.requests != []
    assert_seen("127.0.0.1")


@pytest.mark.parametrize(("scheme", "listen"), [("https", over_https), ("wss", over_wss)])
async def test_authority_that_the_system_trusts_is_believed_for_questions(
    tmp_path: Path,
    certificate: Certificate,
    scheme: str,
    listen: Listen,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.path))

    async with listen(certificate.for_server()) as upstream:
        await asked(tmp_path, scheme, upstream.port, "")

    assert upstream.requests != []


@pytest.mark.parametrize(("scheme", "listen"), [("https", over_https), ("wss", over_wss)])
async def test_authority_that_nobody_named_is_told_with_the_setting(
    tmp_path: Path, certificate: Certificate, scheme: str, listen: Listen
) -> None:
    take_seen_certificates()
    async with listen(certificate.for_server()) as upstream:
        answer = await asked(tmp_path, scheme, upstream.port, "")

    assert "its TLS certificate is not trusted (tls.ca_file is for an authority" in answer
    assert take_seen_certificates() == {}
    assert upstream.requests == []


def mailing(folder: Path, port: int, security: str, ca_file: str) -> SmtpChannel:
    text = f"smtp_host = 'localhost'\nsmtp_port = {port}\nsecurity = '{security}'\n"
    mail = f"[mail]\nrecipients = ['a@example.org']\n{text}"
    channel = mail_channel(settings_with(folder, f"[tls]\nca_file = '{ca_file}'\n{mail}"))
    assert isinstance(channel, SmtpChannel)
    return channel


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_authority_of_the_settings_is_believed_for_mail(
    tmp_path: Path, certificate: Certificate, security: str
) -> None:
    inbox, tls = Inbox(), certificate.for_server()
    implicit, later = (tls, None) if security == "tls" else (None, tls)

    take_seen_certificates()
    with mail_server(inbox, implicit_tls=implicit, tls_context=later) as port:
        mailing(tmp_path, port, security, str(certificate.path)).send(MESSAGE, some_headers())
        assert_seen("localhost")
        with pytest.raises(DeliveryDeferred, match=r"tls\.ca_file is for an authority"):
            mailing(tmp_path, port, security, "").send(MESSAGE, some_headers())

    assert len(inbox.mails) == 1
