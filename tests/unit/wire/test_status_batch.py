"""Batches of status questions as a client writes them, and the plain replies that it reads fast."""

from __future__ import annotations

import json

import pytest

from dashboard.domain.rejections.exclusion import RejectedTransaction, StatusClaim
from dashboard.wire.exclusion import (
    LARGEST_BATCH,
    decode_record,
    decode_status_batch,
    encode_status_batch,
)
from tests.builders import a_hash

FIRST = 7 * LARGEST_BATCH
ANSWERS = [{"jsonrpc": "2.0", "id": FIRST + place, "result": None} for place in range(3)]
RECORD = {"txHash": str(a_hash(2)), "nonce": "0x5", "status": "EXCLUDED"}


@pytest.mark.parametrize("count", [1, 2, LARGEST_BATCH])
def test_each_call_of_a_batch_asks_about_one_hash_under_the_next_id(count: int) -> None:
    hashes = [a_hash(number) for number in range(count)]

    assert json.loads(encode_status_batch("eth_x", hashes, FIRST)) == [
        {"jsonrpc": "2.0", "id": FIRST + place, "method": "eth_x", "params": [str(each)]}
        for place, each in enumerate(hashes)
    ]


def read(*replies: object) -> dict[int, RejectedTransaction | StatusClaim] | None:
    return decode_status_batch(json.dumps(replies).encode(), FIRST, 3)


def test_results_are_found_by_the_place_of_their_call_in_any_order() -> None:
    first, second, third = ANSWERS
    found = read(third, first, second | {"result": RECORD})

    assert read(*ANSWERS) == {}
    assert found == {1: decode_record(json.dumps(RECORD).encode())}


@pytest.mark.parametrize(
    "replies",
    [
        ANSWERS[:2],
        [*ANSWERS, ANSWERS[0]],
        [*ANSWERS[:2], ANSWERS[1]],
        [*ANSWERS[:2], ANSWERS[2] | {"id": FIRST + 3}],
        [*ANSWERS[:2], ANSWERS[2] | {"id": None}],
        [*ANSWERS[:2], ANSWERS[2] | {"id": str(FIRST + 2)}],
        [*ANSWERS[:2], {"jsonrpc": "2.0", "id": FIRST + 2}],
        [*ANSWERS[:2], {"jsonrpc": "2.0", "id": FIRST + 2, "error": {"code": 1}}],
        [*ANSWERS[:2], ANSWERS[2] | {"result": "0x"}],
        [*ANSWERS[:2], ANSWERS[2] | {"result": RECORD | {"nonce": "5"}}],
        [*ANSWERS[:2], ANSWERS[2] | {"error": {"code": 1, "message": "x"}}],
        [None],
    ],
)
def test_anything_else_is_left_to_who_tells_what_is_wrong(replies: list[object]) -> None:
    assert read(*replies) is None
