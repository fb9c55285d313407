"""WebSocket frames (RFC 6455), many at once: reading whole texts, and writing them."""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

from websockets.speedups import apply_mask

MESSAGE_BATCHES: Final = "linewatch.bursts"
"""Our extension of ASGI: a `websocket.receive` or `websocket.send` may have `texts`, a list of
UTF-8 texts, each a message of its own."""

_WHOLE_TEXT: Final = 0x81
"""First byte of a text that is not fragmented, without extension bits."""

_MASKED: Final = 0x80
_LENGTH: Final = 0x7F
_MEDIUM: Final = 126
"""In place of a length: two bytes of it follow."""
_LARGE: Final = 127
"""In place of a length: eight bytes of it follow."""
_MEDIUM_END: Final = 1 << 16
_SHORTEST: Final = 6
_KEY: Final = 4

_SHORT_HEADS: Final = tuple(bytes((_WHOLE_TEXT, length)) for length in range(_MEDIUM))
_MEDIUM_HEAD: Final = Struct(">BBH")
_LARGE_HEAD: Final = Struct(">BBQ")


class ReadTexts(NamedTuple):
    """Texts that were read, and where the rest begins."""

    texts: list[bytes]
    stop: int


def read_texts(read: bytes, start: int, largest: int) -> ReadTexts:
    """Read whole text messages from `start` on, up to the first frame that is anything else.

    That is a frame which is incomplete, longer than `largest` or than 64 kB, a fragment, control
    or binary, without a mask, or with text that is no UTF-8.
    """
    texts: list[bytes] = []
    size = len(read)
    while size - start >= _SHORTEST and read[start] == _WHOLE_TEXT:
        length = read[start + 1] - _MASKED
        begin = start + _SHORTEST
        if length == _MEDIUM:
            length = read[start + 2] << 8 | read[start + 3]
            begin += 2
        elif not 0 <= length < _MEDIUM:
            break
        end = begin + length
        if end > size or length > largest:
            break
        text = apply_mask(read[begin:end], read[begin - _KEY : begin])
        if not (text.isascii() or _is_utf_8(text)):
            break
        texts.append(text)
        start = end
    return ReadTexts(texts, start)


def end_of_frame(read: bytes, start: int) -> int | None:
    """Return where the frame that begins at `start` will end; None while its head is incomplete."""
    if len(read) - start < 2:  # noqa: PLR2004 - the bytes that say how long the head is
        return None
    second = read[start + 1]
    length = second & _LENGTH
    begin = start + 2
    if length >= _MEDIUM:
        begin += 2 if length == _MEDIUM else 8
        if len(read) < begin:
            return None
        length = int.from_bytes(read[start + 2 : begin])
    return begin + length + (_KEY if second & _MASKED else 0)


class FrameProgress:
    """Whether a frame is unfinished, from all that is read of a connection, in order.

    `read` is how many bytes of an unfinished one there are.
    """

    __slots__ = ("_head", "_left", "read")

    def __init__(self) -> None:
        self._head = b""
        self._left = 0
        self.read = 0

    @property
    def is_unfinished(self) -> bool:
        """Whether a frame has begun that is not whole."""
        return self.read > 0

    def feed(self, piece: bytes) -> None:
        """Take what was read next."""
        data, self._head = self._head + piece, b""
        start = 0
        while start < len(data):
            if not self._left:
                self.read = 0
                end = end_of_frame(data, start)
                if end is None:
                    self._head = data[start:]
                    self.read = len(self._head)
                    return
                self._left = end - start
            step = min(self._left, len(data) - start)
            start += step
            self._left -= step
            self.read = self.read + step if self._left else 0


def text_frames(texts: Iterable[bytes]) -> bytes:
    """Write texts as a server does, each a frame without a mask."""
    parts: list[bytes] = []
    for text in texts:
        length = len(text)
        if length < _MEDIUM:
            parts.append(_SHORT_HEADS[length])
        elif length < _MEDIUM_END:
            parts.append(_MEDIUM_HEAD.pack(_WHOLE_TEXT, _MEDIUM, length))
        else:
            parts.append(_LARGE_HEAD.pack(_WHOLE_TEXT, _LARGE, length))
        parts.append(text)
    return b"".join(parts)


def _is_utf_8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
