"""Asking over WebSocket, over real sockets: one connection, and no answer to another question."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import traceback
from datetime import timedelta
from itertools import repeat

import pytest
from websockets.asyncio.server import ServerConnection

from dashboard.domain.quantity import TxHash
from dashboard.domain.secret import Secret
from dashboard.errors import (
    UpstreamError,
    UpstreamFailed,
    UpstreamRefused,
    UpstreamThrottled,
    UpstreamUnavailable,
    UpstreamUnreadable,
)
from dashboard.upstream.endpoint import Endpoint
from dashboard.upstream.exclusion import ExclusionClient
from dashboard.upstream.websocket import WebSocketAsker
from tests.integration.faulty_upstreams import (
    AT_ONCE,
    CANARY,
    IMPATIENCE,
    ONCE,
    Behaviour,
    Talk,
    an_endpoint,
    an_upstream,
    asking_websocket,
    dripping,
    hanging_up,
    replying,
    resetting,
    silent,
)
from tests.integration.upstream_faults import patience_with

LIMIT = 64 * 1024


def question(number: int) -> bytes:
    """Return a message with an id, as every question has one."""
    return b'{"id":%d}' % number


async def echo(connection: ServerConnection) -> None:
    """Answer each message with itself."""
    async for message in connection:
        await connection.send(message)


async def nulls(connection: ServerConnection) -> None:
    """Answer each batch with null for every call."""
    async for message in connection:
        calls = json.loads(message)
        replies = [{"jsonrpc": "2.0", "id": call["id"], "result": None} for call in calls]
        await connection.send(json.dumps(replies))


async def mute(connection: ServerConnection) -> None:
    """Read and never answer."""
    async for _ in connection:
        pass


async def closing(connection: ServerConnection) -> None:
    """Close at the first question."""
    await connection.recv()
    await connection.close(1011)


async def enormous(connection: ServerConnection) -> None:
    """Answer with 100 MB."""
    await connection.recv()
    await connection.send(b" " * 100_000_000)


async def fragmented(connection: ServerConnection) -> None:
    """Answer with one message whose fragments never end."""
    await connection.recv()
    await connection.send(repeat(b" " * 65536))


async def test_many_questions_share_one_connection() -> None:
    async with asking_websocket(echo) as (asker, upstream):
        answers = [await asker.post_json(question(number), LIMIT) for number in range(20)]

    assert answers == [question(number) for number in range(20)]
    assert upstream.requests == [f"/v3/{CANARY}".encode()]


async def test_questions_at_once_each_get_their_own_answer() -> None:
    async with asking_websocket(echo) as (asker, _):
        questions = [question(number) for number in range(50)]
        answers = await asyncio.gather(*(asker.post_json(each, LIMIT) for each in questions))

    assert answers == questions


async def test_answers_in_another_order_find_their_questions() -> None:
    async def backwards(connection: ServerConnection) -> None:
        messages = [await connection.recv() for _ in range(20)]
        for message in reversed(messages):
            await connection.send(message)

    async with asking_websocket(backwards) as (asker, _):
        questions = [question(number) for number in range(20)]
        answers = await asyncio.gather(*(asker.post_json(each, LIMIT) for each in questions))

    assert answers == questions


async def test_questions_under_way_are_asked_again_after_the_connection_is_lost() -> None:
    connections = 0

    async def lost_once(connection: ServerConnection) -> None:
        nonlocal connections
        connections += 1
        if connections == 1:
            await connection.recv()
            connection.transport.abort()
        else:
            await echo(connection)

    async with asking_websocket(lost_once, AT_ONCE) as (asker, _):
        questions = [question(number) for number in range(20)]
        answers = await asyncio.gather(*(asker.post_json(each, LIMIT) for each in questions))

    assert answers == questions
    assert connections == 2


async def test_fault_that_names_no_question_is_for_the_oldest() -> None:
    refusal = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}'

    async def refusing(connection: ServerConnection) -> None:
        async for _ in connection:
            await connection.send(refusal)

    async with asking_websocket(refusing) as (asker, _):
        assert await asker.post_json(question(1), LIMIT) == refusal


async def test_exclusion_question_goes_over_a_websocket_in_batches() -> None:
    hashes = [TxHash(number.to_bytes(32)) for number in range(2500)]
    async with asking_websocket(nulls) as (asker, upstream):
        answers = await ExclusionClient(asker, "linea").ask(hashes)

    assert [each.tx_hash for each in answers] == hashes
    assert not any(each.failure for each in answers)
    assert len(upstream.requests) == 1


TALKS: dict[str, tuple[Talk, type[UpstreamError], str]] = {
    "closing": (closing, UpstreamUnavailable, "no answer: the connection was lost"),
    "fragments without end": (fragmented, UpstreamUnreadable, "larger than"),
    "enormous": (enormous, UpstreamUnreadable, "larger than"),
}


@pytest.mark.parametrize("case", TALKS)
async def test_misbehaviour_after_the_opening_is_an_error_that_says_which(case: str) -> None:
    talk, error, said = TALKS[case]
    async with asking_websocket(talk) as (asker, _):
        with pytest.raises(error, match=f"^devnet ws endpoint: .*{said}"):
            await asker.post_json(b"[]", LIMIT)


async def test_upstream_that_never_answers_is_given_up() -> None:
    async with asking_websocket(mute, patience=IMPATIENCE) as (asker, _):
        with pytest.raises(UpstreamUnavailable, match=r"no answer within 0\.15 s"):
            await asker.post_json(b"[]", LIMIT)


async def test_message_above_the_limit_of_its_question_is_refused() -> None:
    async with asking_websocket(echo) as (asker, upstream):
        with pytest.raises(UpstreamUnreadable, match="larger than 8 bytes"):
            await asker.post_json(b'{"id":1,"a":2}', 8)
        answer = await asker.post_json(question(2), 8)

    assert answer == question(2)
    assert len(upstream.requests) == 1


async def test_connection_that_was_closed_is_opened_again() -> None:
    async def once(connection: ServerConnection) -> None:
        await connection.send(await connection.recv())

    async with asking_websocket(once, AT_ONCE) as (asker, upstream):
        answers = [await asker.post_json(question(number), LIMIT) for number in range(3)]

    assert answers == [question(number) for number in range(3)]
    assert len(upstream.requests) == 3


async def test_late_answer_is_not_taken_for_the_next_one() -> None:
    is_late = asyncio.Event()

    async def late(connection: ServerConnection) -> None:
        async for message in connection:
            if message == question(0).decode():
                await is_late.wait()
            await connection.send(message)

    async with asking_websocket(late, ONCE, timedelta(seconds=3)) as (asker, _):
        with pytest.raises(UpstreamUnavailable):
            await asker.post_json(question(0), LIMIT)
        is_late.set()
        assert await asker.post_json(question(1), LIMIT) == question(1)


async def test_messages_that_nobody_asked_for_are_not_taken_for_answers() -> None:
    is_greeted = asyncio.Event()

    async def chatty(connection: ServerConnection) -> None:
        await connection.send(await connection.recv())
        for _ in range(3):
            await connection.send('["by the way"]')
        is_greeted.set()
        await echo(connection)

    async with asking_websocket(chatty) as (asker, _):
        first = await asker.post_json(question(0), LIMIT)
        await is_greeted.wait()
        second = await asker.post_json(question(1), LIMIT)

    assert [first, second] == [question(0), question(1)]


async def test_cancelled_question_leaves_no_answer_behind() -> None:
    has_arrived = asyncio.Event()
    may_answer = asyncio.Event()

    async def slow(connection: ServerConnection) -> None:
        async for message in connection:
            has_arrived.set()
            await may_answer.wait()
            await connection.send(message)

    async with asking_websocket(slow) as (asker, _):
        cancelled = asyncio.create_task(asker.post_json(question(0), LIMIT))
        await has_arrived.wait()
        cancelled.cancel()
        await asyncio.wait([cancelled])
        may_answer.set()
        answer = await asker.post_json(question(1), LIMIT)

    assert cancelled.cancelled()
    assert answer == question(1)


OPENINGS: dict[str, tuple[Behaviour, type[UpstreamError], str]] = {
    "401": (replying("401 Unauthorized", CANARY.encode()), UpstreamRefused, "check the API key"),
    "404": (replying("404 Not Found"), UpstreamRefused, "check the address"),
    "429": (
        replying("429 Too Many Requests", b"", {"Retry-After": "7"}),
        UpstreamThrottled,
        "asked too often",
    ),
    "503": (replying("503 Busy"), UpstreamUnavailable, "HTTP 503"),
    "html": (
        replying("200 OK", b"<html>", {"Content-Type": "text/html"}),
        UpstreamUnreadable,
        "HTTP 200",
    ),
    "redirect": (
        replying("302 Found", b"", {"Location": f"ws://127.0.0.1:9/{CANARY}"}),
        UpstreamRefused,
        "redirect",
    ),
    "silent": (silent, UpstreamUnavailable, "no answer within 0.15 s"),
    "slow drip": (dripping, UpstreamError, "."),
    "reset": (resetting, UpstreamUnavailable, "no answer"),
    "cut off": (hanging_up, UpstreamError, "."),
    "no HTTP": (replying("what"), UpstreamUnavailable, "no answer"),
}


@pytest.mark.parametrize("case", OPENINGS)
async def test_refused_opening_is_an_error_that_says_which(
    case: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    behave, error, said = OPENINGS[case]
    patience = patience_with(case)
    caplog.set_level(logging.DEBUG)
    async with an_upstream(behave) as upstream:
        asker = WebSocketAsker(an_endpoint(upstream.port, patience, "ws"), AT_ONCE)
        with pytest.raises(error, match=f"^devnet ws endpoint: .*{said}") as raised:
            await asker.post_json(b"[]", LIMIT)

    assert raised.type is not UpstreamFailed  # at no question: none was sent yet
    told = "".join(traceback.format_exception(raised.value))
    everything = "\n".join([told, repr(asker), caplog.text, *capsys.readouterr()])
    assert "c4nary" not in everything
    assert str(upstream.port) not in everything


async def test_throttled_opening_says_how_long_to_wait() -> None:
    async with an_upstream(OPENINGS["429"][0]) as upstream:
        asker = WebSocketAsker(an_endpoint(upstream.port, scheme="ws"), AT_ONCE)
        with pytest.raises(UpstreamThrottled) as raised:
            await asker.post_json(b"[]", LIMIT)

    assert raised.value.retry_after == timedelta(seconds=7)


async def test_redirected_opening_is_not_followed() -> None:
    async with an_upstream(replying("200 OK")) as elsewhere:
        target = {"Location": f"ws://127.0.0.1:{elsewhere.port}/"}
        async with an_upstream(replying("307 Temporary Redirect", b"", target)) as upstream:
            asker = WebSocketAsker(an_endpoint(upstream.port, scheme="ws"), AT_ONCE)
            with pytest.raises(UpstreamRefused, match="redirect"):
                await asker.post_json(b"[]", LIMIT)

    assert elsewhere.requests == []


async def test_port_that_nobody_listens_on_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    with pytest.raises(UpstreamUnavailable, match="no answer: cannot connect"):
        await WebSocketAsker(an_endpoint(port, scheme="ws"), AT_ONCE).post_json(b"[]", LIMIT)


@pytest.mark.parametrize("url", ["nonsense", "http://host/c4nary", "ws://", "", "ws://[::1"])
async def test_address_that_cannot_be_used_is_refused(url: str) -> None:
    asker = WebSocketAsker(Endpoint("devnet node", Secret(url)), AT_ONCE)

    with pytest.raises(UpstreamRefused, match="address cannot be used") as raised:
        await asker.post_json(b"[]", LIMIT)

    assert "c4nary" not in "".join(traceback.format_exception(raised.value))


async def test_closing_an_asker_that_never_asked_does_nothing() -> None:
    asker = WebSocketAsker(an_endpoint(9), ONCE)

    await asker.aclose()

    assert "c4nary" not in repr(asker)
