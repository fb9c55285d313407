"""Messages and bytes of all kinds are answered in good form, and read as others read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from random import Random
from typing import Final
from uuid import UUID

import rlp  # type: ignore[import-untyped] # it has no types
from eth_account import Account
from eth_hash.auto import keccak
from websockets.sync.client import ClientConnection, connect

from dashboard.errors import WireError
from dashboard.store.rejections.counts import Grouping
from dashboard.wire.decoding import parse_timestamp
from dashboard.wire.jsonrpc import parse_message
from dashboard.wire.params import hex_bytes
from dashboard.wire.rejection_query import (
    decode_count,
    decode_cursor,
    decode_list,
    decode_subscribe,
    decode_versions,
)
from dashboard.wire.rejection_report import decode_report
from dashboard.wire.status_request import decode_hash_param
from dashboard.wire.transaction import Item, decode_transaction, items_of, whole_item
from tests.conformance.error_log import Watch, watching
from tests.conformance.generated_messages import Grammar
from tests.conformance.generated_params import ALL
from tests.conformance.generated_reports import Reports, damaged
from tests.conformance.reply_checks import check
from tests.conformance.running_apis import GET, LIMITS, UNKNOWN_HASH, Served, answer_over, apis
from tests.faults.rows import Chance, Play, Row

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
        return answer_over(self.socket, message, f"mark {next(self.marks)}", _PUSH)


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
        "valid, broken, nested, huge and hostile JSON-RPC arrives over HTTP and WebSocket: each"
        " message gets the replies that JSON-RPC requires, no status 5xx, no error in the log"
    ),
    short=500,
    full=60_000,
    stage=_conversing,
    cases_per_play=_MESSAGES,
)


_CASES: Final = 2_000
_REPORTS: Final = Reports()
_MOMENTS: Final = ("2026-11-20T12:00:00.304Z", "2026-11-20T12:00:00+01:00", "2026-02-29T00:00Z")
_SIGNS: Final = "0123456789-+:.TZtz eW٣,"
_DIGITS: Final = "0123456789abcdefABCDEFxXg \n٣"
_INSTALLATION: Final = UUID(int=7)


def _message(chance: Random) -> None:
    assert parse_message(Grammar(chance, _REPORTS, ALL).message(), 5).items


def _params(chance: Random) -> None:
    """Hand any params to any reader."""
    grammar = Grammar(chance, _REPORTS, ALL)
    with suppress(ValueError, RecursionError):
        params = json.loads(grammar.params(grammar.method()))
        for read in (
            *(decode_report, decode_hash_param, decode_list, decode_versions, decode_subscribe),
            lambda given: decode_count(given, Grouping),
            lambda given: decode_cursor(given, _INSTALLATION),
        ):
            with suppress(WireError):
                read(params)


def _rlp(chance: Random) -> None:
    """Agree with another reader of RLP on bytes that are nearly such."""
    text = damaged(chance, rlp.encode(_tree(chance, 3)))
    try:
        expected = rlp.decode(text, strict=True)
    except rlp.DecodingError:
        expected = None
    try:
        found = _tree_of(whole_item(text))
    except WireError:
        found = None
    assert found == (None if expected is None else _lists(expected)), text.hex()


def _transaction(chance: Random) -> None:
    """Agree with another library on who signed bytes that are nearly a transaction."""
    text = damaged(chance, chance.choice(_REPORTS.raw))
    try:
        found = decode_transaction(text)
    except WireError:
        return
    assert found.tx_hash == keccak(found.raw)
    other = str(found.sender)
    with suppress(Exception):  # the other library refuses more, and in many ways
        other = Account.recover_transaction(found.raw).lower()
    assert str(found.sender) == other, text.hex()


def _timestamp(chance: Random) -> None:
    """Agree with the standard library wherever it reads the text too."""
    text = _mutated(chance, chance.choice(_MOMENTS), _SIGNS)
    try:
        found = parse_timestamp(text)
    except WireError:
        return
    other = found
    with suppress(ValueError):
        other = datetime.fromisoformat(text.upper()).astimezone(UTC)
    assert found == other.replace(microsecond=other.microsecond // 1000 * 1000), text


def _hexadecimal(chance: Random) -> None:
    """Agree with the standard library."""
    text = _mutated(chance, f"0x{chance.randbytes(chance.randrange(40)).hex()}", _DIGITS)
    digits = text[2:] if text[:2] in {"0x", "0X"} else text
    is_right = len(digits) % 2 == 0 and digits.isascii() and (digits == "" or digits.isalnum())
    try:
        expected = bytes.fromhex(digits) if is_right else None
    except ValueError:
        expected = None
    try:
        found = hex_bytes(text)
    except WireError:
        found = None
    assert found == expected, text


_READERS: Final[tuple[Callable[[Random], None], ...]] = (
    *(_message, _params, _rlp, _transaction, _timestamp, _hexadecimal),
)


def _tree(chance: Random, depth: int) -> object:
    if depth and chance.random() < 0.5:
        return [_tree(chance, depth - 1) for _ in range(chance.randrange(5))]
    return chance.randbytes(chance.choice((0, 1, 1, 20, 55, 56, 300)))


def _tree_of(item: Item) -> object:
    return [_tree_of(member) for member in items_of(item)] if item.is_list else item.content


def _lists(value: object) -> object:
    return [_lists(member) for member in value] if isinstance(value, list | tuple) else value


def _mutated(chance: Random, text: str, signs: str) -> str:
    """Change, add or take out a few signs."""
    for _ in range(chance.randrange(4)):
        place = chance.randrange(len(text) + 1)
        text = text[:place] + chance.choice(("", chance.choice(signs))) + text[place + 1 :]
    return text


@contextmanager
def _reading(_folder: Path) -> Iterator[Play]:
    def play(chance: Chance) -> None:
        for _ in chance.cases(_CASES):
            chance.choice(_READERS)(chance)

    yield play


HOSTILE_BYTES = Row(
    name="hostile-bytes",
    promise=(
        "random bytes reach the parsers of JSON-RPC, reports, signed transactions, RLP, "
        "hexadecimal and times: each is read as other programs read it, or refused"
    ),
    short=4_000,
    full=200_000,
    stage=_reading,
    cases_per_play=_CASES,
)
