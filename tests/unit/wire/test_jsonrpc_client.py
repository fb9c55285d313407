"""JSON-RPC for clients: what is sent, and what is accepted as a reply."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from dashboard.errors import WireError
from dashboard.wire.jsonrpc import (
    NULL_ID,
    Request,
    RpcError,
    RpcReply,
    decode_replies,
    decode_reply,
    encode_batch,
    encode_call,
    error_reply,
    parse_message,
    result_reply,
)
from tests.recorded import recording


def test_call_is_a_request_for_the_one_who_answers() -> None:
    message = parse_message(encode_call("eth_chainId", ["0x1"], 7))

    assert message.items == [Request("eth_chainId", ["0x1"], Raw(b"7"))]


def test_batch_counts_its_ids_up() -> None:
    body = encode_batch("m", [[1], [2]], first_id=10)

    assert parse_message(body).items == [
        Request("m", [1], Raw(b"10")),
        Request("m", [2], Raw(b"11")),
    ]


def test_reply_holds_the_result_as_sent() -> None:
    reply = decode_reply(b'{"jsonrpc":"2.0","id":51,"result": {"n": 1.0}}')

    assert reply == RpcReply(51, Raw(b'{"n": 1.0}'), None)


def test_reply_of_null_is_a_result() -> None:
    assert decode_reply(recording("exclusion_get_response_null")) == RpcReply(51, NULL_ID, None)


def test_reply_with_an_error_is_a_fault() -> None:
    fault = RpcError(-32000, "Server error", {"see": [1]})

    assert decode_reply(error_reply(Raw(b"3"), fault)) == RpcReply(3, None, fault)


def test_reply_without_id_or_version_still_tells_its_error() -> None:
    reply = decode_reply(b'{"error":{"code":-32005,"message":"project ID request rate exceeded"}}')

    assert reply == RpcReply(None, None, RpcError(-32005, "project ID request rate exceeded"))


def test_reply_with_result_and_error_is_an_error() -> None:
    reply = decode_reply(b'{"id":1,"result":null,"error":{"code":1}}')

    assert reply == RpcReply(1, None, RpcError(1, "", UNSET))


def test_reply_with_an_error_of_null_is_a_result() -> None:
    assert decode_reply(b'{"id":1,"result":5,"error":null}') == RpcReply(1, Raw(b"5"), None)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (b"1", 1),
        (b'"a"', "a"),
        (b"12345678901234567890123", 12345678901234567890123),
        (b"null", None),
        (b"1.0", None),
        (b"1e400000", None),
        (b"true", None),
        (b"{}", None),
    ],
)
def test_reply_id_is_an_integer_a_text_or_unknown(text: bytes, meaning: object) -> None:
    assert decode_reply(b'{"id":%b,"result":1}' % text).id == meaning


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"null",
        b"[]",
        b"{}",
        b'{"id":1}',
        b'{"id":1,"error":"text"}',
        b'{"id":1,"error":{}}',
        b'{"id":1,"error":{"code":"x"}}',
        b'{"id":1,"error":{"code":1.5}}',
        b'{"id":1,"error":{"code":1,"data":1e400000}}',
        b'{"id":1,"error":{"code":1,"message":"\xff"}}',
        rb'{"id":1,"error":{"code":1,"message":"\ud800"}}',
        b'{"id":1,"result":' + b"[" * 100_000,
    ],
)
def test_reply_that_cannot_be_read_is_a_wire_error(body: bytes) -> None:
    with pytest.raises(WireError, match="JSON-RPC reply"):
        decode_reply(body)


def test_replies_to_a_batch_are_read_in_their_order() -> None:
    replies = decode_replies(recording("exclusion_batch_response"))

    assert [reply.id for reply in replies] == [1, 2, 3]
    assert [reply.error is None for reply in replies] == [True, False, True]


@pytest.mark.parametrize("body", [b' {"id":4,"result":1}', b'[{"id":4,"result":1}]'])
def test_replies_may_be_a_single_object(body: bytes) -> None:
    assert decode_replies(body) == [RpcReply(4, Raw(b"1"), None)]


def test_replies_that_are_unreadable_do_not_lose_the_others() -> None:
    replies = decode_replies(b'[7,{"id":1,"result":1},{"id":2},null]')

    assert [reply.id for reply in replies] == [1]


@pytest.mark.parametrize("body", [b"[", b"[1,]", b"", b"null"])
def test_replies_that_are_no_json_are_a_wire_error(body: bytes) -> None:
    with pytest.raises(WireError):
        decode_replies(body)


@given(st.binary())
def test_any_bytes_are_replies_or_a_wire_error(body: bytes) -> None:
    try:
        replies = decode_replies(body)
    except WireError:
        replies = []
    assert all(reply.result is None or reply.error is None for reply in replies)


@given(st.integers(0, 2**70), st.text(), st.lists(st.integers(0, 9)))
def test_round_trip_keeps_ids_and_results(call_id: int, method: str, result: list[int]) -> None:
    (request,) = parse_message(encode_call(method or "m", [], call_id)).items
    assert isinstance(request.id, Raw)

    reply = decode_reply(result_reply(request.id, result))

    assert (reply.id, json.loads(bytes(reply.result or b""))) == (call_id, result)
