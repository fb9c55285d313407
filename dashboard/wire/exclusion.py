"""The two methods of the exclusion API: names, records and acknowledgements.

The message of a WireError of `decode_hash_param` is that of the -32602 reply. Source of forms and
texts: Linea's transaction-exclusion service.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, TypeVar

import msgspec
from msgspec import Raw

from dashboard.domain.exclusion import RejectedTransaction, RejectionStage, SaveStatus
from dashboard.domain.quantity import TxHash, shorten
from dashboard.errors import WireError
from dashboard.wire.decoding import named, read
from dashboard.wire.hexadecimal import parse_address, parse_bounded, parse_number, parse_tx_hash
from dashboard.wire.params import hex_bytes, one_argument, scalar_text
from dashboard.wire.timestamp import format_timestamp, parse_timestamp
from dashboard.wire.transaction import LARGEST_NONCE

Word = TypeVar("Word", bound=StrEnum)

GET_STATUS: Final = "getTransactionExclusionStatusV1"
SAVE_REJECTED: Final = "saveRejectedTransactionV1"


def method_name(prefix: str, method: str) -> str:
    """Return a method's full name, such as ``linea_saveRejectedTransactionV1``."""
    return f"{prefix}_{method}"


class _RecordJson(msgspec.Struct, rename="camel", omit_defaults=True):
    tx_hash: str
    sender: str = msgspec.field(name="from")
    nonce: str
    tx_rejection_stage: str
    reason_message: str
    timestamp: str
    block_number: str | None = None


class _SavedJson(msgspec.Struct, rename="camel"):
    status: str
    tx_hash: str


_RECORD: Final[msgspec.json.Decoder[_RecordJson | None]] = msgspec.json.Decoder(_RecordJson | None)
_SAVED: Final = msgspec.json.Decoder(_SavedJson)


def decode_record(raw: bytes | Raw) -> RejectedTransaction | None:
    """Read the result of `GET_STATUS`: a record, or None where the answer is null."""
    record = read(_RECORD, raw, "exclusion record")
    return None if record is None else named("exclusion record", _record, record)


def _record(record: _RecordJson) -> RejectedTransaction:
    block = record.block_number
    return RejectedTransaction(
        tx_hash=parse_tx_hash(record.tx_hash),
        sender=parse_address(record.sender),
        nonce=parse_bounded(record.nonce, LARGEST_NONCE),
        tx_rejection_stage=_word(RejectionStage, record.tx_rejection_stage),
        reason_message=record.reason_message,
        timestamp=parse_timestamp(record.timestamp),
        block_number=None if block is None else parse_number(block),
    )


def _word(words: type[Word], text: str) -> Word:
    try:
        return words(text)
    except ValueError as error:
        raise WireError(f"{shorten(text)} is none of {', '.join(words)}") from error


def encode_record(record: RejectedTransaction | None) -> bytes:
    """Write the result of `GET_STATUS`; a block number is shown for the SEQUENCER stage only."""
    if record is None:
        return b"null"
    stage = record.tx_rejection_stage
    block = None
    if stage is RejectionStage.SEQUENCER and record.block_number is not None:
        block = hex(record.block_number)
    return msgspec.json.encode(
        _RecordJson(
            tx_hash=str(record.tx_hash),
            sender=str(record.sender),
            nonce=hex(record.nonce),
            tx_rejection_stage=stage,
            reason_message=record.reason_message,
            timestamp=format_timestamp(record.timestamp),
            block_number=block,
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
