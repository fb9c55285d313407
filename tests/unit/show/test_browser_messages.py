"""Messages of browsers: one that would stop all pages does not reach Streamlit, all others do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pytest
from starlette.types import Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Common_pb2 import DoubleArray, FileURLsRequest, SInt64Array, StringArray
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates

from dashboard.show.browser_messages import BoundedMessages

MANY: Final = 10_001
GONE: Final = {"type": "websocket.disconnect", "code": 1001}


def widgets(*states: WidgetState) -> bytes:
    run = ClientState(widget_states=WidgetStates(widgets=states))
    octets: bytes = BackMsg(rerun_script=run).SerializeToString()
    return octets


def names(many: int) -> bytes:
    asked = FileURLsRequest(file_names=[""] * many)
    octets: bytes = BackMsg(file_urls_request=asked).SerializeToString()
    return octets


def nested(*numbers: int, content: bytes) -> bytes:
    """Return what is in the field of the last number, in that of the number before, and so on."""
    for number in reversed(numbers):
        content = tag(number) + length(len(content)) + content
    return content


def tag(number: int, wire_type: int = 2) -> bytes:
    return length(number << 3 | wire_type)


def length(number: int) -> bytes:
    last = number < 1 << 7
    return bytes([number]) if last else bytes([number & 0x7F | 0x80]) + length(number >> 7)


A_GROUP: Final = tag(99, 3) + nested(11, content=b"\xff") + tag(99, 4)
"""A field that Streamlit skips with all in it, such as a message that is none."""

BAD: Final = {
    "names of files": names(MANY),
    "widgets": widgets(*[WidgetState(id="a")] * MANY),
    "texts of one widget": widgets(
        WidgetState(id="a", string_array_value=StringArray(data=[""] * MANY))
    ),
    "numbers of one widget": widgets(
        WidgetState(id="a", int_array_value=SInt64Array(data=[0] * MANY))
    ),
    "fractions of one widget": widgets(
        WidgetState(id="a", double_array_value=DoubleArray(data=[0.5] * MANY))
    ),
    "JSON of one widget": widgets(WidgetState(id="a", json_value=f"[{'[],' * 4_000}[]]")),
    "JSON of one press": widgets(WidgetState(id="a", json_trigger_value=f"[{'[],' * 4_000}[]]")),
    "messages of which the last counts": (nested(11, content=b"") + nested(16, content=b"")) * MANY,
    "values of which the last counts": nested(
        11, 2, 1, content=(nested(9, content=b"") + nested(8, content=b"")) * MANY
    ),
    "fields that nobody knows": (tag(99, 0) + b"\x00") * MANY,
    "fields of four and of eight bytes": (tag(99, 5) + bytes(4) + tag(99, 1) + bytes(8)) * MANY,
    "after a group": A_GROUP + names(MANY),
    "no message, but only after its fields": names(MANY) + b"\xff",
}

GOOD: Final = {
    "a click": widgets(WidgetState(id="a", trigger_value=True)),
    "a paste of 4 MB": widgets(WidgetState(id="a", string_value="0x12 " * 800_000)),
    "a part of a chart": widgets(
        WidgetState(id="a", json_value=f'{{"zoomed": ["{"2026-11-30T12:00:00.000Z" * 2}"]}}'),
        WidgetState(id="b", string_value="0x12 " * 800_000),
    ),
    "a page of many widgets": widgets(
        *[WidgetState(id=f"$$ID-{number:032x}", bool_value=True) for number in range(2_000)]
    ),
    "a choice of many": widgets(
        WidgetState(id="a", string_array_value=StringArray(data=["0x12345678"] * 5_000))
    ),
    "names of many files": names(5_000),
    "no message": b"\xff" * 20_000,
    "no field": tag(1, 7) * 20_000,
    "a field that has no end": nested(11, content=b"\xff" * 20_000)[:-1],
}


async def reached(octets: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Return what reaches Streamlit of these messages, and what is sent to the browser."""
    coming, read, sent = iter([*octets, GONE]), list[Message](), list[Message]()

    async def receive() -> Message:
        return next(coming)

    async def send(message: Message) -> None:
        sent.append(message)

    async def streamlit(_: Scope, receive: Receive, _send: Send) -> None:
        while not read or read[-1]["type"] == "websocket.receive":
            read.append(await receive())

    await BoundedMessages(streamlit)({"type": "websocket"}, receive, send)
    return read, sent


@pytest.mark.parametrize("octets", BAD.values(), ids=BAD)
async def test_message_of_many_fields_reaches_nobody_and_ends_the_connection(octets: bytes) -> None:
    first, bad = ({"type": "websocket.receive", "bytes": each} for each in (names(1), octets))

    read, [closing] = await reached([first, bad, first])

    assert read == [first, {"type": "websocket.disconnect", "code": 1008}]
    assert (closing["type"], closing["code"]) == ("websocket.close", 1008)


@pytest.mark.parametrize("octets", GOOD.values(), ids=GOOD)
async def test_every_other_message_reaches_streamlit_as_it_is(octets: bytes) -> None:
    message = {"type": "websocket.receive", "bytes": octets}

    assert await reached([message, message]) == ([message, message, GONE], [])


async def test_text_reaches_streamlit_which_refuses_it() -> None:
    message = {"type": "websocket.receive", "text": "x" * 20_000}

    assert await reached([message]) == ([message, GONE], [])
