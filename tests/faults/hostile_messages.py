"""Messages of all kinds come over HTTP and WebSocket: each is answered in good form, no error left.

What a message must get, an independent reader of JSON-RPC says; that a server stays well shows in
its log, in its answers to honest calls between them, and at its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

from websockets.sync.client import ClientConnection, connect

from tests.conformance.error_log import Watch, watching
from tests.conformance.generated_messages import Grammar
from tests.conformance.generated_params import ALL
from tests.conformance.generated_reports import Reports
from tests.conformance.reply_checks import check
from tests.conformance.running_apis import GET, LIMITS, UNKNOWN_HASH, Served, apis
from tests.faults.rows import Chance, Play, Row
from tests.waiting import PATIENCE

_MESSAGES: Final = 250
_PUSH: Final = '{"jsonrpc":"2.0","method":"linewatch_subscription"'
"""How a message begins that nobody asked for."""


@dataclass
class Conversation:
    """A server under test, spoken to over both transports."""

    served: Served
    socket: ClientConnection
    watch: Watch
    reports: Reports
    marks: Iterator[int]

    def play(self, chance: Chance) -> None:
        """Send messages and check what each is answered."""
        grammar = Grammar(chance, self.reports, ALL)
        for _ in chance.cases(_MESSAGES):
            message = grammar.message()
            answer = self.post(message) if chance.random() < 0.5 else self.send(message)
            check(message, answer, LIMITS.largest_batch)
        assert self.served.result(GET, [UNKNOWN_HASH]) is None
        self.watch.check()

    def post(self, message: bytes) -> bytes | None:
        """Return what HTTP answers; None for no content."""
        if len(message) > LIMITS.largest_body:
            assert self.served.post(message).status_code == 413
            return self.post(b"")
        response = self.served.post(message)
        assert response.status_code == (200 if response.content else 204), (message, response)
        return response.content or None

    def send(self, message: bytes) -> bytes | None:
        """Return what comes over the socket before the answer to a mark; None for nothing."""
        if len(message) > LIMITS.largest_body:
            return self.post(message)
        try:
            self.socket.send(message.decode())
        except UnicodeDecodeError:
            self.socket.send(message)
        mark = f"mark {next(self.marks)}"
        self.socket.send(f'{{"jsonrpc":"2.0","id":"{mark}","method":"mark"}}')
        answers = []
        while mark not in (answer := str(self.socket.recv(timeout=PATIENCE))):
            if not answer.startswith(_PUSH):
                answers.append(answer.encode())
        assert len(answers) < 2, (message, answers)
        return answers[0] if answers else None


@contextmanager
def _conversing(folder: Path) -> Iterator[Play]:
    with (
        watching() as watch,
        apis(folder) as served,
        connect(served.ws_url, proxy=None) as socket,
    ):
        conversation = Conversation(served, socket, watch, Reports(), count())
        yield conversation.play
    watch.check()


HOSTILE_MESSAGES = Row(
    name="hostile-messages",
    promise=(
        "valid, nearly valid, broken, nested, huge and hostile JSON-RPC arrives over HTTP and "
        "WebSocket: each message gets the replies that JSON-RPC asks for, no status 5xx, no error "
        "in the log"
    ),
    short=1_500,
    full=60_000,
    stage=_conversing,
    cases_per_play=_MESSAGES,
)
