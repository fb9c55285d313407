"""Signed transactions as bytes (RLP): their fields, and the sender recovered from the signature."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from coincurve import PublicKey
from eth_hash.auto import keccak
from msgspec import Struct

from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.rejections.exclusion import SignedTransaction
from dashboard.errors import WireError

_STRING: Final = 0x80
_LIST: Final = 0xC0
_LONGEST_SHORT: Final = 55


class Item(Struct, frozen=True):
    """A string or a list; `content` is what follows its header, `end` the position after it."""

    is_list: bool
    content: bytes
    end: int


def whole_item(text: bytes) -> Item:
    """Decode the single item that makes up `text`."""
    item = _item_at(text, 0)
    if item.end != len(text):
        raise WireError(f"{len(text) - item.end} bytes follow the end of the RLP")
    return item


def items_of(parent: Item, most: int | None = None) -> list[Item]:
    """Decode the members of a list, one level deep; WireError if there are more than `most`."""
    if not parent.is_list:
        raise WireError("a string stands where a list belongs")
    items: list[Item] = []
    position = 0
    while position < len(parent.content):
        if len(items) == most:
            raise WireError(f"the list has more than {most} members")
        items.append(_item_at(parent.content, position))
        position = items[-1].end
    return items


def _item_at(text: bytes, position: int) -> Item:
    if position >= len(text):
        raise WireError("the RLP is empty")
    first = text[position]
    if first < _STRING:
        return Item(is_list=False, content=text[position : position + 1], end=position + 1)
    is_list = first >= _LIST
    short = first - (_LIST if is_list else _STRING)
    start, length = position + 1, short
    if short > _LONGEST_SHORT:
        start, length = _long_length(text, position + 1, short - _LONGEST_SHORT)
    end = start + length
    if end > len(text):
        raise WireError(f"the RLP is cut off: {end - len(text)} bytes are missing")
    content = text[start:end]
    if not is_list and length == 1 and content[0] < _STRING:
        raise WireError("a byte below 0x80 must stand for itself")
    return Item(is_list, content, end)


def _long_length(text: bytes, position: int, size: int) -> tuple[int, int]:
    start = position + size
    length = int.from_bytes(text[position:start], "big")
    if text[position : position + 1] == b"\0" or length <= _LONGEST_SHORT:
        raise WireError("the length of an RLP item is not in its shortest form")
    return start, length


def encode_list(content: bytes) -> bytes:
    """Encode a list from its encoded members."""
    return _header(_LIST, len(content)) + content


def encode_integer(value: int) -> bytes:
    """Encode an unsigned integer as the shortest big-endian string; zero is the empty string."""
    content = value.to_bytes((value.bit_length() + 7) // 8, "big")
    if len(content) == 1 and content[0] < _STRING:
        return content
    return _header(_STRING, len(content)) + content


def _header(kind: int, length: int) -> bytes:
    if length <= _LONGEST_SHORT:
        return bytes((kind + length,))
    size = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((kind + _LONGEST_SHORT + len(size),)) + size


_LEGACY: Final = ("nonce", "gas price", "gas", "to", "value", "data", "v", "r", "s")
_FEES: Final = ("chain id", "nonce", "priority fee", "max fee", "gas", "to", "value", "data")
_SIGNATURE: Final = ("y parity", "r", "s")
_TYPED: Final[Mapping[int, tuple[str, ...]]] = {
    1: ("chain id", *_LEGACY[:6], "access list", *_SIGNATURE),
    2: (*_FEES, "access list", *_SIGNATURE),
    3: (*_FEES, "access list", "blob fee", "blob hashes", *_SIGNATURE),
    4: (*_FEES, "access list", "authorizations", *_SIGNATURE),
}
_MUST_HAVE_RECIPIENT: Final = frozenset({3, 4})

LARGEST_NONCE: Final = 2**64 - 2
"""EIP-2681."""
LARGEST_CHAIN_ID: Final = 2**63 - 1 - 36
"""EIP-2294."""
_CURVE_ORDER: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def decode_transaction(raw: bytes) -> SignedTransaction:
    """Decode a signed transaction and recover its sender, or raise WireError.

    `raw` of the result is the canonical form, whose keccak is the hash.
    """
    if not raw:
        raise WireError("it is empty")
    if raw[0] >= _LIST:
        return _legacy(raw)
    if raw[0] >= _STRING:
        return _typed(_unwrapped(raw))
    return _typed(raw)


def _unwrapped(raw: bytes) -> bytes:
    content = whole_item(raw).content
    if not content:
        raise WireError("it is empty")
    return content


def _typed(raw: bytes) -> SignedTransaction:
    kind = raw[0]
    names = _TYPED.get(kind)
    if names is None:
        raise WireError(f"transaction type 0x{kind:02x} is not known")
    body = whole_item(raw[1:])
    fields = _fields(body, names)
    if kind in _MUST_HAVE_RECIPIENT and not fields["to"].content:
        raise WireError(f"a transaction of type 0x{kind:02x} needs a recipient")
    unsigned = body.content[: fields[names[-4]].end]
    message = keccak(raw[:1] + encode_list(unsigned))
    parity = _integer(fields["y parity"], "y parity", 1)
    return _signed(raw, fields, _signer(fields, message, parity), _chain_id(fields["chain id"]))


def _legacy(raw: bytes) -> SignedTransaction:
    body = whole_item(raw)
    fields = _fields(body, _LEGACY)
    unsigned = body.content[: fields["data"].end]
    v = _integer(fields["v"], "v", LARGEST_CHAIN_ID * 2 + 36)
    if v in {27, 28}:
        message = keccak(encode_list(unsigned))
        return _signed(raw, fields, _signer(fields, message, v - 27), None)
    if v < 35:  # noqa: PLR2004 - EIP-155: v = 35 + 2 * chain id + parity
        raise WireError(f"v is {v}; it must be 27, 28 or at least 35")
    chain_id, parity = divmod(v - 35, 2)
    message = keccak(encode_list(unsigned + encode_integer(chain_id) + b"\x80\x80"))
    return _signed(raw, fields, _signer(fields, message, parity), NetworkId(chain_id))


def _signed(
    raw: bytes, fields: Mapping[str, Item], sender: Address, chain_id: NetworkId | None
) -> SignedTransaction:
    recipient = fields["to"].content
    return SignedTransaction(
        tx_hash=TxHash(keccak(raw)),
        sender=sender,
        recipient=Address(recipient) if recipient else None,
        nonce=_integer(fields["nonce"], "nonce", LARGEST_NONCE),
        chain_id=chain_id,
        raw=raw,
    )


def _signer(fields: Mapping[str, Item], message: bytes, parity: int) -> Address:
    r = _integer(fields["r"], "r", _CURVE_ORDER - 1)
    s = _integer(fields["s"], "s", _CURVE_ORDER - 1)
    signature = r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes((parity,))
    try:
        key = PublicKey.from_signature_and_message(signature, message, hasher=None)
    except ValueError as error:
        raise WireError("its signature belongs to no key") from error
    return Address(keccak(key.format(compressed=False)[1:])[-20:])


def _fields(body: Item, names: tuple[str, ...]) -> dict[str, Item]:
    items = items_of(body, most=len(names))
    if len(items) != len(names):
        raise WireError(f"it has {len(items)} members; this type has {len(names)}")
    fields = dict(zip(names, items, strict=True))
    for name, item in fields.items():
        _CHECKS.get(name, _check_number)(item, name)
    return fields


def _chain_id(item: Item) -> NetworkId:
    return NetworkId(_integer(item, "chain id", LARGEST_CHAIN_ID))


def _integer(item: Item, name: str, largest: int) -> int:
    if item.is_list or item.content[:1] == b"\0":
        raise WireError(f"{name} is not an integer in its shortest form")
    value = int.from_bytes(item.content[:33], "big")  # 33 bytes are larger than any number here
    if value > largest:
        raise WireError(f"{name} is larger than {largest}")
    return value


def _check_number(item: Item, name: str) -> None:
    _integer(item, name, 2**256 - 1)


def _check_data(item: Item, name: str) -> None:
    if item.is_list:
        raise WireError(f"{name} is a list; bytes belong there")


def _check_recipient(item: Item, name: str) -> None:
    if item.content or item.is_list:
        _check_bytes(item, name, Address.LENGTH)


def _check_bytes(item: Item, name: str, length: int) -> None:
    if item.is_list or len(item.content) != length:
        raise WireError(f"{name} is not {length} bytes long")


def _check_hashes(item: Item, name: str) -> None:
    for member in items_of(item):
        _check_bytes(member, name, TxHash.LENGTH)


def _check_access_list(item: Item, name: str) -> None:
    for entry in items_of(item):
        members = items_of(entry, most=2)
        if len(members) != 2:  # noqa: PLR2004 - EIP-2930: an address and its storage keys
            raise WireError(f"{name}: an entry has an address and a list of storage keys")
        _check_bytes(members[0], name, Address.LENGTH)
        _check_hashes(members[1], name)


def _check_authorizations(item: Item, name: str) -> None:
    for entry in items_of(item):
        members = items_of(entry, most=6)
        if len(members) != 6:  # noqa: PLR2004 - EIP-7702: chain, address, nonce, parity, r, s
            raise WireError(f"{name}: an entry has six members")
        _check_bytes(members.pop(1), name, Address.LENGTH)
        for member in members:
            _check_number(member, name)


_CHECKS: Final[Mapping[str, Callable[[Item, str], None]]] = {
    "to": _check_recipient,
    "data": _check_data,
    "access list": _check_access_list,
    "blob hashes": _check_hashes,
    "authorizations": _check_authorizations,
}
