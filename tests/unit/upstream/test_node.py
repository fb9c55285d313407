"""The node client: each answer belongs to its question, and every failure has its kind."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.line_limits import LimitsEnd
from dashboard.errors import (
    UpstreamError,
    UpstreamRefused,
    UpstreamThrottled,
    UpstreamUnavailable,
    UpstreamUnreadable,
)
from dashboard.upstream.node import BlockClient, NodeClient
from tests.builders import A_NETWORK
from tests.unit.upstream.chain_followers import a_chain
from tests.unit.upstream.scripted_asker import Call, ScriptedAsker, fault, result

HASH = TxHash(b"\x42" * 32)


def a_node(answer: Any) -> NodeClient:  # noqa: ANN401 - a function of the calls, or the result
    return NodeClient(
        ScriptedAsker(answer if callable(answer) else lambda calls: result(calls[0], answer))
    )


async def test_node_says_its_chain() -> None:
    assert await a_node("0x679a2").chain_id() == 0x679A2


async def test_questions_have_ids_that_never_repeat() -> None:
    asker = ScriptedAsker(a_chain(5).answer)
    node = NodeClient(asker)

    await node.chain_id()
    await node.blocks([0, 1, 2])
    await node.block(4)

    assert [call["id"] for calls in asker.asked for call in calls] == [1, 2, 3, 4, 5]


async def test_headers_come_in_the_order_of_the_question() -> None:
    chain = a_chain(5)
    node = a_node(lambda calls: chain.answer(calls)[::-1])

    headers = await node.blocks([3, 1, 2])

    assert [header.number for header in headers] == [3, 1, 2]


async def test_block_is_dated_by_itself_or_by_the_pace_of_the_chain() -> None:
    silent = a_node(lambda calls: [fault(-32000, calls[0])])
    chain = NodeClient(ScriptedAsker(a_chain(5).answer))
    with_pace = BlockClient([silent, chain], A_NETWORK, None)
    with_setting = BlockClient([chain], A_NETWORK, timedelta(seconds=30))
    [first, *_, head] = await chain.blocks(range(5))
    pace = (head.timestamp - first.timestamp) / 4

    assert await with_pace.end_with(3) == LimitsEnd(first.timestamp + 3 * pace, 3)
    assert await with_pace.end_with(6) == LimitsEnd(first.timestamp + 6 * pace, 6, is_expected=True)
    assert (await with_setting.end_with(6)).at == head.timestamp + timedelta(minutes=1)
    assert (await with_setting.end_with(2**62)).at == head.timestamp + timedelta(days=3650)


async def test_missing_header_is_unreadable() -> None:
    chain = a_chain(5)

    for answer in (chain.answer, lambda calls: chain.answer(calls)[1:]):
        with pytest.raises(UpstreamUnreadable, match="did not answer with block"):
            await a_node(answer).blocks([7, 3, 4])


@pytest.mark.parametrize("value", [None, 7, "12", {}, "c4nary-of-the-path"])
async def test_quantity_that_is_none_is_unreadable(value: object) -> None:
    with pytest.raises(UpstreamUnreadable) as raised:
        await a_node(value).chain_id()

    assert "c4nary" not in str(raised.value)


async def test_receipt_and_block_that_are_unknown_are_none() -> None:
    node = a_node(None)

    assert await node.receipt(HASH) is None
    assert await node.block(9) is None


async def test_answer_to_another_question_is_unreadable() -> None:
    with pytest.raises(UpstreamUnreadable, match="another question"):
        await a_node(lambda _: result({"id": 99}, "0x1")).chain_id()


@pytest.mark.parametrize(
    "answer", [b"<html>", b"", b"[]", b"null", b'{"id":1}', b'{"id":1,"result":nul']
)
async def test_answer_that_is_none_is_unreadable(answer: bytes) -> None:
    with pytest.raises(UpstreamUnreadable, match="cannot be read"):
        await a_node(lambda _: answer).chain_id()


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (-32005, UpstreamThrottled),
        (-32601, UpstreamRefused),
        (-32000, UpstreamUnavailable),
        (-32602, UpstreamUnreadable),
    ],
)
@pytest.mark.parametrize("names_the_call", [True, False])
async def test_error_object_is_an_error_of_its_kind(
    code: int, error: type[UpstreamError], *, names_the_call: bool
) -> None:
    def answer(calls: list[Call]) -> object:
        return fault(code, calls[0] if names_the_call else None)

    with pytest.raises(error, match=r"^devnet test endpoint") as raised:
        await a_node(answer).block("latest")

    assert "c4nary" not in str(raised.value)


async def test_history_that_is_refused_is_none() -> None:
    assert await a_node(lambda calls: fault(-32602, calls[0])).fee_history(9, 9, ()) is None
