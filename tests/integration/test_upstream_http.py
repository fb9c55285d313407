"""Asking over HTTP, over real sockets: every misbehaviour is an UpstreamError of its kind."""

from __future__ import annotations

import asyncio
import socket
import ssl
from base64 import b64encode
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from dashboard.domain.secret import Secret
from dashboard.errors import (
    UpstreamRefused,
    UpstreamThrottled,
    UpstreamUnavailable,
)
from dashboard.upstream.endpoint import Endpoint
from dashboard.upstream.exclusion import ExclusionClient
from dashboard.upstream.http import HttpAsker, RetryPolicy, open_client
from tests.builders import a_hash
from tests.integration.faulty_upstreams import (
    AT_ONCE,
    CANARY,
    IMPATIENCE,
    TRUST,
    Upstream,
    an_endpoint,
    an_upstream,
    asking_http,
    in_turn,
    replying,
    resetting,
    silent,
)
from tests.integration.upstream_faults import LIMIT, MISBEHAVIOURS, patience_with

UNTRUSTED = Path(__file__).parent / "untrusted.pem"


async def test_answer_of_a_sound_upstream_arrives_as_it_is() -> None:
    async with asking_http(replying("200 OK", b'{"a":1}')) as (asker, upstream):
        answer = await asker.post_json(b'{"q":2}', LIMIT)

    assert answer == b'{"a":1}'
    assert upstream.requests[0].startswith(f"POST /v3/{CANARY} HTTP/1.1".encode())
    assert upstream.requests[0].endswith(b'{"q":2}')
    assert b"content-type: application/json" in upstream.requests[0].lower()


async def test_user_and_password_of_an_address_are_sent_as_basic_authentication() -> None:
    async with an_upstream(replying("200 OK", b"[]")) as upstream, open_client(TRUST) as client:
        address = Secret(f"http://me:p%40ss@127.0.0.1:{upstream.port}/")
        await HttpAsker(client, Endpoint("devnet endpoint", address), AT_ONCE).post_json(b"", LIMIT)

    assert (
        f"basic {b64encode(b'me:p@ss').decode()}".lower() in upstream.requests[0].lower().decode()
    )


async def test_one_connection_serves_many_questions() -> None:
    async with asking_http(replying("200 OK", b"[]")) as (asker, _upstream):
        answers = [await asker.post_json(b"[]", LIMIT) for _ in range(20)]

    assert answers == [b"[]"] * 20


async def test_questions_that_are_cancelled_at_any_moment_keep_no_later_one_waiting() -> None:
    async with asking_http(replying("200 OK", b"[]"), patience=timedelta(seconds=5)) as (asker, _):
        for steps in range(20):
            questions = [asyncio.ensure_future(asker.post_json(b"[]", LIMIT)) for _ in range(20)]
            for _ in range(steps):
                await asyncio.sleep(0)
            for question in questions:
                question.cancel()
            await asyncio.wait(questions)

        assert await asker.post_json(b"[]", LIMIT) == b"[]"


async def test_time_out_of_one_server_leaves_the_connections_to_others() -> None:
    ports: set[int] = set()

    async def noting(upstream: Upstream, writer: asyncio.StreamWriter) -> None:
        ports.add(writer.get_extra_info("peername")[1])
        await replying("200 OK", b"[]")(upstream, writer)

    async with (
        an_upstream(noting) as well,
        an_upstream(silent) as ill,
        open_client(TRUST) as client,
    ):
        answered = HttpAsker(client, an_endpoint(well.port, timedelta(seconds=20)), AT_ONCE)
        unanswered = HttpAsker(client, an_endpoint(ill.port, timedelta(milliseconds=50)), AT_ONCE)
        for _ in range(3):
            assert await answered.post_json(b"[]", LIMIT) == b"[]"
            with pytest.raises(UpstreamUnavailable, match="no answer"):
                await unanswered.post_json(b"[]", LIMIT)

    assert len(ports) == 1


@pytest.mark.parametrize("case", MISBEHAVIOURS)
async def test_misbehaviour_is_an_error_that_says_which(case: str) -> None:
    behave, error, said = MISBEHAVIOURS[case]
    async with asking_http(behave, patience=patience_with(case)) as (asker, _upstream):
        with pytest.raises(error, match=f"^devnet http endpoint: .*{said}"):
            await asker.post_json(b"[]", LIMIT)


async def test_port_that_nobody_listens_on_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    async with open_client(TRUST) as client:
        asker = HttpAsker(client, an_endpoint(port), AT_ONCE)
        with pytest.raises(UpstreamUnavailable, match="no answer: cannot connect"):
            await asker.post_json(b"[]", LIMIT)


async def test_host_that_drops_connections_is_unavailable() -> None:
    with ExitStack() as opened:
        full = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):
            queued = opened.enter_context(socket.socket())
            queued.settimeout(0)
            queued.connect_ex(full.getsockname())
        async with open_client(TRUST) as client:
            asker = HttpAsker(client, an_endpoint(full.getsockname()[1], IMPATIENCE), AT_ONCE)
            with pytest.raises(UpstreamUnavailable, match="no answer: cannot connect"):
                await asker.post_json(b"[]", LIMIT)


async def test_redirect_is_not_followed() -> None:
    async with an_upstream(replying("200 OK", b"[]")) as elsewhere:
        target = {"Location": f"http://127.0.0.1:{elsewhere.port}/"}
        async with asking_http(replying("307 Temporary Redirect", b"", target)) as (
            asker,
            _upstream,
        ):
            with pytest.raises(UpstreamRefused):
                await asker.post_json(b"[]", LIMIT)

    assert elsewhere.requests == []


async def test_certificate_that_is_not_trusted_is_refused() -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(UNTRUSTED)
    async with asking_http(replying("200 OK", b"[]"), AT_ONCE, scheme="https", tls=tls) as (
        asker,
        upstream,
    ):
        with pytest.raises(UpstreamRefused, match="TLS certificate is not trusted"):
            await asker.post_json(b"[]", LIMIT)

    assert upstream.requests == []


async def test_upstream_that_speaks_no_tls_is_unavailable() -> None:
    async with asking_http(replying("200 OK", b"[]"), scheme="https", patience=IMPATIENCE) as (
        asker,
        _upstream,
    ):
        with pytest.raises(UpstreamUnavailable):
            await asker.post_json(b"[]", LIMIT)


@pytest.mark.parametrize("url", ["nonsense", "ftp://host/", "http://[::1", "http://\x00/", ""])
async def test_address_that_cannot_be_used_is_refused(url: str) -> None:
    async with open_client(TRUST) as client:
        asker = HttpAsker(client, Endpoint("devnet node", Secret(url)), AT_ONCE)
        with pytest.raises(UpstreamRefused, match="address cannot be used") as raised:
            await asker.post_json(b"[]", LIMIT)

    assert not url or url not in str(raised.value)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Retry-After": "30"}, timedelta(seconds=30)),
        ({"Retry-After": "0"}, timedelta(0)),
        ({"Retry-After": "9" * 400}, timedelta(minutes=5)),
        (
            {
                "Date": "Fri, 20 Nov 2026 12:00:00 GMT",
                "Retry-After": "Fri, 20 Nov 2026 12:01:00 GMT",
            },
            timedelta(minutes=1),
        ),
        (
            {
                "Date": "Fri, 20 Nov 2026 12:00:00 GMT",
                "Retry-After": "Fri, 20 Nov 2026 11:00:00 GMT",
            },
            timedelta(0),
        ),
        ({"Retry-After": "Fri, 20 Nov 2026 12:01:00 GMT"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-5"}, None),
        ({}, None),
    ],
)
async def test_throttled_says_how_long_to_wait(
    headers: dict[str, str], expected: timedelta | None
) -> None:
    async with asking_http(replying("429 Too Many Requests", b"{}", headers), AT_ONCE) as (
        asker,
        upstream,
    ):
        with pytest.raises(UpstreamThrottled) as raised:
            await asker.post_json(b"[]", LIMIT)

    assert raised.value.retry_after == expected
    assert len(upstream.requests) == 1


async def test_upstream_that_recovers_is_asked_again() -> None:
    behave = in_turn(resetting, replying("503 Busy"), replying("200 OK", b"[1]"))
    async with asking_http(behave, AT_ONCE) as (asker, upstream):
        assert await asker.post_json(b"[]", LIMIT) == b"[1]"

    assert len(upstream.requests) == 3


async def test_upstream_that_stays_down_is_asked_a_few_times() -> None:
    async with asking_http(replying("503 Busy"), AT_ONCE) as (asker, upstream):
        with pytest.raises(UpstreamUnavailable, match="HTTP 503"):
            await asker.post_json(b"[]", LIMIT)

    assert len(upstream.requests) == 3


async def test_deadline_ends_all_attempts_together() -> None:
    policy = RetryPolicy(attempts=1000, deadline=IMPATIENCE, first_wait=timedelta(milliseconds=20))
    async with asking_http(replying("503 Busy"), policy) as (asker, upstream):
        with pytest.raises(UpstreamUnavailable, match=r"within 0\.15 s in all"):
            await asker.post_json(b"[]", LIMIT)

    assert 1 <= len(upstream.requests) < 20


async def test_exclusion_client_hands_on_how_long_it_is_to_wait() -> None:
    behave = replying("429 Too Many Requests", b"{}", {"Retry-After": "300"})
    async with asking_http(behave) as (asker, upstream):
        answers = await ExclusionClient(asker, "linea").ask([a_hash(1), a_hash(2)])

    failures = [each.failure for each in answers if each.failure is not None]
    assert [each.retry_after for each in failures] == [timedelta(minutes=5)] * 2
    assert "asked too often (HTTP 429), and asked for a pause of 5 min" in failures[0].message
    assert len(upstream.requests) == 1


async def test_what_hangs_is_not_asked_again_while_others_wait_but_what_fails_at_once_is() -> None:
    policy = replace(AT_ONCE, patience=IMPATIENCE / 2)
    asked = []
    for behaviour in (silent, resetting):
        async with asking_http(behaviour, policy, patience=IMPATIENCE) as (asker, upstream):
            with pytest.raises(UpstreamUnavailable):
                await asker.post_json(b"{}", LIMIT)
        asked.append(len(upstream.requests))

    assert asked == [1, 3]
