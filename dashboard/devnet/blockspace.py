"""The chain's own transactions, which fill its blocks; signed only when requested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dashboard.devnet.accounts import Payment, SimulatedAccount
from dashboard.devnet.chain import GAS_LIMIT, Block, Chain
from dashboard.devnet.seeded_random import between
from dashboard.domain.exclusion import SignedTransaction
from dashboard.domain.quantity import Address, Wei

PLAIN_TRANSFER_GAS: Final = 21_000
SENDERS: Final = 64
"""More than a block has transactions, so that no account sends twice in one block."""

_DRAWS_EACH: Final = 8
_MICRO_ETHER: Final = 10**12


@dataclass(frozen=True, slots=True)
class Slot:
    """One of the chain's own transactions, before it is signed.

    `tip` is the priority fee per gas that it really pays. `gas_used` is less than what its
    block once planned where transactions from outside take their share of the block.
    """

    sender: int
    payment: Payment
    gas_used: int
    tip: Wei


class Blockspace:
    """The regular senders, who take turns: the chain's transaction n is nonce n // 64 of one."""

    def __init__(self, chain: Chain) -> None:
        """Derive the senders from the seed of `chain`."""
        self._random = chain.random
        self._accounts = [
            SimulatedAccount(chain.random, "sender", number) for number in range(SENDERS)
        ]
        self._numbers = {account.address: place for place, account in enumerate(self._accounts)}

    def slots(self, block: Block, taken: int = 0) -> list[Slot]:
        """Return the block's own transactions, best paying first; others use `taken` of its gas."""
        count = block.transaction_count
        octets = self._random.stream("slots", block.number, count * _DRAWS_EACH)
        weights = [16 + octets[place * _DRAWS_EACH] for place in range(count)]
        planned = _shares(block.gas_used, weights)
        actual = _shares(block.gas_used - taken, weights)
        slots = [
            self._slot(block, place, octets[place * _DRAWS_EACH :], planned[place], actual[place])
            for place in range(count)
        ]
        return sorted(slots, key=lambda slot: -slot.tip)

    def sign(self, slot: Slot) -> SignedTransaction:
        """Sign as the slot's sender; always the same bytes."""
        return self._accounts[slot.sender].sign(slot.payment)

    def next_nonce(self, address: Address, block: Block) -> int | None:
        """Return how often a regular sender had sent by the end of `block`; None for others."""
        number = self._numbers.get(address)
        if number is None:
            return None
        sent = block.first_transaction + block.transaction_count
        return (sent - number + SENDERS - 1) // SENDERS

    def _slot(self, block: Block, place: int, octets: bytes, planned: int, actual: int) -> Slot:
        nonce, sender = divmod(block.first_transaction + place, SENDERS)
        tip = _tip(block, octets)
        is_transfer = planned < 2 * PLAIN_TRANSFER_GAS
        payment = Payment(
            nonce=nonce,
            recipient=self._accounts[octets[3] % SENDERS].address,
            value=Wei(between(1, 10**6, octets[4:7]) * _MICRO_ETHER if is_transfer else 0),
            data=b"" if is_transfer else octets[4:8] + bytes(28) + octets[1:5],
            gas=planned * 5 // 4,
            max_fee_per_gas=Wei(2 * block.base_fee_per_gas + tip),
            max_priority_fee_per_gas=tip,
        )
        return Slot(sender, payment, actual, tip)


def capacity(block: Block) -> int:
    """Return how much of the block's gas transactions from outside may use."""
    return block.gas_used - block.transaction_count * PLAIN_TRANSFER_GAS


def _shares(gas: int, weights: list[int]) -> list[int]:
    """Split gas by weights, to the last unit; none gets less than a plain transfer needs."""
    spare, whole = gas - PLAIN_TRANSFER_GAS * len(weights), sum(weights)
    shares = [PLAIN_TRANSFER_GAS + spare * weight // whole for weight in weights]
    if shares:
        shares[-1] += gas - sum(shares)
    return shares


def _tip(block: Block, octets: bytes) -> Wei:
    """Mostly 0.05 to 2.6 gwei, now and then much more, and more where blocks are full."""
    tip = 50_000_000 + octets[1] ** 2 * 40_000
    if octets[2] > 250:  # noqa: PLR2004 - two in a hundred are urgent
        tip *= 4
    return Wei(tip * (GAS_LIMIT + block.gas_used) // GAS_LIMIT)
