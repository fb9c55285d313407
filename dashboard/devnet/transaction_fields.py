"""The fields of a signed transaction, which a node shows and checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dashboard.domain.quantity import Address, TxHash, Wei
from dashboard.errors import InputError
from dashboard.wire.rlp import Item, items_of, whole_item

_LEGACY, _ACCESS_LIST, _DYNAMIC_FEE = 0, 1, 2
_LIST_MARK: Final = 0xC0

# Positions of members by type: (fee cap, tip cap, gas, to, value, data, access list).
_PLACES: Final = {
    _LEGACY: (1, 1, 2, 3, 4, 5, None),
    _ACCESS_LIST: (2, 2, 3, 4, 5, 6, 7),
    _DYNAMIC_FEE: (3, 2, 4, 5, 6, 7, 8),
}

# EIP-2028, EIP-2930 and the Yellow Paper's appendix G.
_BASE_GAS: Final = 21_000
_DEPLOYMENT_GAS: Final = 32_000
_ZERO_BYTE_GAS: Final = 4
_BYTE_GAS: Final = 16
_LISTED_ADDRESS_GAS: Final = 2_400
_LISTED_KEY_GAS: Final = 1_900


@dataclass(frozen=True, slots=True)
class TransactionFields:
    """The fields of a transaction; of older types both fee caps are the gas price."""

    kind: int
    max_fee_per_gas: Wei
    max_priority_fee_per_gas: Wei
    gas: int
    recipient: Address | None
    value: int
    data: bytes
    access_list: tuple[tuple[Address, tuple[TxHash, ...]], ...]
    v: int
    r: int
    s: int

    def tip(self, base_fee_per_gas: Wei) -> Wei:
        """Return the priority fee per gas that it pays above `base_fee_per_gas`."""
        return Wei(min(self.max_priority_fee_per_gas, self.max_fee_per_gas - base_fee_per_gas))

    def price(self, base_fee_per_gas: Wei) -> Wei:
        """Return all that it pays per gas in a block with `base_fee_per_gas`."""
        return Wei(base_fee_per_gas + self.tip(base_fee_per_gas))

    def intrinsic_gas(self) -> int:
        """Return the gas that is used before code runs; devnet runs none."""
        zeros = self.data.count(0)
        return (
            _BASE_GAS
            + (_DEPLOYMENT_GAS if self.recipient is None else 0)
            + zeros * _ZERO_BYTE_GAS
            + (len(self.data) - zeros) * _BYTE_GAS
            + len(self.access_list) * _LISTED_ADDRESS_GAS
            + sum(len(keys) for _, keys in self.access_list) * _LISTED_KEY_GAS
        )


def read_fields(raw: bytes) -> TransactionFields:
    """Read a canonical encoding that was decoded before; InputError for types devnet lacks."""
    kind = _LEGACY if raw[0] >= _LIST_MARK else raw[0]
    if kind not in _PLACES:
        raise InputError(f"transaction type {kind} is not supported: send type 0, 1 or 2")
    members = items_of(whole_item(raw if kind == _LEGACY else raw[1:]))
    fee, tip, gas, to, value, data, listed = _PLACES[kind]
    return TransactionFields(
        kind=kind,
        max_fee_per_gas=Wei(_number(members[fee])),
        max_priority_fee_per_gas=Wei(_number(members[tip])),
        gas=_number(members[gas]),
        recipient=Address(members[to].content) if members[to].content else None,
        value=_number(members[value]),
        data=members[data].content,
        access_list=() if listed is None else _access_list(members[listed]),
        v=_number(members[-3]),
        r=_number(members[-2]),
        s=_number(members[-1]),
    )


def _number(item: Item) -> int:
    return int.from_bytes(item.content, "big")


def _access_list(item: Item) -> tuple[tuple[Address, tuple[TxHash, ...]], ...]:
    entries = (items_of(entry) for entry in items_of(item))
    return tuple(
        (Address(address.content), tuple(TxHash(key.content) for key in items_of(keys)))
        for address, keys in entries
    )
