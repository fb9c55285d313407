"""The two methods of the exclusion API, and status requests in their usual shape, read fast."""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache, partial
from struct import Struct
from typing import Annotated, Final, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Raw

from dashboard.domain.quantity import TxHash, shorten
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
from dashboard.wire.params import hex_bytes, one_argument, scalar_text
from dashboard.wire.transaction import LARGEST_NONCE

Word = TypeVar("Word", bound=StrEnum)
Parsed = TypeVar("Parsed")


def method_name(prefix: str, method: str) -> str:
    """Return a method's full name, such as ``linea_saveRejectedTransactionV1``."""
    return f"{prefix}_{method}"


class _AnswerJson(msgspec.Struct, rename="camel", omit_defaults=True):
    """Both shapes of an answer: upstream's own record, and the status of another gateway."""

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
"""Characters that are kept of a status, and of members that are not part of an answer."""

_OF_RECORD: Final = frozenset(
    {"txHash", "from", "nonce", "txRejectionStage", "reasonMessage", "timestamp", "blockNumber"}
)
_OF_EXCLUDED: Final = _OF_RECORD | {"status"}
_OF_STATUS: Final = frozenset({"txHash", "status", "blockNumber"})
_STAGES: Final = {each.value: each for each in WIRE_STAGES}


def decode_record(raw: bytes | Raw) -> RejectedTransaction | StatusClaim | None:
    """Read the result of `GET_STATUS`: a record, another status, or None where it is null."""
    members = read(_MEMBERS, raw, "exclusion record")
    return None if members is None else decode_members(members)


def decode_members(members: Mapping[str, Raw]) -> RejectedTransaction | StatusClaim:
    """Read a result of `GET_STATUS` that is not null.

    The members of each answer tell its shape. What is missing or null is unknown; what is there
    is read strictly. A block beside EXCLUDED is no block of the rejection, and zero is none at all.
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
    """Return the members that are neither null nor known, as one JSON object, word for word."""
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
    """Read a stage as the wire has it."""
    if text not in _STAGES:
        raise WireError(f"{shorten(text)} is none of {', '.join(WIRE_STAGES)}")
    return _STAGES[text]


def _word(words: type[Word], text: str) -> Word:
    try:
        return words(text)
    except ValueError as error:
        raise WireError(f"{shorten(text)} is none of {', '.join(words)}") from error


def encode_record(record: RejectedTransaction | None) -> bytes:
    """Write the result of `GET_STATUS`; a block number is shown for the SEQUENCER stage only.

    A record that leaves something out is written as the status EXCLUDED, with what it says.
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


def decode_hash_param(params: object) -> TxHash:
    """Read the params of `GET_STATUS`: a list with one hash, ``0x`` optional, in either case."""
    if not isinstance(params, list):
        raise WireError("params should be a list")
    complaint = "Hex string of transaction hash cannot be parsed"
    return named(complaint, _hash, one_argument(params))


def _hash(argument: object) -> TxHash:
    raw = hex_bytes(scalar_text(argument))
    if len(raw) != TxHash.LENGTH:
        raise WireError(f" expected to have {TxHash.LENGTH} bytes, but got {len(raw)}")
    return TxHash(raw)


_LENGTH: Final = 2 + 2 * TxHash.LENGTH
_HashText = Annotated[str, Meta(min_length=_LENGTH, max_length=_LENGTH)]


class _CallJson(msgspec.Struct, gc=False):
    """A call as most clients write it; `id` is no option, so that notifications do not fit."""

    jsonrpc: Literal["2.0"]
    method: Annotated[str, Meta(min_length=1)]
    params: tuple[_HashText]
    id: Raw


_CALL: Final = msgspec.json.Decoder(_CallJson)
_CALLS: Final = msgspec.json.Decoder(list[_CallJson])
_NO_ID: Final = (b"[", b"{", b"t", b"f")
"""First bytes of lists, objects and booleans, which are no ids."""

_LINE_OF_NO_ID: Final = tuple(b"\n" + start for start in _NO_ID)

_BEFORE: Final = b'{"jsonrpc":"2.0","id":'
_RESULT: Final = b',"result":'
_NULL: Final = b',"result":null}'
_BETWEEN_NULLS: Final = _NULL + b"," + _BEFORE
_NULLS_APART: Final = _NULL + b"\n" + _BEFORE


class StatusRequest(NamedTuple):
    """A message of calls of one method, each with a hash: ``0x`` and 64 digits, in either case.

    `heads` are the first four bytes of each hash as a number, least significant byte first.
    """

    method: str
    ids: Sequence[Raw]
    hashes: Sequence[str]
    heads: Sequence[int]
    is_batch: bool

    def tx_hash(self, place: int) -> TxHash:
        """Return the hash of one call."""
        return TxHash(unhexlify(self.hashes[place][2:]))

    def reply(self, results: Mapping[int, bytes]) -> bytes:
        """Write the reply: `results`, JSON by the place of its call, and null for all other calls.

        Runs of nulls are joined at once: they are long, and one by one they take most of the time.
        """
        parts: list[bytes] = []
        start = 0
        for place in sorted(results):
            parts += self._nulls(start, place)
            parts.append(b"%b%b%b%b}" % (_BEFORE, self.ids[place], _RESULT, results[place]))
            start = place + 1
        parts += self._nulls(start, len(self.ids))
        text = b",".join(parts)
        return b"[%b]" % text if self.is_batch else text

    def replies(self, results: Mapping[int, bytes]) -> list[bytes]:
        """Write a reply for each call; for what `decode_status_requests` has read."""
        texts = (_BEFORE + _NULLS_APART.join(self.ids) + _NULL).split(b"\n")
        for place, result in results.items():
            texts[place] = b"%b%b%b%b}" % (_BEFORE, self.ids[place], _RESULT, result)
        return texts

    def _nulls(self, start: int, stop: int) -> tuple[bytes, ...]:
        if start == stop:
            return ()
        return (_BEFORE + _BETWEEN_NULLS.join(self.ids[start:stop]) + _NULL,)


def decode_status_request(body: bytes) -> StatusRequest | None:
    """Read a message of the usual shape; None for every other, right or wrong."""
    if not body.isascii():  # msgspec does not look into the strings that it keeps raw
        return None
    try:
        if body.startswith(b"["):
            return _batch(_CALLS.decode(body))
        return _single(_CALL.decode(body))
    except (*UNREADABLE, ValueError):  # unhexlify raises ValueErrors
        return None


def decode_status_requests(bodies: Sequence[bytes]) -> StatusRequest | None:
    """Read messages of one call each as if they were a batch; None unless all are usual.

    There are as many braces, of either kind, as messages, and each message begins and ends with
    one: so none can contain a part of its neighbour, and none can be two.
    """
    count = len(bodies)
    text = b"[%b]" % b"\n,".join(bodies)
    is_flat = (
        text.startswith(b"[{")
        and text.endswith(b"}]")
        and text.count(b"{") == text.count(b"}") == count
        and text.count(b"\n") == text.count(b"}\n,{") == count - 1
    )
    lookup = decode_status_request(text) if is_flat else None
    return lookup if lookup is not None and len(lookup.ids) == count else None


def _single(call: _CallJson) -> StatusRequest | None:
    (text,) = call.params
    if not text.startswith("0x") or bytes(call.id).startswith(_NO_ID):
        return None
    head = int.from_bytes(unhexlify(text[2:])[:4], "little")
    return StatusRequest(call.method, (call.id,), call.params, (head,), is_batch=False)


def _batch(calls: Sequence[_CallJson]) -> StatusRequest | None:
    """Check all calls of a batch at once: one by one would take twice as long as reading them."""
    methods = {call.method for call in calls}
    ids = [call.id for call in calls]
    if len(methods) != 1 or not _are_ids(ids):
        return None
    hashes = [call.params[0] for call in calls]
    heads = _heads("".join(hashes), len(hashes))
    return (
        None if heads is None else StatusRequest(methods.pop(), ids, hashes, heads, is_batch=True)
    )


def _are_ids(values: Sequence[Raw]) -> bool:
    """Whether none of these JSON values is a list, an object or a boolean."""
    if b"".join(values).isdigit():  # nearly always; a fifth of the time of what follows
        return True
    lines = b"\n" + b"\n".join(values)
    return not any(odd in lines for odd in _LINE_OF_NO_ID)


def _heads(text: str, count: int) -> tuple[int, ...] | None:
    """Read `count` hashes written one after the other; None unless each begins with ``0x``.

    Overwriting each x, all at once, leaves a zero's digits before each hash: 3 µs for a thousand,
    where cutting the hashes out takes 160 µs. Any other x is no digit.
    """
    octets = bytearray(text, "ascii")
    if octets[::_LENGTH] != b"0" * count or octets[1::_LENGTH] != b"x" * count:
        return None
    octets[1::_LENGTH] = b"0" * count
    return _cutter(count).unpack(unhexlify(octets))


@lru_cache(maxsize=16)
def _cutter(count: int) -> Struct:
    """Return what takes four bytes out of each 33: a zero and a hash."""
    return Struct("<" + "xI28x" * count)
