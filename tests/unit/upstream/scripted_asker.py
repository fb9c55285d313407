"""Askers of our own that need no network: the upstream behind them is a function."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dashboard.domain.secret import Secret
from dashboard.errors import UpstreamUnreadable
from dashboard.upstream.budget import BudgetKeeper
from dashboard.upstream.endpoint import Charge, Endpoint

Call = dict[str, Any]

ENDPOINT = Endpoint("devnet test endpoint", Secret("http://127.0.0.1:1/v3/c4nary-of-the-path"))


class ScriptedAsker:
    """Answers each question with what `answer` makes of it: JSON to be, bytes, or an error.

    `asked` keeps the questions, each a list of calls; `limits` the bytes allowed for each.
    """

    def __init__(
        self,
        answer: Callable[[list[Call]], Any],
        scheme: str = "http",
        budget: BudgetKeeper | None = None,
    ) -> None:
        url = ENDPOINT.url.reveal().replace("http", scheme, 1)
        self.endpoint = replace(ENDPOINT, url=Secret(url), budget=budget)
        self.asked: list[list[Call]] = []
        self.limits: list[int] = []
        self._answer = answer

    def answers_with(self, answer: Callable[[list[Call]], Any]) -> None:
        """Answer otherwise from now on."""
        self._answer = answer

    async def post_json(self, body: bytes, limit: int, charge: Charge | None = None) -> bytes:
        """Answer like a real asker, its limit included."""
        async with self.endpoint.turn(charge):
            return self._answered(body, limit)

    def _answered(self, body: bytes, limit: int) -> bytes:
        question = json.loads(body)
        calls = question if isinstance(question, list) else [question]
        self.asked.append(calls)
        self.limits.append(limit)
        answer = self._answer(calls)
        if isinstance(answer, Exception):
            raise answer
        text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        if len(text) > limit:
            raise UpstreamUnreadable("too large")
        return text


def result(call: Call, value: object) -> dict[str, Any]:
    """Answer a call with a result."""
    return {"jsonrpc": "2.0", "id": call["id"], "result": value}


def fault(code: int, call: Call | None = None) -> dict[str, Any]:
    """Answer a call, or nobody's, with an error."""
    call_id = None if call is None else call["id"]
    return {"jsonrpc": "2.0", "id": call_id, "error": {"code": code, "message": "c4nary-text"}}
