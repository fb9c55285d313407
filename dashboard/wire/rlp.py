"""RLP, the encoding of signed transactions, read one level at a time (Yellow Paper, appendix B).

Nothing is read deeper than the caller asks, so that hostile nesting and endless lists cost
nothing; only the one canonical form of a value is accepted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dashboard.errors import WireError

_STRING: Final = 0x80
_LIST: Final = 0xC0
_LONGEST_SHORT: Final = 55


@dataclass(frozen=True, slots=True)
class Item:
    """A string or a list; `content` is what follows its header, `end` where it stops."""

    is_list: bool
    content: bytes
    end: int


def whole_item(text: bytes) -> Item:
    """Read the one item that `text` consists of."""
    item = _item_at(text, 0)
    if item.end != len(text):
        raise WireError(f"{len(text) - item.end} bytes follow the end of the RLP")
    return item


def items_of(parent: Item, most: int | None = None) -> list[Item]:
    """Read the members of a list, one level deep; more than `most` raise WireError."""
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
    """Put the header of a list before its members, which are encoded already."""
    return _header(_LIST, len(content)) + content


def encode_integer(value: int) -> bytes:
    """Encode an unsigned integer as the shortest big-endian string; zero is the empty one."""
    content = value.to_bytes((value.bit_length() + 7) // 8, "big")
    if len(content) == 1 and content[0] < _STRING:
        return content
    return _header(_STRING, len(content)) + content


def _header(kind: int, length: int) -> bytes:
    if length <= _LONGEST_SHORT:
        return bytes((kind + length,))
    size = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((kind + _LONGEST_SHORT + len(size),)) + size
