"""A peer: batches of lookups done well with Starlette, msgspec and one statement for all hashes."""

from __future__ import annotations

import sys
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.bench.peers.record import (
    COLUMNS,
    NETWORK,
    key_check,
    oldest_visible,
    open_database,
    record,
    run,
)

QUERY: Final = f"""
SELECT {COLUMNS} FROM rejections WHERE tx_hash IN (%s) AND network_id = {NETWORK}
AND timestamp >= ? ORDER BY timestamp, rejection_id
"""  # noqa: S608 - made of constants


class Call(msgspec.Struct):
    """One JSON-RPC call, decoded straight into its type."""

    id: int | str
    method: str
    params: tuple[str]


def build_app(file: str, key: str) -> Starlette:
    """Answer batches from `file` whoever presents `key`."""
    database = open_database(file)
    is_right = key_check(key)
    decoder = msgspec.json.Decoder(list[Call])
    encoder = msgspec.json.Encoder()

    async def answer(request: Request) -> Response:
        if not is_right(request.path_params["key"]):
            return Response(status_code=401)
        calls = decoder.decode(await request.body())
        hashes = [bytes.fromhex(call.params[0].removeprefix("0x")) for call in calls]
        query = QUERY % ",".join("?" * len(hashes))
        # Later rows replace earlier ones, so that the newest claimed time remains.
        rows = database.execute(query, (*hashes, oldest_visible()))
        found: dict[bytes, dict[str, Any]] = {row[0]: record(row) for row in rows}
        replies = [
            {"jsonrpc": "2.0", "id": call.id, "result": found.get(tx_hash)}
            for call, tx_hash in zip(calls, hashes, strict=True)
        ]
        return Response(encoder.encode(replies), media_type="application/json")

    return Starlette(routes=[Route("/v3/{key}", answer, methods=["POST"])])


if __name__ == "__main__":
    run(build_app(sys.argv[2], sys.argv[3]), int(sys.argv[1]))
