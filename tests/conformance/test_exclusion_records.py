"""What is kept of a report and how its record is answered, form by form.

Lines of the contract: keys, order and forms of a record; the block number, shown for one stage
only; reasons of 1,024 characters; overflows, kept and never answered; duplicates; which of several
records is seen, and how long. How each value is read is for the tests of `wire`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from eth_hash.auto import keccak

from tests.builders import A_MOMENT
from tests.conformance.running_apis import (
    FORMER_TIME,
    GET,
    KEY,
    NETWORK,
    OTHER_NETWORK,
    SAVE,
    Served,
    a_former_report,
    apis,
)
from tests.integration.running_server import NARROW_KEY, Signed, a_signed_transaction
from tests.signed_transactions import BY_KIND, SIGNER, sign_kind

SEVEN_DAYS = timedelta(days=7)
MILLISECOND = timedelta(milliseconds=1)


class Transactions:
    """Hands out a transaction that no other test of the module has reported."""

    def __init__(self) -> None:
        self._nonce = 0

    def new(self, chain_id: int | None = NETWORK) -> Signed:
        self._nonce += 1
        return a_signed_transaction(self._nonce, chain_id)


@pytest.fixture(scope="module")
def transactions() -> Transactions:
    return Transactions()


@pytest.fixture
def transaction(transactions: Transactions) -> Signed:
    return transactions.new()


def at(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def record_of(served: Served, transaction: Signed, **changes: object) -> dict[str, object]:
    """Report a transaction and return its record as it is then answered."""
    saved = served.result(SAVE, a_former_report(transaction, **changes))
    assert saved == {"status": "SAVED", "txHash": transaction.tx_hash}
    record: dict[str, object] = served.result(GET, [transaction.tx_hash])
    return record


def test_record_has_its_keys_in_the_order_of_the_wire(served: Served, transaction: Signed) -> None:
    record = record_of(served, transaction, reasonMessage="too long", blockNumber=1000)

    assert list(record.items()) == [
        ("txHash", transaction.tx_hash),
        ("from", transaction.sender),
        ("nonce", "0x1"),
        ("txRejectionStage", "SEQUENCER"),
        ("reasonMessage", "too long"),
        ("timestamp", "2026-11-20T11:00:00Z"),
        ("blockNumber", "0x3e8"),
    ]


@pytest.mark.parametrize(
    ("stage", "block", "shown"),
    [
        ("SEQUENCER", 0, "0x0"),
        ("SEQUENCER", "1715004", "0x1a2b3c"),
        ("SEQUENCER", 2**63 - 1, "0x7fffffffffffffff"),
        ("SEQUENCER", None, None),
        ("RPC", 1000, None),
        ("P2P", 1000, None),
    ],
)
def test_block_number_is_minimal_hexadecimal_and_the_sequencers_alone(
    served: Served, transaction: Signed, stage: str, block: object, shown: str | None
) -> None:
    record = record_of(served, transaction, txRejectionStage=stage, blockNumber=block)

    assert record["txRejectionStage"] == stage
    assert record.get("blockNumber") == shown
    assert ("blockNumber" in record) == (shown is not None)


@pytest.mark.parametrize("sign", ["r", "é", "🔑", "\0", "\n"], ids=ascii)
def test_reason_of_1024_characters_is_answered_unchanged(
    served: Served, transaction: Signed, sign: str
) -> None:
    reason = sign * 1024

    assert record_of(served, transaction, reasonMessage=reason)["reasonMessage"] == reason


@pytest.mark.parametrize(
    "overflows",
    [
        [],
        [{"module": "HUB", "count": 2097153, "limit": 2097152}],
        [{"module": "A", "count": "2", "limit": "1"}, {"module": "", "count": 0, "limit": 0}],
    ],
)
def test_overflows_are_taken_and_never_part_of_the_record(
    served: Served, transaction: Signed, overflows: list[object]
) -> None:
    assert "overflows" not in record_of(served, transaction, overflows=overflows)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"txRejectionStage": "P2P"},
        {"blockNumber": 8},
        {"timestamp": at(A_MOMENT)},
        {"overflows": [{"module": "HUB", "count": 2, "limit": 1}]},
    ],
    ids=["all the same", "other stage", "other block", "later", "other overflows"],
)
def test_same_reason_again_is_a_duplicate_and_the_first_report_stands(
    served: Served, transaction: Signed, changes: dict[str, object]
) -> None:
    record = record_of(served, transaction, blockNumber=7)

    again = served.result(SAVE, a_former_report(transaction, blockNumber=7) | changes)

    assert again == {
        "status": "DUPLICATE_ALREADY_SAVED_BEFORE",
        "txHash": transaction.tx_hash,
    }
    assert served.result(GET, [transaction.tx_hash]) == record


@pytest.mark.parametrize("hours", [(1, 2), (2, 1)], ids=["newest first", "newest last"])
def test_record_with_the_newest_claimed_time_is_seen_however_they_arrive(
    served: Served, transaction: Signed, hours: tuple[int, int]
) -> None:
    for hour in hours:
        moment = at(A_MOMENT - timedelta(hours=hour))
        record = a_former_report(transaction, reasonMessage=f"{hour} h ago", timestamp=moment)
        assert served.result(SAVE, record)["status"] == "SAVED"

    assert served.result(GET, [transaction.tx_hash])["reasonMessage"] == "1 h ago"


def test_record_is_seen_for_seven_days_to_the_millisecond(
    served: Served, transaction: Signed
) -> None:
    claimed = A_MOMENT - SEVEN_DAYS

    record_of(served, transaction, timestamp=at(claimed))
    expired = a_former_report(
        transaction, reasonMessage="older by 1 ms", timestamp=at(claimed - MILLISECOND)
    )
    assert served.result(SAVE, expired)["status"] == "SAVED"

    assert served.result(GET, [transaction.tx_hash])["timestamp"] == "2026-11-13T12:00:00Z"


def test_record_older_than_seven_days_is_null_and_a_repetition_still_a_duplicate(
    served: Served, transaction: Signed
) -> None:
    expired = a_former_report(transaction, timestamp=at(A_MOMENT - SEVEN_DAYS - MILLISECOND))

    statuses = [served.result(SAVE, expired)["status"] for _ in range(2)]

    assert statuses == ["SAVED", "DUPLICATE_ALREADY_SAVED_BEFORE"]
    assert served.result(GET, [transaction.tx_hash]) is None


def test_record_turns_null_when_seven_days_have_passed(tmp_path: Path) -> None:
    transaction = a_signed_transaction(1)
    with apis(tmp_path) as served:
        record_of(served, transaction)
        served.clock.wait(datetime.fromisoformat(FORMER_TIME) + SEVEN_DAYS - served.clock.now())
        assert served.result(GET, [transaction.tx_hash]) is not None

        served.clock.wait(MILLISECOND)
        assert served.result(GET, [transaction.tx_hash]) is None


def test_one_key_asks_all_of_its_networks_and_no_other(
    served: Served, transactions: Transactions
) -> None:
    here, there = transactions.new(), transactions.new(OTHER_NETWORK)
    for transaction in (here, there):
        record_of(served, transaction)

    seen = {
        key: [served.result(GET, [each.tx_hash], key) is not None for each in (here, there)]
        for key in (KEY, NARROW_KEY)
    }

    assert seen == {KEY: [True, True], NARROW_KEY: [False, True]}


@pytest.mark.parametrize("name", BY_KIND)
def test_transaction_of_each_kind_is_found_under_its_hash(served: Served, name: str) -> None:
    raw = sign_kind(name, nonce=16)
    report = a_former_report(Signed("", "", raw.hex()), reasonMessage="each kind")

    saved = served.result(SAVE, [report])
    record = served.result(GET, [saved["txHash"]])

    assert saved["txHash"] == f"0x{keccak(raw).hex()}"
    assert (record["from"], record["nonce"]) == (SIGNER.address.lower(), "0x10")


@pytest.mark.parametrize("name", ["EIP-155", "EIP-1559"])
def test_network_of_a_transaction_is_read_from_its_signed_bytes(served: Served, name: str) -> None:
    raw = sign_kind(name, nonce=18, chainId=OTHER_NETWORK)

    saved = served.result(SAVE, a_former_report(Signed("", "", raw.hex())), NARROW_KEY)

    assert served.result(GET, [saved["txHash"]], NARROW_KEY) is not None
