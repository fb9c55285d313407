"""Status requests of the usual shape are read at once, as the general codec reads them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.domain.quantity import TxHash
from dashboard.wire.jsonrpc import Request, batch_reply, parse_message, result_reply
from dashboard.wire.status_request import (
    StatusRequest,
    decode_hash_param,
    decode_status_request,
    decode_status_requests,
)
from tests.rpc_messages import METHOD, rpc_messages

BRACKET = '"["'
HASH = f"0x{'0ab1' * 16}"


def a_call(request_id: str = "1", text: str = HASH) -> str:
    return f'{{"jsonrpc":"2.0","id":{request_id},"method":"{METHOD}","params":["{text}"]}}'


def read(body: str) -> StatusRequest | None:
    return decode_status_request(body.encode())


def answered_one_by_one(lookup: StatusRequest, results: Mapping[int, bytes]) -> bytes:
    replies = [
        result_reply(request_id, results.get(place, b"null"))
        for place, request_id in enumerate(lookup.ids)
    ]
    return batch_reply(replies) if lookup.is_batch else replies[0]


@settings(max_examples=50)
@given(rpc_messages([bytes(range(32))]))
def test_lookup_is_what_the_general_way_reads(body: bytes) -> None:
    lookup = decode_status_request(body)
    if lookup is None:
        return

    message = parse_message(body)

    requests = [item for item in message.items if isinstance(item, Request)]
    hashes = [decode_hash_param(request.params) for request in requests]
    places = range(len(message.items))
    assert message.is_batch == lookup.is_batch
    assert {request.method for request in requests} == {lookup.method}
    assert [request.id for request in requests] == list(lookup.ids)
    assert hashes == [lookup.tx_hash(place) for place in places]
    assert [int.from_bytes(each[:4], "little") for each in hashes] == list(lookup.heads)


@settings(max_examples=30)
@given(st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=9), st.data())
def test_answer_is_the_one_of_the_general_way(hashes: list[bytes], data: st.DataObject) -> None:
    calls = [a_call(str(number), f"0x{each.hex()}") for number, each in enumerate(hashes)]
    places = st.sampled_from(range(len(hashes)))
    results = data.draw(st.dictionaries(places, st.sampled_from([b"{}", b'{"a":1}'])))

    for body in (f"[{','.join(calls)}]", calls[0]):
        lookup = read(body)

        assert lookup is not None
        known = {place: text for place, text in results.items() if place < len(lookup.ids)}
        assert lookup.reply(known) == answered_one_by_one(lookup, known)


@pytest.mark.parametrize(
    "body",
    [
        a_call(),
        a_call('"text"'),
        a_call("null"),
        a_call("1e400"),
        a_call(text=HASH.upper().replace("0X", "0x")),
        f"[{a_call()}]",
        f"[ {a_call('1')} ,\n{a_call(BRACKET)} ]",
        f'{{"extra":[{{}}],"params":["{HASH}"],"method":"{METHOD}","id":7,"jsonrpc":"2.0"}}',
    ],
)
def test_usual_message_is_read(body: str) -> None:
    lookup = read(body)

    assert lookup is not None
    assert lookup.method == METHOD
    assert {lookup.tx_hash(place) for place in range(len(lookup.ids))} == {TxHash.parse(HASH)}


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "7",
        "[]",
        "[" * 100_000,
        a_call("[]"),
        a_call("{}"),
        a_call("true"),
        a_call("false"),
        a_call('"é"'),
        a_call(text=HASH[2:]),
        a_call(text=HASH[:-1]),
        a_call(text=f"00{HASH[2:]}"),
        a_call(text=f"{HASH[:-1]}g"),
        a_call(text=f"{HASH[:-1]}\\u00e9"),
        a_call().replace('"id":1,', ""),
        a_call().replace("2.0", "1.0"),
        f"[{a_call()},{a_call('[]')}]",
        f"[{a_call()},{a_call('{}')}]",
        f"[{a_call()},{a_call('true')}]",
        f"[{a_call()},{a_call('false')}]",
        f"[{a_call()},{a_call().replace('linea', 'chain')}]",
        f"[{a_call()},{a_call(text=f'00{HASH[2:]}')}]",
        f"[{a_call()},{a_call(text=f'0y{HASH[2:]}')}]",
        f"[{a_call()},{a_call(text=f'1x{HASH[2:]}')}]",
        f"[{a_call()},{a_call(text=f'{HASH[:-1]}x')}]",
        f"[{a_call()},{a_call(text=f'{HASH[:-2]}0x')}]",
        f"[{a_call()},{a_call(text=f'{HASH[:-1]} ')}]",
        f"[{a_call()},7]",
    ],
)
def test_unusual_message_is_left_to_the_general_way(body: str) -> None:
    assert read(body) is None


@settings(max_examples=25)
@given(st.lists(rpc_messages([bytes(range(32))]), min_size=1, max_size=4))
def test_messages_read_together_are_those_read_one_by_one(bodies: list[bytes]) -> None:
    together = decode_status_requests(bodies)
    if together is None:
        return

    alone = [decode_status_request(body) for body in bodies]

    assert alone == [
        StatusRequest(together.method, (request_id,), (text,), (head,), is_batch=False)
        for request_id, text, head in zip(
            together.ids, together.hashes, together.heads, strict=True
        )
    ]


@pytest.mark.parametrize("results", [{}, {1: b'{"a":1}'}, {0: b"{}", 2: b"[]"}])
def test_messages_read_together_are_answered_as_one_by_one(results: dict[int, bytes]) -> None:
    bodies = [a_call(request_id).encode() for request_id in ("1", '"b"', "null")]

    together = decode_status_requests(bodies)

    assert together is not None
    assert together.replies(results) == [
        result_reply(request_id, results.get(place, b"null"))
        for place, request_id in enumerate(together.ids)
    ]


@pytest.mark.parametrize(
    "bodies",
    [
        pytest.param([f"{a_call()},{a_call()}", a_call()[:40], a_call()[40:]], id="cut elsewhere"),
        pytest.param([f"{a_call()},{a_call()}", '{"x":[1', f"2],{a_call()[1:]}"], id="cut a list"),
        pytest.param(
            [f'{a_call()},{a_call()[:-1]},"x":[{{}}', "{}]}"], id="cut between objects of a list"
        ),
        pytest.param([f"{a_call()},{a_call()}"], id="two in one"),
        pytest.param([f"{a_call()}\n,{a_call()}", ""], id="the very mark between"),
        pytest.param(['{"id":"}', f'{{",{a_call()[1:]}'], id="cut within a text"),
        pytest.param([a_call(), ""], id="nothing"),
        pytest.param([f"[{a_call()}]", a_call()], id="a batch"),
        pytest.param([a_call(), a_call().replace(METHOD, "other")], id="two methods"),
    ],
)
def test_messages_that_are_not_each_a_lookup_are_not_read_together(bodies: list[str]) -> None:
    assert decode_status_requests([body.encode() for body in bodies]) is None
