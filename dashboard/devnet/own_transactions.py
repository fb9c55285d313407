"""The chain's own transactions, which fill its blocks; simulated accounts sign them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

import coincurve
from eth_hash.auto import keccak
from msgspec import Struct

from dashboard.devnet.chain import GAS_LIMIT, Block, Chain, SeededRandom, between
from dashboard.devnet.genesis import DEVNET_ID
from dashboard.domain.quantity import Address, TxHash, Wei
from dashboard.domain.rejections.exclusion import SignedTransaction
from dashboard.wire.transaction import encode_integer, encode_list

# EIP-2028 and the Yellow Paper's appendix G.
PLAIN_TRANSFER_GAS: Final = 21_000
_DEPLOYMENT_GAS: Final = 32_000
_ZERO_BYTE_GAS: Final = 4
_BYTE_GAS: Final = 16

_TYPE_1559: Final = b"\x02"
_NO_ACCESS_LIST: Final = encode_list(b"")
_LONGEST_SHORT: Final = 55


class Payment(Struct, frozen=True):
    """A transaction to be signed; `recipient` is None for a deployment.

    `data` has two to 255 bytes, or none.
    """

    nonce: int
    recipient: Address | None
    value: Wei
    data: bytes
    gas: int
    max_fee_per_gas: Wei
    max_priority_fee_per_gas: Wei

    def tip(self, base_fee_per_gas: Wei) -> Wei:
        """Return the priority fee per gas that it pays on top of `base_fee_per_gas`."""
        return Wei(min(self.max_priority_fee_per_gas, self.max_fee_per_gas - base_fee_per_gas))

    def intrinsic_gas(self) -> int:
        """Return the gas that is used before code runs; devnet runs none."""
        zeros = self.data.count(0)
        deployment = _DEPLOYMENT_GAS if self.recipient is None else 0
        data = zeros * _ZERO_BYTE_GAS + (len(self.data) - zeros) * _BYTE_GAS
        return PLAIN_TRANSFER_GAS + deployment + data


class SimulatedAccount:
    """An account whose key follows from the seed: worthless outside devnet."""

    def __init__(self, random: SeededRandom, purpose: str, number: int) -> None:
        """Derive the key; `purpose` and `number` distinguish the accounts of one seed."""
        self._key = coincurve.PrivateKey(random.draw(purpose, number))
        self.address = Address(keccak(self._key.public_key.format(compressed=False)[1:])[-20:])

    def sign(self, payment: Payment) -> SignedTransaction:
        """Sign a payment; the same payment always gives the same bytes (RFC 6979)."""
        unsigned = b"".join(
            (
                encode_integer(DEVNET_ID),
                encode_integer(payment.nonce),
                encode_integer(payment.max_priority_fee_per_gas),
                encode_integer(payment.max_fee_per_gas),
                encode_integer(payment.gas),
                _encode_bytes(payment.recipient or b""),
                encode_integer(payment.value),
                _encode_bytes(payment.data),
                _NO_ACCESS_LIST,
            )
        )
        raw = _TYPE_1559 + encode_list(unsigned + self._signature(unsigned))
        return SignedTransaction(
            tx_hash=TxHash(keccak(raw)),
            sender=self.address,
            recipient=payment.recipient,
            nonce=payment.nonce,
            chain_id=DEVNET_ID,
            raw=raw,
        )

    def _signature(self, unsigned: bytes) -> bytes:
        digest = keccak(_TYPE_1559 + encode_list(unsigned))
        signature = self._key.sign_recoverable(digest, hasher=None)
        r, s = (int.from_bytes(part, "big") for part in (signature[:32], signature[32:64]))
        return encode_integer(signature[64]) + encode_integer(r) + encode_integer(s)


def _encode_bytes(content: bytes) -> bytes:
    """Encode a string of two to 255 bytes, or none."""
    if len(content) > _LONGEST_SHORT:
        return bytes((0xB8, len(content))) + content
    return bytes((0x80 + len(content),)) + content


SENDERS: Final = 64
"""More than the transactions of a block, so that no account sends twice in one block."""

_DRAWS_EACH: Final = 8
_MICRO_ETHER: Final = 10**12


class Slot(Struct, frozen=True):
    """One of the chain's own transactions, before it is signed.

    `tip` is the priority fee per gas that it really pays. `gas_used` is less than planned if
    transactions of the traffic take their share of the block.
    """

    sender: int
    payment: Payment
    gas_used: int
    tip: Wei


class Blockspace:
    """The regular senders, who take turns: transaction n of the chain is a nonce n // 64."""

    def __init__(self, chain: Chain) -> None:
        self._random = chain.random
        self._accounts = [
            SimulatedAccount(chain.random, "sender", number) for number in range(SENDERS)
        ]
        self._numbers = {account.address: place for place, account in enumerate(self._accounts)}

    def slots(self, block: Block, taken: int = 0) -> list[Slot]:
        """Return the block's own transactions, highest tip first; others use `taken` of its gas."""
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
        """Sign as the slot's sender; the bytes are always the same."""
        return self._accounts[slot.sender].sign(slot.payment)

    def next_nonce(self, address: Address, block: Block) -> int | None:
        """Return a regular sender's next nonce after `block`; None for other addresses."""
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


def _shares(gas: int, weights: list[int]) -> list[int]:
    """Split gas by weights without a rest; each gets at least the gas of a plain transfer."""
    spare, whole = gas - PLAIN_TRANSFER_GAS * len(weights), sum(weights)
    shares = [PLAIN_TRANSFER_GAS + spare * weight // whole for weight in weights]
    if shares:
        shares[-1] += gas - sum(shares)
    return shares


def _tip(block: Block, octets: bytes) -> Wei:
    """Return a tip, usually of 0.05 to 2.6 gwei, sometimes much more; higher if blocks are full."""
    tip = 50_000_000 + octets[1] ** 2 * 40_000
    if octets[2] > 250:  # noqa: PLR2004 - two in a hundred are urgent
        tip *= 4
    return Wei(tip * (GAS_LIMIT + block.gas_used) // GAS_LIMIT)


_NOTHING_PAID = Wei(0)


def gas_weighted(
    tips: Iterable[tuple[Wei, int]], percentiles: Sequence[Fraction]
) -> tuple[Wei, ...]:
    """Return priority fees at ascending `percentiles` of the gas of one block.

    `tips` are pairs of priority fee and gas used; without any, the result is zero. Like geth: the
    smallest tip by which that share of the gas was used.
    """
    ascending = sorted(tips)
    if not ascending:
        return (_NOTHING_PAID,) * len(percentiles)
    total = sum(gas for _, gas in ascending)
    rewards, place, counted = [], 0, ascending[0][1]
    for percentile in percentiles:
        while counted < int(percentile * total / 100) and place < len(ascending) - 1:
            place += 1
            counted += ascending[place][1]
        rewards.append(ascending[place][0])
    return tuple(rewards)
