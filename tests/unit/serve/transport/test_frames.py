"""Frames are read as websockets' own parser reads them, and written as it writes them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol, Side

from dashboard.transport.frames import end_of_frame, read_texts, text_frames

LARGEST = 70_000
TEXTS = st.one_of(
    st.text().map(str.encode), st.integers(0, 700).map(lambda size: b"x" * size), st.binary()
)


def sent(text: bytes, opcode: Opcode = Opcode.TEXT, *, fin: bool = True) -> bytes:
    """Write a frame as a client does."""
    return Frame(opcode, text, fin).serialize(mask=True)


def parsed(data: bytes) -> tuple[list[bytes], bool]:
    """Let websockets read; return its messages and whether it is content with them."""
    protocol = Protocol(Side.SERVER, max_size=LARGEST)
    protocol.receive_data(data)
    messages = [bytes(each.data) for each in protocol.events_received() if isinstance(each, Frame)]
    return messages, protocol.parser_exc is None


@given(st.lists(TEXTS, max_size=5), st.integers(0, 40))
def test_texts_are_those_that_websockets_reads(texts: list[bytes], cut: int) -> None:
    data = b"".join(map(sent, texts))
    data = data[: len(data) - cut]

    taken, stop = read_texts(data, 0, LARGEST)

    messages, _ = parsed(data)
    rest, _ = parsed(data[stop:])
    assert taken + rest == messages
    assert all(map(_is_text, taken))
    assert not rest or not _is_text(rest[0])


def _is_text(message: bytes) -> bool:
    try:
        message.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(st.lists(st.tuples(st.sampled_from(Opcode), st.binary(max_size=300), st.booleans())))
def test_frames_end_where_websockets_ends_them(drawn: list[tuple[Opcode, bytes, bool]]) -> None:
    frames = [
        sent(text[:125] if opcode >= Opcode.CLOSE else text, opcode, fin=fin or opcode >= 8)
        for opcode, text, fin in drawn
    ]
    data = b"".join(frames)

    ends = [0]
    while ends[-1] < len(data) and (end := end_of_frame(data, ends[-1])) is not None:
        ends.append(end)

    assert [data[a:b] for a, b in pairwise(ends)] == frames


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(sent(b"ping", Opcode.PING), id="control"),
        pytest.param(sent(b"bytes", Opcode.BINARY), id="binary"),
        pytest.param(sent(b"begin", fin=False), id="fragment"),
        pytest.param(sent(b"end", Opcode.CONT), id="last fragment"),
        pytest.param(b"\xc1" + sent(b"p")[1:], id="compressed"),
        pytest.param(Frame(Opcode.TEXT, b"bare!").serialize(mask=False), id="unmasked"),
        pytest.param(sent(b"x" * (LARGEST + 1)), id="too long"),
        pytest.param(sent(b"x" * 65_536), id="eight bytes of length"),
        pytest.param(sent(b"\xff"), id="no UTF-8"),
        pytest.param(b"\x83\x80abcd", id="reserved"),
    ],
)
def test_whatever_is_no_whole_text_is_left(frame: bytes) -> None:
    data = sent(b"one") + frame + sent(b"two")

    taken = read_texts(data, 0, LARGEST)

    assert taken.texts == [b"one"]
    assert data[taken.stop :].startswith(frame[:2])


@pytest.mark.parametrize("size", [3, 200])
def test_text_that_is_not_whole_is_left(size: int) -> None:
    whole = sent(b"x" * size)

    taken = [read_texts(whole[:cut], 0, LARGEST) for cut in range(len(whole))]

    assert taken == [([], 0)] * len(whole)


def test_text_over_the_limit_of_messages_is_left() -> None:
    assert read_texts(sent(b"x" * 200), 0, 199) == ([], 0)
    assert read_texts(sent(b"x" * 200), 0, 200).texts == [b"x" * 200]


@pytest.mark.parametrize("size", [0, 125, 126, 65_535, 65_536])
def test_end_is_known_as_soon_as_the_head_is_whole(size: int) -> None:
    frame = sent(b"x" * size)
    head = 2 if size < 126 else 4 if size < 65_536 else 10

    ends = [end_of_frame(frame[:cut], 0) for cut in range(head + 2)]

    assert ends == [None] * head + [len(frame)] * 2


@given(st.lists(st.integers(0, 200) | st.sampled_from([125, 126, 65_535, 65_536])))
def test_replies_are_written_as_websockets_writes_them(sizes: list[int]) -> None:
    texts = [b"x" * size for size in sizes]

    written = text_frames(texts)

    assert written == b"".join(Frame(Opcode.TEXT, text).serialize(mask=False) for text in texts)
