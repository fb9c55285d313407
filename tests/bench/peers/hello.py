"""The same server with an answer that never changes: what serving costs before any lookup.

`linewatch serve` in full: uvicorn with its settings, routing, key check, rate limits, rights of the
key, counters. But the body of a request is read and not looked into, and every answer is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dashboard.cli.main import main
from dashboard.domain.people.access import ApiKey
from dashboard.serve import router, server
from dashboard.serve.gas import GasApi
from dashboard.serve.rpc.dispatch import Dispatcher, MessageAnswer
from dashboard.serve.subscriptions import Session
from dashboard.transport.http_connection import json_reply
from dashboard.wire.params import GET_STATUS
from tests.bench.expected_replies import METHOD

CONSTANT: Final = b'{"jsonrpc":"2.0","id":1,"result":null}'


class Constant(Dispatcher):
    """Answers every message as if it were one lookup of a hash that is not on record."""

    async def answer(
        self,
        body: bytes,  # noqa: ARG002 - as its parent's
        caller: ApiKey,
        session: Session | None = None,  # noqa: ARG002 - as its parent's
    ) -> MessageAnswer:
        wait = self._key_limiter.admit(caller, 1)
        if self._key_limiter.allows(caller, GET_STATUS):
            self._counters.count_calls(METHOD, 1, 0)
        return MessageAnswer(CONSTANT, wait)

    async def answer_all(
        self, bodies: Sequence[bytes], caller: ApiKey, session: Session | None = None
    ) -> list[bytes | None]:
        return [(await self.answer(body, caller, session)).body for body in bodies]


class ConstantGas(GasApi):
    """Answers every question about fees with one body."""

    def answer(self, rest: Sequence[str], caller: ApiKey) -> Any:  # noqa: ANN401, ARG002 - as its parent's
        return json_reply(CONSTANT)


if __name__ == "__main__":
    # The product has no seam for this, and needs none.
    vars(router)["Dispatcher"] = Constant
    vars(server)["GasApi"] = ConstantGas
    main()
