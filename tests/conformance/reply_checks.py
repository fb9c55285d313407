"""A second reading of JSON-RPC 2.0, by Python's own `json`: which replies a message must get.

It shares no code with the product. Where two readers may differ with good reason (a number beyond
all use, half of a surrogate pair, endless nesting) it only looks at the form of the replies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

_HASH: Final = re.compile(r"0x[0-9a-f]{64}")
_QUANTITY: Final = re.compile(r"0x(0|[1-9a-f][0-9a-f]*)")
_TIMESTAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z", re.ASCII)
_RECORD: Final = {
    "txHash": _HASH,
    "from": re.compile(r"0x[0-9a-f]{40}"),
    "nonce": _QUANTITY,
    "txRejectionStage": re.compile("SEQUENCER|RPC|P2P"),
    "reasonMessage": re.compile(r"(?s).{0,1024}"),
    "timestamp": _TIMESTAMP,
    "blockNumber": _QUANTITY,
}
_STATUSES: Final = ("SAVED", "DUPLICATE_ALREADY_SAVED_BEFORE")
_CODES: Final = (-32700, -32600, -32601, -32602, -32005)
_LONGEST_PLAIN_NUMBER: Final = 19
_DEEPEST_PLAIN_NESTING: Final = 50


@dataclass(frozen=True)
class Number:
    """A number as it was written."""

    text: str


class Members(dict[str, Any]):
    """An object: the last of equal names counts, but a reader has to get past them all."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def read(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Read JSON with numbers kept as written; ValueError where it is none."""
    return json.loads(
        text,
        parse_int=Number,
        parse_float=Number,
        parse_constant=_refuse,
        object_pairs_hook=Members,
    )


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def check(message: bytes, answer: bytes | None, largest_batch: int) -> None:
    """Assert that an answer is what this message must get; None is no answer at all."""
    replies = _replies(answer)
    for reply in replies:
        _check_reply(reply)
    expected = expected_ids(message, largest_batch)
    if expected is None:
        return
    ids, is_batch = expected
    assert [reply["id"] for reply in replies] == ids, (message, answer)
    assert (answer or b"").startswith(b"[") == (is_batch and bool(ids)), (message, answer)


def _replies(answer: bytes | None) -> list[dict[str, Any]]:
    if answer is None:
        return []
    replies = read(answer.decode())
    assert replies, "an empty array is no answer"
    return replies if isinstance(replies, list) else [replies]


def expected_ids(message: bytes, largest_batch: int) -> tuple[list[Any], bool] | None:
    """Return the ids of the replies in their order, and whether they come in an array.

    None where this reader cannot tell.
    """
    try:
        content = read(message.decode())
    except RecursionError:
        return None
    except ValueError:
        return [None], False
    if any(_is_odd(_without_number_as_id(item)) for item in _items(content)):
        return None
    if not isinstance(content, list):
        return list(_id_of(content)), False
    if not content or len(content) > largest_batch:
        return [None], False
    return [each for item in content for each in _id_of(item)], True


def _id_of(item: Any) -> Iterator[Any]:  # noqa: ANN401 - any JSON value
    """Yield the id to be answered; null for what is no request, nothing for a notification."""
    is_request = (
        isinstance(item, dict)
        and item.get("jsonrpc") == "2.0"
        and isinstance(item.get("method"), str)
        and item["method"] != ""
        and isinstance(item.get("params", []), list | dict)
        and isinstance(item.get("id"), str | Number | None)
    )
    if not is_request:
        yield None
    elif "id" in item:
        yield item["id"]


def _items(content: Any) -> list[Any]:  # noqa: ANN401 - any JSON value
    return content if isinstance(content, list) else [content]


def _without_number_as_id(item: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Leave out a number that is only echoed, which may be any."""
    if isinstance(item, Members) and isinstance(item.get("id"), Number):
        return Members([pair for pair in item.pairs if pair[0] != "id"])
    return item


def _is_odd(value: Any, depth: int = 0) -> bool:  # noqa: ANN401 - any JSON value
    """Whether a reader may refuse this, though it is JSON by its grammar."""
    if depth > _DEEPEST_PLAIN_NESTING:
        return True
    if isinstance(value, Number):
        return len(value.text) > _LONGEST_PLAIN_NUMBER or abs(float(value.text)) > 2.0**63
    if isinstance(value, str):
        return any("\ud800" <= sign <= "\udfff" for sign in value)
    if isinstance(value, Members):
        value = [part for pair in value.pairs for part in pair]
    return isinstance(value, list) and any(_is_odd(each, depth + 1) for each in value)


def _check_reply(reply: dict[str, Any]) -> None:
    assert list(reply) in (["jsonrpc", "id", "result"], ["jsonrpc", "id", "error"]), reply
    assert reply["jsonrpc"] == "2.0"
    assert isinstance(reply["id"], str | Number | None), reply
    if "error" in reply:
        _check_error(reply["error"])
    else:
        _check_result(reply["result"])


def _check_error(error: dict[str, Any]) -> None:
    assert list(error) in (["code", "message"], ["code", "message", "data"]), error
    assert int(error["code"].text) in _CODES, error
    assert isinstance(error["message"], str), error
    assert error["message"], error


def _check_result(result: Any) -> None:  # noqa: ANN401 - any JSON value
    """Look at results of the two exclusion methods; of others only the form of the reply counts."""
    if isinstance(result, dict) and "status" in result:
        assert list(result) == ["status", "txHash"], result
        assert result["status"] in _STATUSES, result
        assert _HASH.fullmatch(result["txHash"]), result
    elif isinstance(result, dict) and "txHash" in result:
        names = list(_RECORD)
        assert list(result) in (names, names[:-1]), result
        wrong = [name for name in result if not _RECORD[name].fullmatch(result[name])]
        assert not wrong, (wrong, result)
        assert "blockNumber" not in result or result["txRejectionStage"] == "SEQUENCER"
