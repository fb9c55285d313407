"""The two methods of the exclusion API, and their batches: a thousand calls in a millisecond."""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache, partial
from operator import attrgetter
from struct import unpack
from typing import Final, TypeVar

import msgspec
from msgspec import Raw

from dashboard.domain.quantity import TxHash, pack, shorten
from dashboard.domain.rejections.exclusion import (
    EXCLUDED,
    WIRE_STAGES,
    RejectedTransaction,
    RejectionStage,
    SaveStatus,
    StatusClaim,
)
from dashboard.errors import WireError
from dashboard.wire.decoding import UNREADABLE, format_timestamp, named, parse_timestamp, read
from dashboard.wire.node import parse_address, parse_bounded, parse_number, parse_tx_hash
from dashboard.wire.transaction import LARGEST_NONCE

Word = TypeVar("Word", bound=StrEnum)
Parsed = TypeVar("Parsed")


def method_name(prefix: str, method: str) -> str:
    """Return a method's full name, such as ``linea_saveRejectedTransactionV1``."""
    return f"{prefix}_{method}"


class _AnswerJson(msgspec.Struct, rename="camel", omit_defaults=True):
    """Both formats of an answer: upstream's own record, and the status of another gateway."""

    tx_hash: str | None = None
    sender: str | None = msgspec.field(name="from", default=None)
    nonce: str | None = None
    tx_rejection_stage: str | None = None
    reason_message: str | None = None
    timestamp: str | None = None
    block_number: str | None = None
    status: str | None = None


class _SavedJson(msgspec.Struct, rename="camel"):
    status: str
    tx_hash: str


_ANSWER: Final = msgspec.json.Decoder(_AnswerJson)
_MEMBERS: Final[msgspec.json.Decoder[dict[str, Raw] | None]] = msgspec.json.Decoder(
    dict[str, Raw] | None
)
_SAVED: Final = msgspec.json.Decoder(_SavedJson)

LONGEST_ADDED: Final = 16_000
"""Characters to keep of a status, and of members that are not part of an answer."""

_OF_RECORD: Final = frozenset(
    {"txHash", "from", "nonce", "txRejectionStage", "reasonMessage", "timestamp", "blockNumber"}
)
_OF_EXCLUDED: Final = _OF_RECORD | {"status"}
_OF_STATUS: Final = frozenset({"txHash", "status", "blockNumber"})
_STAGES: Final = {each.value: each for each in WIRE_STAGES}


def decode_record(raw: bytes | Raw) -> RejectedTransaction | StatusClaim | None:
    """Decode the result of `GET_STATUS`: a record, another status, or None for null."""
    members = read(_MEMBERS, raw, "exclusion record")
    return None if members is None else decode_members(members)


def decode_members(members: Mapping[str, Raw]) -> RejectedTransaction | StatusClaim:
    """Decode a result of `GET_STATUS` that is not null.

    The format follows from the members of each answer. A member that is missing or null is unknown;
    one that is present is parsed strictly. A block beside EXCLUDED is not the block of the
    rejection, and block zero counts as none.
    """
    answer = read(_ANSWER, msgspec.json.encode(members), "exclusion record")
    return named("exclusion record", partial(_said, members), answer)


def _said(members: Mapping[str, Raw], answer: _AnswerJson) -> RejectedTransaction | StatusClaim:
    is_excluded = answer.status == EXCLUDED
    block = _parsed(parse_number, answer.block_number)
    if answer.tx_rejection_stage is not None:
        known = _OF_EXCLUDED if is_excluded else _OF_RECORD
        return _record(answer, block, _added(members, known))
    if is_excluded:
        foreign = {"blockNumber"} if block else set()
        return _record(answer, None, _added(members, _OF_EXCLUDED - foreign))
    if answer.status is None:
        raise WireError("it has neither a txRejectionStage nor a status")
    tx_hash = _parsed(parse_tx_hash, answer.tx_hash)
    status = _kept(answer.status)
    return StatusClaim(status, tx_hash, block or None, _added(members, _OF_STATUS))


def _record(answer: _AnswerJson, block: int | None, added: str) -> RejectedTransaction:
    if answer.tx_hash is None:
        raise WireError("it names no txHash")
    stage = answer.tx_rejection_stage
    return RejectedTransaction(
        tx_hash=parse_tx_hash(answer.tx_hash),
        sender=_parsed(parse_address, answer.sender),
        nonce=_parsed(lambda text: parse_bounded(text, LARGEST_NONCE), answer.nonce),
        tx_rejection_stage=RejectionStage.UNKNOWN if stage is None else parse_stage(stage),
        reason_message=answer.reason_message or "",
        timestamp=_parsed(parse_timestamp, answer.timestamp),
        block_number=block,
        added=added,
    )


def _parsed(parse: Callable[[str], Parsed], text: str | None) -> Parsed | None:
    return None if text is None else parse(text)


def _added(members: Mapping[str, Raw], known: frozenset[str]) -> str:
    """Return unknown members that are not null, verbatim as one JSON object."""
    if members.keys() <= known:
        return ""
    more = {
        name: value
        for name, value in members.items()
        if name not in known and bytes(value) != b"null"
    }
    return _kept(msgspec.json.encode(more).decode(errors="replace")) if more else ""


def _kept(text: str) -> str:
    return text if len(text) <= LONGEST_ADDED else f"{text[:LONGEST_ADDED]}…"


def parse_stage(text: str) -> RejectionStage:
    if text not in _STAGES:
        raise WireError(f"{shorten(text)} is none of {', '.join(WIRE_STAGES)}")
    return _STAGES[text]


def _word(words: type[Word], text: str) -> Word:
    try:
        return words(text)
    except ValueError as error:
        raise WireError(f"{shorten(text)} is none of {', '.join(words)}") from error


def encode_record(record: RejectedTransaction | None) -> bytes:
    """Encode the result of `GET_STATUS`; a block number is included for the SEQUENCER stage only.

    An incomplete record is encoded as the status EXCLUDED, with the values that it has.
    """
    if record is None:
        return b"null"
    stage, at = record.tx_rejection_stage, record.timestamp
    block = record.block_number if stage is RejectionStage.SEQUENCER else None
    return msgspec.json.encode(
        _AnswerJson(
            tx_hash=str(record.tx_hash),
            sender=None if record.sender is None else str(record.sender),
            nonce=None if record.nonce is None else hex(record.nonce),
            tx_rejection_stage=None if stage is RejectionStage.UNKNOWN else stage,
            reason_message=record.reason_message,
            timestamp=None if at is None else format_timestamp(at),
            block_number=None if block is None else hex(block),
            status=None if record.is_whole else EXCLUDED,
        )
    )


def encode_saved(status: SaveStatus, tx_hash: TxHash) -> bytes:
    """Write the result of `SAVE_REJECTED`."""
    return msgspec.json.encode(_SavedJson(status, str(tx_hash)))


def decode_saved(raw: bytes | Raw) -> tuple[SaveStatus, TxHash]:
    """Read the result of `SAVE_REJECTED`."""
    return named("answer to a report", _saved, read(_SAVED, raw, "answer to a report"))


def _saved(saved: _SavedJson) -> tuple[SaveStatus, TxHash]:
    return _word(SaveStatus, saved.status), parse_tx_hash(saved.tx_hash)


LARGEST_BATCH: Final = 1000
"""The largest batch. The first id of a batch is a multiple of it, so all ids share a prefix."""

_MARK: Final = b"#"
"""Placeholder for the prefix that all ids of a batch share; no method and no hash contains it."""


def encode_status_batch(method: str, hashes: Sequence[TxHash], first_id: int) -> bytes:
    """Encode at most `LARGEST_BATCH` calls; `first_id` is a multiple of it."""
    template, length = _template(method)
    start = b"%d" % (first_id // LARGEST_BATCH)
    calls = (template[: length * len(hashes)] + b"]").replace(_MARK, start)
    return calls % unpack(f"{2 * TxHash.LENGTH}s" * len(hashes), hexlify(pack(hashes)))


@lru_cache(maxsize=8)
def _template(method: str) -> tuple[bytes, int]:
    """Return a full batch with placeholders for hashes, and the length of a call with its comma."""
    name = method.replace("%", "%%").encode("ascii")
    calls = [
        b'{"jsonrpc":"2.0","id":%b%03d,"method":"%b","params":["0x%%b"]}' % (_MARK, place, name)
        for place in range(LARGEST_BATCH)
    ]
    return b"[" + b",".join(calls), len(calls[0]) + 1


class _PlainReply(msgspec.Struct, gc=False):
    """A reply as nearly all are: a number as id, null or an object as result, and no error."""

    id: int
    result: dict[str, Raw] | None
    error: None = None


_PLAIN_REPLIES: Final = msgspec.json.Decoder(list[_PlainReply])


def decode_status_batch(
    body: bytes, first_id: int, count: int
) -> dict[int, RejectedTransaction | StatusClaim] | None:
    """Decode the results that are not null, by the index of their call.

    None unless every call has exactly one plain reply with its id, and there is nothing else:
    `decode_replies` then says what is wrong.
    """
    try:
        replies = _PLAIN_REPLIES.decode(body)
        results = {
            each.id - first_id: decode_members(each.result)
            for each in replies
            if each.result is not None
        }
    except (*UNREADABLE, WireError):
        return None
    asked = list(range(first_id, first_id + count))
    if [each.id for each in replies] != asked:
        replies.sort(key=attrgetter("id"))
        if [each.id for each in replies] != asked:
            return None
    return results
