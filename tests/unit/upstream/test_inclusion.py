"""What became of transactions as one node tells it: receipts, nonces, every kind of trouble."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import pytest

from dashboard.domain.health.observation import FailureKind
from dashboard.domain.quantity import NetworkId
from dashboard.domain.tracking.inclusion import Inclusion, InclusionAnswer, InclusionQuestion
from dashboard.upstream.endpoint import Charge
from dashboard.upstream.node import LARGEST_BATCH, InclusionClient, NodeClient
from dashboard.upstream.node_failover import FirstThatAnswers
from tests.builders import a_hash, an_address, seconds
from tests.fake_clock import FakeClock
from tests.unit.upstream.scripted_asker import Call, ScriptedAsker, fault, result

NETWORK: Final = NetworkId(1)
BLOCK_HASH: Final = f"0x{'ab' * 32}"


class Chain:
    """A node whose receipts and nonces are set by hand; `refuse` stands in for some answers."""

    def __init__(self) -> None:
        self.receipts: dict[str, dict[str, Any]] = {}
        self.nonces: dict[str, int] = {}
        self.chain_id = NETWORK
        self.refuse: Callable[[Call], Any] = lambda _: None
        self.refuses_batches = False
        self.asker = ScriptedAsker(self.answer)
        self.client = InclusionClient(NodeClient(self.asker), NETWORK)

    @property
    def methods(self) -> list[list[str]]:
        """What was asked after the network, request by request."""
        return [[str(call["method"]) for call in calls] for calls in self.asker.asked[1:]]

    def include(self, number: int, status: str = "0x1") -> None:
        """Put the transaction of `a_hash(number)` into block 7."""
        self.receipts[str(a_hash(number))] = {
            "transactionHash": str(a_hash(number)),
            "from": str(an_address()),
            "gasUsed": "0x5208",
            "cumulativeGasUsed": "0x5208",
            "blockHash": BLOCK_HASH,
            "blockNumber": "0x7",
            "status": status,
        }

    def answer(self, calls: list[Call]) -> object:
        if self.refuses_batches and len(calls) > 1:
            return fault(-32600)
        replies = [self.refuse(call) or result(call, self._result(call)) for call in calls]
        return replies if len(calls) > 1 else replies[0]

    def _result(self, call: Call) -> object:
        subject = call["params"][0] if call["params"] else ""
        match call["method"]:
            case "eth_chainId":
                return hex(self.chain_id)
            case "eth_getTransactionCount":
                return hex(self.nonces.get(subject, 0))
            case _:
                return self.receipts.get(subject)


def about(*numbers: int) -> list[InclusionQuestion]:
    return [InclusionQuestion(a_hash(number)) for number in numbers]


async def test_receipt_says_block_and_success() -> None:
    chain = Chain()
    chain.include(1)
    chain.include(2, status="0x0")

    answers = await chain.client.ask(about(1, 2, 3))

    block_hash = bytes.fromhex("ab" * 32)
    assert [each.inclusion for each in answers] == [
        Inclusion(7, block_hash, is_successful=True),
        Inclusion(7, block_hash, is_successful=False),
        None,
    ]
    assert chain.methods == [["eth_getTransactionReceipt"] * 3]


async def test_receipt_with_two_thousand_logs_is_read() -> None:
    chain = Chain()
    chain.include(1)
    log = {"address": str(an_address()), "topics": [BLOCK_HASH] * 3, "data": BLOCK_HASH}
    log |= {"blockHash": BLOCK_HASH, "transactionHash": BLOCK_HASH, "logIndex": "0x1"}
    chain.receipts[str(a_hash(1))]["logs"] = [log] * 2000

    [answer] = await chain.client.ask(about(1))

    assert answer.inclusion is not None


async def test_nonces_of_known_senders_are_asked_before_receipts() -> None:
    chain = Chain()
    chain.nonces[str(an_address())] = 6
    question = InclusionQuestion(a_hash(1), an_address(), 5)

    answers = await chain.client.ask([question, *about(2)])

    assert [each.next_nonce for each in answers] == [6, None]
    assert chain.methods == [["eth_getTransactionCount"], ["eth_getTransactionReceipt"] * 2]


async def test_sender_of_several_hashes_is_asked_about_once() -> None:
    chain = Chain()

    await chain.client.ask([InclusionQuestion(a_hash(each), an_address(), 5) for each in (1, 2)])

    assert chain.methods[0] == ["eth_getTransactionCount"]


async def test_many_hashes_go_in_several_batches() -> None:
    chain = Chain()

    answers = await chain.client.ask(about(*range(LARGEST_BATCH + 1)))

    assert len(answers) == LARGEST_BATCH + 1
    assert [len(methods) for methods in chain.methods] == [LARGEST_BATCH, 1]


async def test_node_that_refuses_batches_is_asked_singly_from_then_on() -> None:
    chain = Chain()
    chain.include(2)
    chain.refuses_batches = True

    first = await chain.client.ask(about(1, 2))
    again = await chain.client.ask(about(1, 2))

    assert [each.inclusion is None for each in first] == [True, False]
    assert again == first
    assert [len(methods) for methods in chain.methods] == [2, 1, 1, 1, 1]


async def test_batches_grow_again_after_one_that_failed_once() -> None:
    chain = Chain()
    chain.refuses_batches = True
    await chain.client.ask(about(*range(LARGEST_BATCH)))
    chain.refuses_batches = False

    for _ in range(100):
        await chain.client.ask(about(*range(LARGEST_BATCH)))

    assert len(chain.methods[-1]) == LARGEST_BATCH


async def test_node_that_takes_ten_at_once_is_asked_about_nearly_as_many() -> None:
    chain = Chain()
    whole = chain.answer
    chain.asker.answers_with(lambda calls: fault(-32600) if len(calls) > 10 else whole(calls))

    several = [await chain.client.ask(about(*range(LARGEST_BATCH))) for _ in range(3)]

    assert all(each.failure is None for answers in several for each in answers)
    assert len(chain.methods[-2]) in {9, 10}


async def test_trouble_with_one_hash_costs_the_others_nothing() -> None:
    chain = Chain()
    chain.include(2)
    chain.refuse = lambda call: fault(-32000, call) if call["params"] == [str(a_hash(1))] else None

    answers = await chain.client.ask(about(1, 2))

    assert answers[0].failure is not None
    assert answers[1].inclusion is not None


async def test_batches_are_tried_again_where_a_hash_was_the_trouble() -> None:
    chain = Chain()
    chain.refuse = lambda call: fault(-32000, call) if call["params"] == [str(a_hash(1))] else None

    await chain.client.ask(about(1, 2))
    await chain.client.ask(about(2, 3))

    assert [len(methods) for methods in chain.methods] == [2, 1, 1, 2]


async def test_node_that_answers_nothing_is_left_alone_after_two_hashes() -> None:
    chain = Chain()
    await chain.client.ask(about(1))
    chain.refuse = lambda call: fault(-32000, call)

    answers = await chain.client.ask(about(*range(200)))

    assert len(answers) == 200
    assert {each.failure.kind for each in answers if each.failure} == {FailureKind.UNAVAILABLE}
    assert [len(methods) for methods in chain.methods[1:]] == [LARGEST_BATCH, 1, 1]


async def test_node_that_asks_for_patience_is_asked_nothing_more_in_that_batch() -> None:
    chain = Chain()
    await chain.client.ask(about(1))
    chain.refuse = lambda call: fault(-32005, call)

    answers = await chain.client.ask(about(1, 2))

    assert {each.failure.kind for each in answers if each.failure} == {FailureKind.THROTTLED}
    assert len(chain.methods) == 2


async def test_unreadable_receipts_do_not_stop_the_asking() -> None:
    chain = Chain()
    for number in (1, 2, 3):
        chain.include(number)
        chain.receipts[str(a_hash(number))]["blockNumber"] = "seven"
    chain.include(4)

    answers = await chain.client.ask(about(1, 2, 3, 4))

    assert [each.failure and each.failure.kind for each in answers[:3]] == (
        [FailureKind.UNREADABLE] * 3
    )
    assert answers[3].inclusion is not None


@pytest.mark.parametrize("numbers", [(1,), (1, 2)])
async def test_receipt_of_another_transaction_is_not_believed(numbers: tuple[int, ...]) -> None:
    chain = Chain()
    chain.include(9)
    chain.receipts[str(a_hash(1))] = chain.receipts[str(a_hash(9))]

    answers = await chain.client.ask(about(*numbers))

    assert answers[0].inclusion is None
    assert answers[0].failure is not None
    assert "another receipt" in answers[0].failure.message


async def test_reply_left_out_of_a_batch_is_asked_again_alone() -> None:
    chain = Chain()
    chain.include(2)

    def gappy(calls: list[Call]) -> object:
        whole = chain.answer(calls)
        return whole[:1] if isinstance(whole, list) else whole

    asker = ScriptedAsker(gappy)

    answers = await InclusionClient(NodeClient(asker), NETWORK).ask(about(1, 2))

    assert [each.inclusion is not None for each in answers] == [False, True]


async def test_node_of_another_network_is_not_believed() -> None:
    chain = Chain()
    chain.chain_id = NetworkId(2)
    chain.include(1)

    [answer] = await chain.client.ask(about(1))

    assert answer == InclusionAnswer(a_hash(1), failure=answer.failure)
    assert answer.failure is not None
    assert "follows network 2, not 1" in answer.failure.message


async def test_node_that_comes_back_as_another_network_is_not_believed() -> None:
    chain = Chain()
    await chain.client.ask(about(1))
    chain.refuse = lambda call: fault(-32000, call)
    await chain.client.ask(about(1))
    chain.refuse, chain.chain_id = lambda _: None, NetworkId(2)

    [answer] = await chain.client.ask(about(1))

    assert answer.failure is not None
    assert "follows network 2, not 1" in answer.failure.message


async def test_nothing_to_ask_is_answered_with_nothing() -> None:
    assert await Chain().client.ask([]) == []


class HangingAsker(ScriptedAsker):
    """Answers nothing for eight seconds while it `hangs`."""

    def __init__(self, chain: Chain, clock: FakeClock) -> None:
        super().__init__(chain.answer)
        self.hangs = True
        self._clock = clock

    async def post_json(self, body: bytes, limit: int, charge: Charge | None = None) -> bytes:
        """Wait until the asker gives up, or answer like another one."""
        if self.hangs:
            self.asked.append([])
            self._clock.wait(seconds(8))
            await asyncio.Event().wait()
        return await super().post_json(body, limit, charge)


async def test_second_node_is_asked_about_what_the_first_does_not_answer() -> None:
    first, second = Chain(), Chain()
    first.refuse = lambda call: fault(-32000, call) if str(a_hash(2)) in call["params"] else None
    second.include(2)

    answers = await FirstThatAnswers([first.client, second.client]).ask(about(1, 2))

    assert [(each.failure, each.inclusion is not None) for each in answers] == [
        (None, False),
        (None, True),
    ]


async def test_node_that_fails_at_once_is_asked_first_all_the_same() -> None:
    preferred, standby = Chain(), Chain()
    preferred.refuse = lambda call: fault(-32000, call)
    nodes = FirstThatAnswers([preferred.client, standby.client], FakeClock().elapsed)

    for _ in range(3):
        await nodes.ask(about(1))
    preferred.refuse = lambda _: None
    asked = len(standby.asker.asked)
    await nodes.ask(about(1))

    assert len(standby.asker.asked) == asked


async def test_node_that_hangs_is_asked_last_until_it_answers() -> None:
    clock, standby = FakeClock(), Chain()
    asker = HangingAsker(Chain(), clock)
    preferred = InclusionClient(NodeClient(asker), NETWORK)
    nodes = FirstThatAnswers([preferred, standby.client], clock.elapsed)

    async def look_up() -> list[InclusionAnswer]:
        async with asyncio.timeout(0.02):
            return await nodes.ask(about(1))

    with pytest.raises(TimeoutError):
        await look_up()
    standing_by = [await look_up() for _ in range(3)]
    tried = len(asker.asked)
    asker.hangs = False
    clock.wait(seconds(15))
    await look_up()
    before = len(standby.asker.asked)
    await look_up()

    assert standing_by == [[InclusionAnswer(a_hash(1))]] * 3
    assert tried == 1
    assert len(standby.asker.asked) == before
