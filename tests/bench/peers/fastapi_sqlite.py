"""A peer: the lookup written as FastAPI's documentation teaches, on the same SQLite file.

A model validates the call, a dependency checks the key, one statement reads the record. The
endpoint asks SQLite in the event loop: an indexed read takes less time than handing it to a
thread, so this is the faster of FastAPI's two ways.
"""

from __future__ import annotations

import sys
from typing import Any, Final, Literal

from fastapi import Depends, FastAPI, HTTPException
from pydantic import BaseModel

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
SELECT {COLUMNS} FROM rejections WHERE tx_hash = ? AND network_id = {NETWORK} AND timestamp >= ?
ORDER BY timestamp DESC, rejection_id DESC LIMIT 1
"""  # noqa: S608 - made of constants


class Call(BaseModel):
    """One JSON-RPC call."""

    jsonrpc: Literal["2.0"]
    id: int | str
    method: Literal["linea_getTransactionExclusionStatusV1"]
    params: tuple[str]


def build_app(file: str, key: str) -> FastAPI:
    """Answer from `file` whoever presents `key`."""
    app = FastAPI()
    database = open_database(file)
    is_right = key_check(key)

    def check_key(key: str) -> None:
        if not is_right(key):
            raise HTTPException(401)

    @app.post("/v3/{key}", dependencies=[Depends(check_key)])  # noqa: FAST003 - the dependency takes it
    async def answer(call: Call) -> dict[str, Any]:
        asked = bytes.fromhex(call.params[0].removeprefix("0x"))
        row = database.execute(QUERY, (asked, oldest_visible())).fetchone()
        return {"jsonrpc": "2.0", "id": call.id, "result": None if row is None else record(row)}

    return app


if __name__ == "__main__":
    run(build_app(sys.argv[2], sys.argv[3]), int(sys.argv[1]))
