"""Admission: what is accepted from outside is included once, in a coming block, for good."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from eth_account import Account as Wallet

from dashboard.devnet.blockspace import Payment, SimulatedAccount
from dashboard.devnet.chain import SeededRandom
from dashboard.devnet.genesis import DEVNET_ID
from dashboard.devnet.methods import contract_of
from dashboard.devnet.traffic import Traffic
from dashboard.domain.quantity import WEI_PER_GWEI, Address, TxHash, Wei
from dashboard.domain.rejections.exclusion import SignedTransaction
from tests.unit.devnet.small_devnet import HEAD, KEY, SENDER, Devnet, a_transaction

GWEI = WEI_PER_GWEI


@pytest.fixture
def devnet(tmp_path: Path) -> Iterator[Devnet]:
    devnet = Devnet(tmp_path)
    with closing(devnet.accepted):
        yield devnet


def test_sent_transaction_waits_and_is_in_the_next_block(devnet: Devnet) -> None:
    tx_hash = devnet.send()
    waiting = devnet.ask("eth_getTransactionByHash", tx_hash)
    no_receipt = devnet.ask("eth_getTransactionReceipt", tx_hash)
    pending = devnet.block("pending")["transactions"]
    devnet.next_block()
    receipt = devnet.ask("eth_getTransactionReceipt", tx_hash)

    assert (waiting["from"], waiting["blockNumber"], no_receipt) == (SENDER, None, None)
    assert tx_hash in pending
    assert int(receipt["blockNumber"], 16) == HEAD + 1
    assert (receipt["status"], receipt["gasUsed"]) == ("0x1", hex(21_000))
    block = devnet.block("latest")
    assert (block["number"], block["transactions"][0]) == (hex(HEAD + 1), tx_hash)


def test_accepted_transaction_is_included_after_a_restart(devnet: Devnet, tmp_path: Path) -> None:
    tx_hash = devnet.send()

    restarted = Devnet(tmp_path, devnet.clock)
    restarted.clock.pass_by(3600)

    with closing(restarted.accepted):
        receipt = restarted.ask("eth_getTransactionReceipt", tx_hash)
        assert int(receipt["blockNumber"], 16) == HEAD + 1


def test_nonce_counts_what_waits_only_as_pending(devnet: Devnet) -> None:
    devnet.send(nonce=0)
    devnet.send(nonce=1)
    before = [devnet.ask("eth_getTransactionCount", SENDER, tag) for tag in ("latest", "pending")]
    devnet.next_block()

    assert before == ["0x0", "0x2"]
    assert devnet.ask("eth_getTransactionCount", SENDER) == "0x2"
    assert devnet.ask("eth_getTransactionCount", SENDER, hex(HEAD)) == "0x0"


def test_displaced_block_keeps_its_gas_and_base_fee(devnet: Devnet, tmp_path: Path) -> None:
    devnet.send(data=b"\x01" * 20_000, gas=2_000_000)
    devnet.next_block()
    block = devnet.block("latest")
    last = devnet.ask("eth_getTransactionReceipt", block["transactions"][-1])
    other = Devnet(tmp_path / "undisturbed", devnet.clock)
    with closing(other.accepted):
        undisturbed = other.block("latest")

    assert last["cumulativeGasUsed"] == block["gasUsed"] == undisturbed["gasUsed"]
    assert block["transactions"][1:] == undisturbed["transactions"]
    assert devnet.ask("eth_feeHistory", 1, "latest", [50])["reward"][0][0] != "0x0"


def test_block_takes_no_more_than_its_gas(devnet: Devnet) -> None:
    hashes = [devnet.send(nonce=nonce, data=b"\x01" * 120_000, gas=2_000_000) for nonce in range(6)]
    devnet.clock.pass_by(60)

    receipts = [devnet.ask("eth_getTransactionReceipt", each) for each in hashes]

    numbers = [int(each["blockNumber"], 16) for each in receipts]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) > 1


def test_low_fee_waits_for_a_block_that_it_can_pay(devnet: Devnet) -> None:
    fees = [devnet.chain.block(HEAD + each).base_fee_per_gas for each in range(1, 400)]
    lowest = min(fees)

    tx_hash = devnet.send(maxFeePerGas=lowest, maxPriorityFeePerGas=1)
    devnet.clock.pass_by(800)

    receipt = devnet.ask("eth_getTransactionReceipt", tx_hash)
    assert int(receipt["effectiveGasPrice"], 16) == lowest
    assert int(receipt["blockNumber"], 16) == HEAD + 1 + fees.index(lowest)


@pytest.mark.parametrize("kind", [None, 1])
def test_older_types_pay_their_gas_price(devnet: Devnet, kind: int | None) -> None:
    listed = [{"address": "0x" + "33" * 20, "storageKeys": ["0x" + "01" * 32]}]
    extra = {} if kind is None else {"type": kind, "accessList": listed}

    tx_hash = devnet.send(gasPrice=100 * GWEI, gas=60_000, **extra)
    devnet.next_block()

    receipt = devnet.ask("eth_getTransactionReceipt", tx_hash)
    assert receipt["effectiveGasPrice"] == hex(100 * GWEI)
    assert receipt["type"] == hex(kind or 0)
    assert int(receipt["gasUsed"], 16) == (21_000 if kind is None else 21_000 + 2_400 + 1_900)
    view = devnet.ask("eth_getTransactionByHash", tx_hash)
    assert view.get("accessList") == (None if kind is None else listed)


def test_deployment_names_its_contract(devnet: Devnet) -> None:
    tx_hash = devnet.send(to=None, data=b"\x60\x00", gas=100_000)
    devnet.next_block()

    receipt = devnet.ask("eth_getTransactionReceipt", tx_hash)

    assert (receipt["to"], len(receipt["contractAddress"])) == (None, 42)
    assert int(receipt["gasUsed"], 16) == 21_000 + 32_000 + 16 + 4


@pytest.mark.parametrize(
    ("nonce", "contract"),
    [
        (0, "0xcd234a471b72ba2f1ccf0a70fcaba648a5eecd8d"),
        (1, "0x343c43a37d37dff08ae8c4a11544c718abb4fcf8"),
    ],
)
def test_contract_has_the_address_that_every_node_derives(nonce: int, contract: str) -> None:
    deployer = Address.parse("0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0")
    tx_hash = TxHash(bytes(32))
    deployment = SignedTransaction(tx_hash, deployer, None, nonce, DEVNET_ID, b"")

    assert str(contract_of(deployment)) == contract


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"chainId": 1}, "invalid chain id: signed for 1, this chain is 424242"),
        ({"chainId": None, "gasPrice": 100 * GWEI}, "replay-protected"),
        ({"nonce": 3}, f"nonce too high: the next nonce of {SENDER} is 0, not 3"),
        ({"gas": 20_999}, "intrinsic gas too low: it allows 20999 and needs 21000"),
        ({"gas": 8_000_001}, "exceeds block gas limit"),
        ({"maxPriorityFeePerGas": 201 * GWEI}, "priority fee per gas higher than max fee"),
        ({"maxFeePerGas": GWEI}, "transaction underpriced: it pays at most 1 gwei"),
        ({"data": b"\x01" * 131_072, "gas": 8_000_000}, "oversized data"),
    ],
)
def test_transaction_that_no_node_would_take_is_refused_with_the_reason(
    devnet: Devnet, changes: dict[str, object], words: str
) -> None:
    code, message = devnet.fault("eth_sendRawTransaction", a_transaction(**changes))

    assert code == -32000
    assert words in message


def test_type_that_devnet_lacks_is_refused_with_the_types_it_has(devnet: Devnet) -> None:
    delegation = {"chainId": DEVNET_ID, "address": "0x" + "33" * 20, "nonce": 1}
    signed = Wallet.from_key(KEY).sign_authorization(delegation)
    raw = a_transaction(type=4, authorizationList=[signed], gas=100_000)

    _, message = devnet.fault("eth_sendRawTransaction", raw)

    assert message == "transaction type 4 is not supported: send type 0, 1 or 2"


def test_same_transaction_is_already_known(devnet: Devnet) -> None:
    tx_hash = devnet.send()

    _, message = devnet.fault("eth_sendRawTransaction", a_transaction())

    assert message == f"already known: {tx_hash} was accepted before"


def test_rejected_transaction_of_the_traffic_has_the_nonce_that_the_chain_expects(
    devnet: Devnet,
) -> None:
    stories = [Traffic(devnet.chain).rejection(number) for number in range(5)]

    expected = [
        int(devnet.ask("eth_getTransactionCount", str(each.transaction.sender), "latest"), 16)
        for each in stories
    ]
    sent = [
        devnet.ask("eth_sendRawTransaction", f"0x{each.transaction.raw.hex()}") for each in stories
    ]

    assert [each.transaction.nonce for each in stories] == expected
    assert sent == [str(each.transaction.tx_hash) for each in stories]


def test_used_nonce_is_too_low(devnet: Devnet) -> None:
    devnet.send()

    _, message = devnet.fault("eth_sendRawTransaction", a_transaction(value=1))

    assert message == f"nonce too low: the next nonce of {SENDER} is 1, not 0"


@pytest.mark.parametrize("raw", ["0x", "0x02c0", "0x05c0", "0xc0"])
def test_bytes_that_are_no_transaction_are_unreadable(devnet: Devnet, raw: str) -> None:
    code, message = devnet.fault("eth_sendRawTransaction", raw)

    assert code == -32000
    assert message.startswith("the transaction is unreadable: ")


def test_senders_of_devnet_are_not_to_be_played_by_others(devnet: Devnet) -> None:
    own = SimulatedAccount(SeededRandom(7), "sender", 5)
    payment = Payment(0, own.address, Wei(0), b"", 21_000, Wei(100 * GWEI), Wei(GWEI))

    _, message = devnet.fault("eth_sendRawTransaction", f"0x{own.sign(payment).raw.hex()}")

    assert message == f"{own.address} is one of devnet's own senders: use another account"
