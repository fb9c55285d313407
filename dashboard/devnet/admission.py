"""Transactions from outside: their fields, which enter the chain; each is on disk first."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from dashboard.devnet.blockspace import Blockspace, capacity
from dashboard.devnet.chain import GAS_LIMIT, Chain
from dashboard.devnet.genesis import DEVNET_ID, sync_folder
from dashboard.domain.quantity import Address, TxHash, Wei, format_gwei
from dashboard.domain.rejections.exclusion import SignedTransaction
from dashboard.errors import InputError, RoleError, StoreUnavailable
from dashboard.wire.transaction import Item, items_of, whole_item

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


LARGEST_TRANSACTION: Final = 128 * 1024
"""Bytes; larger ones are refused as most nodes do."""

_BLOCKS_AHEAD: Final = 43_200  # a day


class Admission:
    """Places transactions into coming blocks, and saves that before it returns."""

    def __init__(
        self, chain: Chain, blockspace: Blockspace, accepted: AcceptedTransactions
    ) -> None:
        """Place into the free gas of `chain`, beside its own transactions in `blockspace`."""
        self._chain = chain
        self._blockspace = blockspace
        self._accepted = accepted

    def send(self, transaction: SignedTransaction, head: int) -> None:
        """Accept a transaction as a node does, after the block `head`.

        InputError says what is wrong with it; StoreUnavailable that it could not be kept.
        """
        self._check_sender(transaction, head)
        self.place(transaction, head)

    def place(self, transaction: SignedTransaction, head: int) -> None:
        """Accept a transaction with any nonce, as the simulated senders use."""
        if self._accepted.find(transaction.tx_hash):
            raise InputError(f"already known: {transaction.tx_hash} was accepted before")
        _check_chain(transaction)
        fields = read_fields(transaction.raw)
        _check_gas(fields)
        block = self._first_block_for(transaction, fields, head + 1)
        self._accepted.append(AcceptedTransaction.of(transaction, block, fields.intrinsic_gas()))

    def next_nonce(self, sender: Address, until: int | None, head: int) -> int:
        """Return the nonce that follows `sender`'s own up to a block, or all accepted ones."""
        own = self._blockspace.next_nonce(
            sender, self._chain.block(head if until is None else until)
        )
        if own is not None:
            return own
        last = self._accepted.last_of(sender, until)
        return last.nonce + 1 if last else 0

    def _check_sender(self, transaction: SignedTransaction, head: int) -> None:
        sender, nonce = transaction.sender, transaction.nonce
        if self._accepted.find(transaction.tx_hash):
            return  # `place` has the better message
        if self._blockspace.next_nonce(sender, self._chain.block(head)) is not None:
            raise InputError(f"{sender} is one of devnet's own senders: use another account")
        due = self.next_nonce(sender, None, head)
        if nonce != due:
            side = "low" if nonce < due else "high"
            raise InputError(f"nonce too {side}: the next nonce of {sender} is {due}, not {nonce}")

    def _first_block_for(
        self, transaction: SignedTransaction, fields: TransactionFields, earliest: int
    ) -> int:
        previous = self._accepted.last_of(transaction.sender)
        first = max(earliest, previous.block if previous else 0)
        gas = fields.intrinsic_gas()
        for number in range(first, first + _BLOCKS_AHEAD):
            block = self._chain.block(number)
            if fields.max_fee_per_gas < block.base_fee_per_gas:
                continue
            if self._accepted.gas_in(number) + gas <= capacity(block):
                return number
        raise InputError(
            f"transaction underpriced: it pays at most {format_gwei(fields.max_fee_per_gas)} "
            "gwei, and the base fee stays above that for a day"
        )


def _check_chain(transaction: SignedTransaction) -> None:
    if transaction.chain_id is None:
        raise InputError("only replay-protected transactions are accepted: sign with a chain id")
    if transaction.chain_id != DEVNET_ID:
        raise InputError(
            f"invalid chain id: signed for {transaction.chain_id}, this chain is {DEVNET_ID}"
        )
    if len(transaction.raw) > LARGEST_TRANSACTION:
        raise InputError(f"oversized data: at most {LARGEST_TRANSACTION} bytes are accepted")


def _check_gas(fields: TransactionFields) -> None:
    if fields.max_priority_fee_per_gas > fields.max_fee_per_gas:
        raise InputError("max priority fee per gas higher than max fee per gas")
    if fields.gas > GAS_LIMIT:
        raise InputError(f"exceeds block gas limit: {fields.gas} is more than {GAS_LIMIT}")
    needed = fields.intrinsic_gas()
    if fields.gas < needed:
        raise InputError(f"intrinsic gas too low: it allows {fields.gas} and needs {needed}")


_FILE: Final = "accepted_transactions.jsonl"


class AcceptedTransaction(msgspec.Struct, frozen=True):
    """One accepted transaction and the block that includes it, which may still be to come."""

    block: int
    gas_used: int
    nonce: int
    tx_hash: bytes
    sender: bytes
    raw: bytes

    @classmethod
    def of(cls, transaction: SignedTransaction, block: int, gas_used: int) -> AcceptedTransaction:
        """Make the entry of `transaction` in block number `block`."""
        return cls(
            block=block,
            gas_used=gas_used,
            nonce=transaction.nonce,
            tx_hash=bytes(transaction.tx_hash),
            sender=bytes(transaction.sender),
            raw=transaction.raw,
        )


_ENTRY: Final = msgspec.json.Decoder(AcceptedTransaction)


class AcceptedTransactions:
    """An append-only file of lines, held in memory as well; used by one process at a time."""

    def __init__(self, folder: Path) -> None:
        """Open the file in `folder`, or begin one; RoleError where it cannot be used.

        A last line without an end was never acknowledged, and is dropped.
        """
        self._by_hash: dict[bytes, AcceptedTransaction] = {}
        self._by_block: defaultdict[int, list[AcceptedTransaction]] = defaultdict(list)
        self._by_sender: defaultdict[bytes, list[AcceptedTransaction]] = defaultdict(list)
        path = folder / _FILE
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            text = path.read_bytes() if path.exists() else b""
            self._length = text.rfind(b"\n") + 1
            self._load(path, text[: self._length])
            self._file = path.open("ab", buffering=0)
            self._file.truncate(self._length)
            sync_folder(folder)
        except OSError as error:
            raise RoleError(f"devnet cannot keep {path}: {error.strerror}") from error

    def append(self, entry: AcceptedTransaction) -> None:
        """Write `entry` durably, or raise StoreUnavailable and write nothing."""
        line = msgspec.json.encode(entry) + b"\n"
        try:
            written = self._file.write(line)
            os.fsync(self._file.fileno())
        except OSError as error:
            self._truncate()
            raise StoreUnavailable(
                f"devnet's accepted transactions cannot be written: {error.strerror}"
            ) from error
        if written != len(line):
            self._truncate()
            raise StoreUnavailable(
                "devnet's accepted transactions cannot be written: the disk is full"
            )
        self._length += len(line)
        self._remember(entry)

    def find(self, tx_hash: TxHash) -> AcceptedTransaction | None:
        """Return the entry with this hash."""
        return self._by_hash.get(bytes(tx_hash))

    def in_block(self, number: int) -> Sequence[AcceptedTransaction]:
        """Return the transactions of a block, in the order of acceptance."""
        return self._by_block.get(number, ())

    def gas_in(self, number: int) -> int:
        """Return the gas that they use in a block."""
        return sum(entry.gas_used for entry in self.in_block(number))

    def last_of(self, sender: Address, until: int | None = None) -> AcceptedTransaction | None:
        """Return the sender's entry with the highest nonce, in blocks up to `until` if given."""
        entries = self._by_sender.get(bytes(sender), ())
        seen = (entry for entry in entries if until is None or entry.block <= until)
        return max(seen, key=lambda entry: entry.nonce, default=None)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _load(self, path: Path, text: bytes) -> None:
        for number, line in enumerate(text.splitlines(), start=1):
            try:
                self._remember(_ENTRY.decode(line))
            except msgspec.DecodeError as error:
                raise RoleError(
                    f"line {number} of {path} is damaged ({error}): "
                    f"remove {path.parent} to begin a new devnet"
                ) from error

    def _remember(self, entry: AcceptedTransaction) -> None:
        self._by_hash[entry.tx_hash] = entry
        self._by_block[entry.block].append(entry)
        self._by_sender[entry.sender].append(entry)

    def _truncate(self) -> None:
        with suppress(OSError):
            self._file.truncate(self._length)
