"""An upstream that answers status questions over HTTP and WebSocket: a record for one in a hundred.

It is quick and answers at once, so what a client costs is its own.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from typing import Any, Final

from websockets.asyncio.server import ServerConnection, serve

from dashboard.domain.quantity import Address, TxHash
from dashboard.domain.rejections.exclusion import RejectedTransaction, RejectionStage
from dashboard.wire.decoding import parse_timestamp
from dashboard.wire.exclusion import encode_record
from dashboard.wire.status_request import decode_status_request

EVERY: Final = 100
_NUMBERS: Final = 1 << 64
_LENGTH: Final = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


def a_hash(number: int) -> TxHash:
    """Return the hash with this number, which its last bytes tell."""
    return TxHash(number.to_bytes(32, "big"))


def true_record(number: int) -> RejectedTransaction | None:
    """Return what the upstream holds of it; nothing of hashes that are no numbers."""
    if number % EVERY or number >= _NUMBERS:
        return None
    return RejectedTransaction(
        a_hash(number),
        Address(number.to_bytes(20, "big")),
        number,
        RejectionStage.SEQUENCER,
        "TX_MODULE_LINE_COUNT_OVERFLOW(EXT)",
        parse_timestamp("2026-11-20T12:00:00.250Z"),
        number,
    )


def answered(body: bytes) -> bytes:
    """Answer a message of status questions."""
    request = decode_status_request(body)
    if request is None:
        return json.dumps(_slowly(json.loads(body))).encode()
    found = {}
    for place, text in enumerate(request.hashes):
        if text.endswith(_ENDINGS):
            record = true_record(int(text, 16))
            if record is not None:
                found[place] = encode_record(record)
    return request.reply(found)


_ENDINGS: Final = tuple(f"{number:02x}" for number in range(0, 256, 4))
"""How the numbers of records end: multiples of a hundred are multiples of four."""


def _slowly(message: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(message, list):
        return [_slowly(each) for each in message]
    record = encode_record(true_record(int(message["params"][0], 16)))
    return {"jsonrpc": "2.0", "id": message["id"], "result": json.loads(record)}


class Answering(asyncio.Protocol):
    """One HTTP connection."""

    def __init__(self) -> None:
        self._got = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._got += data
        while (end := self._got.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._got, 0, end)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._got) < whole:
                return
            body = answered(bytes(self._got[end + 4 : whole]))
            del self._got[:whole]
            self._transport.writelines([_HEAD % len(body), body])


async def talk(connection: ServerConnection) -> None:
    """Answer one message after the other."""
    async for message in connection:
        given = message.encode() if isinstance(message, str) else message
        await connection.send(answered(given), text=True)


async def main(port: int, websocket_port: int) -> None:
    """Serve until the process ends."""
    loop = asyncio.get_running_loop()
    async with serve(talk, "127.0.0.1", websocket_port, compression=None, max_size=None):
        server = await loop.create_server(Answering, "127.0.0.1", port)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
