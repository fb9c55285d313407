"""Simulated accounts: keys derived from a seed, which sign EIP-1559 transactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import coincurve
from eth_hash.auto import keccak

from dashboard.devnet.chain import DEVNET_ID
from dashboard.devnet.seeded_random import SeededRandom
from dashboard.domain.exclusion import SignedTransaction
from dashboard.domain.quantity import Address, TxHash, Wei
from dashboard.wire.rlp import encode_integer, encode_list

_TYPE_1559: Final = b"\x02"
_NO_ACCESS_LIST: Final = encode_list(b"")
_LONGEST_SHORT: Final = 55


@dataclass(frozen=True, slots=True)
class Payment:
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


class SimulatedAccount:
    """An account whose key follows from the seed: worthless outside devnet."""

    def __init__(self, random: SeededRandom, purpose: str, number: int) -> None:
        """Derive the key; `purpose` and `number` distinguish the accounts of one seed."""
        self._key = coincurve.PrivateKey(random.draw(purpose, number))
        self.address = Address(keccak(self._key.public_key.format(compressed=False)[1:])[-20:])

    def sign(self, payment: Payment) -> SignedTransaction:
        """Sign; the same payment always gives the same bytes (RFC 6979)."""
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
