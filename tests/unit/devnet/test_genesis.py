"""What a devnet begins with: its genesis, its accounts, and reports of a demo."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account as Wallet
from hypothesis import given
from hypothesis import strategies as st

from dashboard.devnet.chain import Chain, SeededRandom
from dashboard.devnet.demo import DemoReports
from dashboard.devnet.genesis import DEVNET_ID, open_genesis
from dashboard.devnet.own_transactions import Payment, SimulatedAccount
from dashboard.devnet.rejection_scripts import ReasonTemplate
from dashboard.domain.quantity import Address, Wei
from dashboard.errors import InputError, RoleError
from dashboard.wire.transaction import decode_transaction
from tests.builders import A_MOMENT
from tests.unit.devnet.small_devnet import ManualClock


def test_first_start_has_twenty_thousand_blocks(tmp_path: Path) -> None:
    clock = ManualClock()

    chain = Chain(open_genesis(tmp_path / "devnet", 7, clock))

    assert chain.head(clock()) == 20_000


def test_later_start_finds_the_same_genesis(tmp_path: Path) -> None:
    clock = ManualClock()
    first = open_genesis(tmp_path, 7, clock)
    clock.pass_by(timedelta(days=30).total_seconds())

    assert open_genesis(tmp_path, 7, clock) == first


def test_other_seed_is_refused_with_both_and_the_remedy(tmp_path: Path) -> None:
    open_genesis(tmp_path, 7, ManualClock())

    with pytest.raises(InputError, match=r"seed 7, not 8: set devnet\.seed to 7"):
        open_genesis(tmp_path, 8, ManualClock())


@pytest.mark.parametrize("text", ["", "{", '{"seed": "x"}', "[]"])
def test_damaged_genesis_is_named_and_not_replaced(tmp_path: Path, text: str) -> None:
    path = tmp_path / "genesis.json"
    path.write_text(text)

    with pytest.raises(RoleError, match=r"genesis\.json is damaged .* remove"):
        open_genesis(tmp_path, 7, ManualClock())
    assert path.read_text() == text


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")

    with pytest.raises(RoleError, match="cannot keep its genesis in"):
        open_genesis(tmp_path / "file" / "devnet", 7, ManualClock())


FEES = st.integers(0, 2**63 - 1).map(Wei)
DATA = st.binary(min_size=2, max_size=255) | st.just(b"")
PAYMENTS = st.builds(
    Payment,
    nonce=st.integers(0, 2**64 - 2),
    recipient=st.none() | st.binary(min_size=20, max_size=20).map(Address),
    value=FEES,
    data=DATA,
    gas=st.integers(0, 2**63 - 1),
    max_fee_per_gas=FEES,
    max_priority_fee_per_gas=FEES,
)


@given(number=st.integers(0, 1000), payment=PAYMENTS)
def test_signed_transaction_reads_back_as_what_was_signed(number: int, payment: Payment) -> None:
    account = SimulatedAccount(SeededRandom(7), "sender", number)

    signed = account.sign(payment)

    assert decode_transaction(signed.raw) == signed
    assert (signed.sender, signed.chain_id) == (account.address, DEVNET_ID)
    assert Wallet.recover_transaction(signed.raw).lower() == str(account.address)


def test_signature_is_the_one_that_a_wallet_makes() -> None:
    chance = SeededRandom(7)
    payment = Payment(5, Address(b"\x22" * 20), Wei(9), b"calldata", 50_000, Wei(10**10), Wei(7))
    fields: dict[str, Any] = {
        "chainId": DEVNET_ID,
        "nonce": 5,
        "to": bytes(payment.recipient or b""),
        "value": 9,
        "data": b"calldata",
        "gas": 50_000,
        "maxFeePerGas": 10**10,
        "maxPriorityFeePerGas": 7,
    }

    wallet = Wallet.sign_transaction(fields, chance.draw("sender", 3))

    assert SimulatedAccount(chance, "sender", 3).sign(payment).raw == bytes(wallet.raw_transaction)


def test_accounts_of_other_purpose_or_seed_have_other_keys() -> None:
    accounts = [
        SimulatedAccount(SeededRandom(7), "sender", 1),
        SimulatedAccount(SeededRandom(7), "sender", 2),
        SimulatedAccount(SeededRandom(7), "contract", 1),
        SimulatedAccount(SeededRandom(8), "sender", 1),
    ]

    assert len({account.address for account in accounts}) == 4


LENGTH = timedelta(hours=72)


def test_reports_are_the_same_each_time() -> None:
    one, other = (list(DemoReports(7, A_MOMENT, LENGTH).reports()) for _ in range(2))

    assert one == other


def test_reports_lie_in_their_time() -> None:
    reported = list(DemoReports(7, A_MOMENT, LENGTH).reports())

    assert all(A_MOMENT - LENGTH < each.at <= A_MOMENT for each in reported)


def test_reported_transactions_are_signed_for_the_simulated_network() -> None:
    reported = list(DemoReports(7, A_MOMENT, LENGTH).reports())

    assert len(reported) > 20
    assert {each.report.transaction.chain_id for each in reported} == {DEVNET_ID}


def test_reasons_are_plain_texts_whose_digests_outlast_the_store() -> None:
    reasons = [each.report.reason_message for each in DemoReports(7, A_MOMENT, LENGTH).reports()]

    assert ReasonTemplate.NO_COUNT in reasons
    assert {type(each) for each in reasons} == {str}
