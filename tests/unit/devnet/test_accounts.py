"""Simulated accounts: their signatures are those of any wallet with their keys."""

from __future__ import annotations

from typing import Any

from eth_account import Account as Wallet
from hypothesis import given
from hypothesis import strategies as st

from dashboard.devnet.blockspace import Payment, SimulatedAccount
from dashboard.devnet.chain import SeededRandom
from dashboard.devnet.genesis import DEVNET_ID
from dashboard.domain.quantity import Address, Wei
from dashboard.wire.transaction import decode_transaction

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
