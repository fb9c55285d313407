"""JSON-RPC for servers: what is a request, what is refused, and the form of replies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from dashboard.wire.jsonrpc import (
    NULL_ID,
    ErrorReply,
    Request,
    RpcError,
    RpcMessage,
    batch_reply,
    error_reply,
    parse_message,
    result_reply,
)
from tests.recorded import recorded, recording

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text() | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


def a_request(**changes: object) -> bytes:
    members = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []} | changes
    return json.dumps({name: value for name, value in members.items() if value is not ...}).encode()


def only_item(body: bytes) -> Request | ErrorReply:
    message = parse_message(body)
    assert not message.is_batch
    (item,) = message.items
    return item


def refusal(body: bytes) -> RpcError:
    """Return the fault of a body that is refused whole, under the id null."""
    item = only_item(body)
    assert isinstance(item, ErrorReply)
    assert item.id == NULL_ID
    return item.error


def test_request_is_read_with_its_members() -> None:
    item = only_item(recording("exclusion_get_request"))

    expected = recorded("exclusion_get_request")
    assert item == Request(expected["method"], expected["params"], Raw(b"51"))


@pytest.mark.parametrize(
    "text",
    [
        b"0",
        b"-0",
        b"1.0",
        b"1e3",
        b"1E+3",
        b"1e400000",
        b"12345678901234567890123",
        b"9" * 10_000,
        b"null",
        b'""',
        b'"p-1"',
        rb'"\u0041\n\"\\\/"',
        '"ключ🔑"'.encode(),
    ],
)
def test_id_is_echoed_to_the_letter(text: bytes) -> None:
    item = only_item(b'{"jsonrpc":"2.0", "id" : %b , "method":"m"}' % text)

    assert isinstance(item, Request)
    assert not isinstance(item.id, type(UNSET))
    assert result_reply(item.id, None) == b'{"jsonrpc":"2.0","id":%b,"result":null}' % text


@pytest.mark.parametrize("wrong", [True, False, [], {}, [1]])
def test_id_of_another_type_is_refused(wrong: object) -> None:
    fault = refusal(a_request(id=wrong))

    assert fault == RpcError.invalid_request("id must be a text, a number or null")


def test_request_without_id_is_a_notification() -> None:
    item = only_item(a_request(id=...))

    assert isinstance(item, Request)
    assert item.id is UNSET


def test_request_without_params_is_left_to_its_method() -> None:
    item = only_item(a_request(params=...))

    assert isinstance(item, Request)
    assert item.params is UNSET


@pytest.mark.parametrize("wrong", [None, 1, "0x", True])
def test_params_that_are_no_structure_are_refused(wrong: object) -> None:
    assert refusal(a_request(params=wrong)).code == -32600


@pytest.mark.parametrize("wrong", [..., "1.0", "", 2.0, None, ["2.0"]])
def test_version_other_than_two_is_refused(wrong: object) -> None:
    assert refusal(a_request(jsonrpc=wrong)) == RpcError.invalid_request('jsonrpc must be "2.0"')


def test_version_may_be_written_with_escapes() -> None:
    item = only_item(rb'{"jsonrpc":"2\u002e0","id":1,"method":"m"}')

    assert isinstance(item, Request)


@pytest.mark.parametrize("wrong", [..., "", None, 5, ["m"], {}])
def test_method_that_is_no_text_is_refused(wrong: object) -> None:
    assert refusal(a_request(method=wrong)).code == -32600


@pytest.mark.parametrize("body", [b"1", b"null", b'"text"', b"true", b" -1.5 ", b'{"a":1}', b"[]"])
def test_json_that_is_no_request_is_an_invalid_request(body: bytes) -> None:
    fault = refusal(body)

    assert (fault.code, fault.message) == (-32600, "Invalid Request")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  ",
        b"{",
        b"[",
        b"1 x",
        b"{]",
        b'{"id":01}',
        b'{"id":NaN}',
        b'{"id":Infinity}',
        b'{"id":1,}',
        b'{"id":+1}',
        b'{"id":1.}',
        b"<html></html>",
        b'\xef\xbb\xbf{"id":1}',
        b'{"id":"\xff"}',
        b'{"jsonrpc":"2.0","id":"\xc3(","method":"m"}',
        rb'{"id":"\ud800"}',
        rb'[{"id":"\udfff"}]',
        b'{"id":"\x00"}',
        b"[1,]",
        b"[" * 100_000 + b"]" * 100_000,
        b'{"params":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_text_that_is_no_json_is_a_parse_error(body: bytes) -> None:
    assert refusal(body) == RpcError(-32700, "Parse error")


@pytest.mark.parametrize("number", [b"1e400000", b"-1e400000", b"9" * 100_000])
def test_number_beyond_all_use_fails_its_request_only(number: bytes) -> None:
    body = b'[{"jsonrpc":"2.0","id":1,"method":"m","params":[%b]},%b]' % (number, a_request())

    message = parse_message(body)

    assert [type(item) for item in message.items] == [ErrorReply, Request]


def test_member_named_twice_counts_as_its_last() -> None:
    item = only_item(b'{"jsonrpc":"2.0","id":1,"method":"first","method":"last","id":2}')

    assert item == Request("last", UNSET, Raw(b"2"))


def test_batch_keeps_its_order() -> None:
    message = parse_message(recording("exclusion_batch_request"))

    assert message.is_batch
    ids = [bytes(item.id) for item in message.items if isinstance(item, Request) and item.id]
    assert ids == [b"1", b"2", b"3"]


def test_batch_of_one_is_still_a_batch() -> None:
    message = parse_message(b" \r\n[%b]" % a_request())

    assert message == RpcMessage([Request("eth_chainId", [], Raw(b"1"))], is_batch=True)


def test_batch_item_that_is_malformed_fails_alone_under_the_id_null() -> None:
    message = parse_message(b"[%b,7,%b,[]]" % (a_request(), a_request(method=5)))

    kinds = [type(item) for item in message.items]
    assert kinds == [Request, ErrorReply, ErrorReply, ErrorReply]
    errors = [item for item in message.items if isinstance(item, ErrorReply)]
    assert {(bytes(item.id), item.error.code) for item in errors} == {(b"null", -32600)}


def test_batch_at_its_limit_is_read() -> None:
    assert len(parse_message(b"[1,2]", batch_limit=2).items) == 2


def test_batch_over_its_limit_is_refused_whole_and_says_why() -> None:
    message = parse_message(b"[1,2,3]", batch_limit=2)

    fault = RpcError.invalid_request("a batch may hold 2 requests, this one holds 3")
    assert message == RpcMessage([ErrorReply(NULL_ID, fault)], is_batch=False)


def test_result_that_is_json_already_goes_out_as_it_is() -> None:
    assert result_reply(NULL_ID, b'{"a": 1}').endswith(b'"result":{"a": 1}}')
    assert result_reply(NULL_ID, Raw(b"1.0")).endswith(b'"result":1.0}')


def test_result_that_is_a_value_is_written_as_json() -> None:
    assert json.loads(result_reply(Raw(b'"x"'), {"é": [1]})) == {
        "jsonrpc": "2.0",
        "id": "x",
        "result": {"é": [1]},
    }


def test_replies_of_a_batch_are_joined_in_an_array() -> None:
    replies = [result_reply(Raw(b"1"), 5)]

    assert json.loads(batch_reply(replies)) == [{"jsonrpc": "2.0", "id": 1, "result": 5}]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (RpcError.parse_error(), {"code": -32700, "message": "Parse error"}),
        (RpcError.invalid_request(), {"code": -32600, "message": "Invalid Request"}),
        (
            RpcError.method_not_found("chain_doesNotExist"),
            {"code": -32601, "message": "Method not found", "data": "chain_doesNotExist"},
        ),
        (RpcError.invalid_params("why"), {"code": -32602, "message": "why"}),
        (
            RpcError.server_error("disk full"),
            {"code": -32000, "message": "Server error", "data": "disk full"},
        ),
        (
            RpcError.answer_too_large(),
            {
                "code": -32003,
                "message": "response too large",
                "data": "ask for the rest in another batch",
            },
        ),
        (
            RpcError.batch_too_slow(),
            {
                "code": -32003,
                "message": "batch takes too long",
                "data": "ask for the rest in another batch",
            },
        ),
        (
            RpcError.not_allowed(),
            {"code": -32002, "message": "rejected due to project ID settings"},
        ),
        (
            RpcError.rate_exceeded(3, 2.0),
            {
                "code": -32005,
                "message": "project ID request rate exceeded",
                "data": {"backoff_seconds": 3, "allowed_rps": 2},
            },
        ),
        (RpcError.internal_error(), {"code": -32603, "message": "Internal error"}),
    ],
)
def test_fault_is_written_with_the_code_and_text_of_the_contract(
    fault: RpcError, error: dict[str, object]
) -> None:
    reply = json.loads(error_reply(Raw(b"1"), fault))

    assert reply == {"jsonrpc": "2.0", "id": 1, "error": error}


def test_recorded_faults_are_ours_word_for_word() -> None:
    cases = {case["case"]: case["body"] for case in recorded("exclusion_errors")}

    ours = json.loads(error_reply(Raw(b"1"), RpcError.method_not_found("chain_doesNotExist")))
    assert ours == cases["unknown method"]
    assert cases["broken JSON or empty body"]["error"]["message"] == RpcError.parse_error().message


@given(st.lists(JSON_VALUES, max_size=3) | st.dictionaries(st.text(), JSON_VALUES, max_size=3))
def test_params_arrive_as_they_were_sent(params: Any) -> None:  # noqa: ANN401 - any JSON
    item = only_item(a_request(params=params))

    assert isinstance(item, Request)
    assert item.params == params
