"""The node's methods: blocks, fees, transactions, and answers to wrong params."""

from __future__ import annotations

import json

import pytest
import rlp  # type: ignore[import-untyped] # it has no types
from eth_account import Account
from eth_hash.auto import keccak
from structlog.testing import capture_logs

from dashboard.devnet.chain import GAS_LIMIT, SeededRandom
from dashboard.devnet.genesis import DEVNET_ID
from dashboard.devnet.methods import contract_of
from dashboard.devnet.node import Node
from dashboard.devnet.traffic import REJECTION_SECONDS, Traffic
from dashboard.domain.fees.suggestion import next_base_fee
from dashboard.domain.quantity import Address, TxHash, Wei
from dashboard.domain.rejections.exclusion import SignedTransaction
from tests.unit.devnet.small_devnet import HEAD, Devnet, Json, ManualClock, a_chain

INVALID_PARAMS = -32602
REFUSED = -32000
NOBODY = "0x" + "ab" * 32


@pytest.fixture
def devnet() -> Devnet:
    return Devnet()


def number(text: Json) -> int:
    return int(text, 16)


def test_node_names_its_chain_and_itself(devnet: Devnet) -> None:
    assert devnet.ask("eth_chainId") == hex(DEVNET_ID)
    assert devnet.ask("net_version") == "424242"
    assert devnet.ask("web3_clientVersion").startswith("Linewatch")


def test_block_number_follows_the_clock_and_never_goes_back(devnet: Devnet) -> None:
    before = devnet.ask("eth_blockNumber")
    devnet.next_block()
    after = devnet.ask("eth_blockNumber")
    devnet.clock.pass_by(-100)

    assert (before, after) == (hex(HEAD), hex(HEAD + 1))
    assert devnet.ask("eth_blockNumber") == after


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("latest", HEAD),
        ("safe", HEAD),
        ("finalized", HEAD),
        (None, HEAD),
        ("earliest", 0),
        ("pending", HEAD + 1),
        ("0x10", 16),
        (16, 16),
    ],
)
def test_block_is_found_by_tag_and_by_number(devnet: Devnet, tag: object, expected: int) -> None:
    assert number(devnet.block(tag)["number"]) == expected


def test_block_beyond_the_head_is_null(devnet: Devnet) -> None:
    assert devnet.block(hex(HEAD + 1)) is None


def test_block_names_its_parent_and_follows_its_base_fee(devnet: Devnet) -> None:
    parent = devnet.block(hex(HEAD - 1))
    block = devnet.block(hex(HEAD))

    assert block["parentHash"] == parent["hash"]
    assert number(block["timestamp"]) == number(parent["timestamp"]) + 2
    assert number(block["baseFeePerGas"]) == next_base_fee(
        Wei(number(parent["baseFeePerGas"])), number(parent["gasUsed"]), GAS_LIMIT
    )


def test_whole_transactions_agree_with_hashes_and_receipts(devnet: Devnet) -> None:
    hashes = devnet.block("latest")["transactions"]
    block = devnet.block("latest", is_whole=True)
    receipts = [devnet.ask("eth_getTransactionReceipt", each) for each in hashes]

    assert [each["hash"] for each in block["transactions"]] == hashes
    assert block["transactions"] == [devnet.ask("eth_getTransactionByHash", h) for h in hashes]
    assert [each["transactionHash"] for each in receipts] == hashes
    assert receipts[-1]["cumulativeGasUsed"] == block["gasUsed"]
    assert {each["blockHash"] for each in receipts} == {block["hash"]}


def test_own_transaction_is_found_though_its_block_was_never_asked_for(devnet: Devnet) -> None:
    tx_hash = devnet.block(hex(HEAD - 200))["transactions"][-1]

    found = Devnet().ask("eth_getTransactionByHash", tx_hash)

    assert number(found["blockNumber"]) == HEAD - 200


def test_rejected_transaction_that_is_included_is_found_once_its_block_is_made(
    devnet: Devnet,
) -> None:
    endings = list(Traffic(devnet.chain).inclusions(HEAD + 1, HEAD + 200))
    hashes = [str(each.transaction.tx_hash) for each in endings]
    senders = [str(each.transaction.sender) for each in endings]
    before = [devnet.ask("eth_getTransactionReceipt", each) for each in hashes]
    nonces_before = [devnet.ask("eth_getTransactionCount", each) for each in senders]

    devnet.clock.pass_by(200 * 2)

    receipts = [devnet.ask("eth_getTransactionReceipt", each) for each in hashes]
    blocks = [devnet.block(each["blockNumber"]) for each in receipts]
    nonces = [devnet.ask("eth_getTransactionCount", each) for each in senders]
    assert len(endings) >= 3
    assert before == [None] * len(endings)
    assert [number(each["blockNumber"]) for each in receipts] == [each.block for each in endings]
    assert [block["transactions"][0] for block in blocks] == hashes
    assert all(number(block["gasUsed"]) > number(receipts[0]["gasUsed"]) for block in blocks)
    assert (nonces_before, nonces) == (["0x0"] * len(endings), ["0x1"] * len(endings))
    assert devnet.ask("eth_getTransactionCount", senders[0], hex(HEAD)) == "0x0"
    assert Devnet(devnet.clock).ask("eth_getTransactionReceipt", hashes[0]) == receipts[0]


class CountingRandom(SeededRandom):
    """Counts the transactions of the traffic that are computed."""

    stories = 0

    def draw(self, purpose: str, number: int, size: int = 32) -> bytes:
        self.stories += purpose == "story"
        return super().draw(purpose, number, size)


def test_clock_set_a_week_ahead_skips_the_traffic_that_nobody_saw() -> None:
    chain, clock = a_chain(), ManualClock()
    chain.random = counted = CountingRandom(7)
    node = Node(chain, clock)
    node.find(TxHash(bytes(32)))
    begun = counted.stories
    clock.pass_by(7 * 86_400)

    node.find(TxHash(bytes(32)))

    assert counted.stories - begun < 86_400 / REJECTION_SECONDS / 2
    head, seen = node.head(), [*Traffic(a_chain()).inclusions(HEAD + 1, HEAD + 300)]
    latest = [*Traffic(a_chain()).inclusions(head - 40_000, head - 39_700)]
    found = [node.find(each.transaction.tx_hash) for each in (*seen, *latest)]
    assert [each and each.block for each in found] == [each.block for each in (*seen, *latest)]
    assert seen
    assert latest


def test_deployment_names_its_contract_and_uses_its_intrinsic_gas(devnet: Devnet) -> None:
    endings = Traffic(devnet.chain).inclusions(1, 40_000)
    deployment = next(each for each in endings if each.payment.recipient is None)
    devnet.clock.pass_by((deployment.block - HEAD) * 2)
    data = deployment.payment.data

    receipt = devnet.ask("eth_getTransactionReceipt", str(deployment.transaction.tx_hash))

    assert (receipt["to"], len(receipt["contractAddress"])) == (None, 42)
    assert number(receipt["gasUsed"]) == 53_000 + sum(16 if octet else 4 for octet in data)


@pytest.mark.parametrize(
    ("nonce", "contract"),
    [
        (0, "0xcd234a471b72ba2f1ccf0a70fcaba648a5eecd8d"),
        (1, "0x343c43a37d37dff08ae8c4a11544c718abb4fcf8"),
    ],
)
def test_contract_has_the_address_that_every_node_derives(nonce: int, contract: str) -> None:
    deployer = Address.parse("0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0")
    deployment = SignedTransaction(TxHash(bytes(32)), deployer, None, nonce, DEVNET_ID, b"")

    assert str(contract_of(deployment)) == contract


def test_whole_transaction_is_the_one_that_its_sender_signed(devnet: Devnet) -> None:
    written = devnet.block("latest", is_whole=True)["transactions"][0]
    names = ("nonce", "maxPriorityFeePerGas", "maxFeePerGas", "gas", "to", "value", "input")
    members = [_bytes_of(written[each]) for each in ("chainId", *names)]
    signature = [_bytes_of(written[each]) for each in ("yParity", "r", "s")]

    raw = b"\x02" + rlp.encode([*members, written["accessList"], *signature])

    assert f"0x{keccak(raw).hex()}" == written["hash"]
    assert Account.recover_transaction(raw).lower() == written["from"]


def _bytes_of(text: str) -> bytes:
    """Return the bytes of a quantity, or of an address or data."""
    digits = text.removeprefix("0x")
    return bytes.fromhex(digits if len(digits) % 2 == 0 else f"0{digits}").lstrip(b"\0")


def test_fee_history_agrees_with_the_headers(devnet: Devnet) -> None:
    history = devnet.ask("eth_feeHistory", "0x5", "latest", [])
    blocks = [devnet.block(hex(HEAD - 4 + each)) for each in range(5)]
    pending = devnet.block("pending")

    assert number(history["oldestBlock"]) == HEAD - 4
    assert history["baseFeePerGas"] == [each["baseFeePerGas"] for each in [*blocks, pending]]
    assert history["gasUsedRatio"] == [number(each["gasUsed"]) / GAS_LIMIT for each in blocks]
    assert "reward" not in history


def test_fee_history_rewards_are_tips_of_the_block_by_share_of_gas(devnet: Devnet) -> None:
    history = devnet.ask("eth_feeHistory", 1, "pending", [0, 100])
    block = devnet.block("latest", is_whole=True)
    tips = [
        number(each["gasPrice"]) - number(block["baseFeePerGas"]) for each in block["transactions"]
    ]

    assert [[number(each) for each in row] for row in history["reward"]] == [[min(tips), max(tips)]]


def test_fee_history_is_shorter_near_the_genesis(devnet: Devnet) -> None:
    history = devnet.ask("eth_feeHistory", 1024, "0x2", [50])

    assert history["oldestBlock"] == "0x0"
    assert len(history["baseFeePerGas"]) == 4
    assert history["reward"][0] == ["0x0"]


@pytest.mark.parametrize(
    ("params", "code", "words"),
    [
        ([0, "latest"], INVALID_PARAMS, "between 1 and 1024"),
        ([1025, "latest"], INVALID_PARAMS, "between 1 and 1024"),
        ([1, hex(HEAD + 1)], REFUSED, f"requested {HEAD + 1}, head {HEAD}"),
        ([1, "latest", [50, 49]], INVALID_PARAMS, "49 follows 50"),
        ([1, "latest", [100.5]], INVALID_PARAMS, "100.5"),
        ([1, "latest", [-1]], INVALID_PARAMS, "-1"),
        ([1, "latest", ["50"]], INVALID_PARAMS, "50"),
        ([1, "latest", [True]], INVALID_PARAMS, "True"),
        ([1, "latest", [1] * 101], INVALID_PARAMS, "at most 100"),
        ([1, "latest", "50"], INVALID_PARAMS, "list of at most 100"),
        ([1, "latest", 0], INVALID_PARAMS, "a list of percentiles"),
        ([1], INVALID_PARAMS, "missing value for required argument 1"),
        ([1, "latest", [], 1], INVALID_PARAMS, "at most 3"),
        (["x", "latest"], INVALID_PARAMS, "hex quantity"),
        ([True, "latest"], INVALID_PARAMS, "hex quantity"),
        ([-1, "latest"], INVALID_PARAMS, "hex quantity"),
        ([1, "newest"], INVALID_PARAMS, "newest"),
        ([1, ["latest"]], INVALID_PARAMS, "hex quantity"),
    ],
)
def test_fee_history_refuses_what_makes_no_sense(
    devnet: Devnet, params: list[object], code: int, words: str
) -> None:
    found, message = devnet.fault("eth_feeHistory", *params)

    assert found == code
    assert words in message


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_chainId", [1]),
        ("eth_getBlockByNumber", []),
        ("eth_getBlockByNumber", ["latest", "yes"]),
        ("eth_getTransactionReceipt", ["0x12"]),
        ("eth_getTransactionByHash", [5]),
        ("eth_getTransactionCount", ["0x12"]),
    ],
)
def test_wrong_params_are_named_as_such(devnet: Devnet, method: str, params: list[object]) -> None:
    assert devnet.fault(method, *params)[0] == INVALID_PARAMS


def test_unknown_hash_is_null(devnet: Devnet) -> None:
    assert devnet.ask("eth_getTransactionByHash", NOBODY) is None
    assert devnet.ask("eth_getTransactionReceipt", NOBODY) is None


def test_nonces_of_own_senders_count_their_transactions(devnet: Devnet) -> None:
    newest = devnet.block("latest", is_whole=True)["transactions"][0]
    sender, nonce = newest["from"], number(newest["nonce"])

    assert number(devnet.ask("eth_getTransactionCount", sender, "latest")) == nonce + 1
    assert number(devnet.ask("eth_getTransactionCount", sender, hex(HEAD - 1))) == nonce
    assert number(devnet.ask("eth_getTransactionCount", sender, "earliest")) == 0


def test_nonce_beyond_the_head_is_refused(devnet: Devnet) -> None:
    code, message = devnet.fault("eth_getTransactionCount", NOBODY[:42], hex(HEAD + 5))

    assert (code, message) == (REFUSED, f"block {HEAD + 5} is beyond the head block {HEAD}")


def test_broken_json_and_unknown_methods_get_errors_in_their_place(devnet: Devnet) -> None:
    call = {"jsonrpc": "2.0", "id": 7, "method": "eth_chainId"}
    batch = [call, 5, call | {"method": "eth_mine"}, call | {"params": {"a": 1}}]

    replies = json.loads(devnet.body(json.dumps(batch).encode()) or b"")

    assert [reply.get("error", {}).get("code") for reply in replies] == [
        None,
        -32600,
        -32601,
        INVALID_PARAMS,
    ]
    assert json.loads(devnet.body(b"{") or b"")["error"]["code"] == -32700


def test_notification_gets_no_reply(devnet: Devnet) -> None:
    assert devnet.body(b'{"jsonrpc":"2.0","method":"eth_chainId"}') is None


def test_fault_of_ours_is_an_internal_error_and_others_are_answered(devnet: Devnet) -> None:
    def break_down(_: object) -> bytes:
        raise ZeroDivisionError

    devnet.methods.by_name["eth_chainId"] = break_down

    with capture_logs() as logs:
        assert devnet.fault("eth_chainId") == (-32603, "Internal error")

    assert [line["method"] for line in logs] == ["eth_chainId"]
    assert devnet.ask("net_version") == "424242"


def test_many_blocks_may_be_asked_for_and_all_stay_the_same(devnet: Devnet) -> None:
    devnet.clock.pass_by(2 * 550)
    first = [devnet.block(hex(each))["transactions"] for each in range(1, 3)]
    for each in range(3, 550):
        devnet.block(hex(each))

    assert [devnet.block(hex(each))["transactions"] for each in range(1, 3)] == first
    assert devnet.ask("eth_getTransactionReceipt", first[0][0])["blockNumber"] == "0x1"
