"""Which rejections are looked for: by network, stage, module, sender, hash, text and time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple, Self

from dashboard.domain.exclusion import RejectionStage, StoredRejection
from dashboard.domain.quantity import Address, NetworkId, TxHash, shorten
from dashboard.domain.reason_parser import ReasonKind, parse_reason
from dashboard.errors import InputError

_BEGINNING: Final = re.compile(
    r"0[xX]([0-9a-fA-F]{4,64})(?:(?:…|\.\.\.)((?:[0-9a-fA-F]{2}){0,30}))?"
)
"""How a hash begins, the sign included that something was left out, and how it ends."""


class HashRange(NamedTuple):
    """Hashes from `lowest` to `highest`, both included, of which those fit that end with `end`."""

    lowest: TxHash
    highest: TxHash
    end: bytes = b""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read how a hash begins, as people copy it; InputError for fewer than four digits."""
        match = _BEGINNING.fullmatch(text)
        if match is None:
            raise InputError(
                f"{shorten(text)} is no beginning of a hash: give 0x and at least four "
                "hexadecimal digits"
            )
        return cls.beginning_with(match[1])._replace(end=bytes.fromhex(match[2] or ""))

    @classmethod
    def of(cls, tx_hash: TxHash) -> Self:
        """Return the range of one hash."""
        return cls(tx_hash, tx_hash)

    @property
    def only(self) -> TxHash | None:
        """The one hash that it holds, None where there may be several."""
        return self.lowest if self.lowest == self.highest else None

    @property
    def senders(self) -> tuple[Address, Address] | None:
        """The first and the last sender that begin alike; None where a sender is too short."""
        length = Address.LENGTH
        if self.lowest[length:].strip(b"\0") or self.highest[length:].strip(b"\xff"):
            return None
        return Address(self.lowest[:length]), Address(self.highest[:length])

    def __contains__(self, tx_hash: object) -> bool:
        """Whether a hash lies in the range and ends so."""
        if not isinstance(tx_hash, TxHash):
            return False
        return self.lowest <= tx_hash <= self.highest and tx_hash.endswith(self.end)

    @classmethod
    def beginning_with(cls, digits: str) -> Self:
        """Return the hashes that begin with these hexadecimal digits, of which 64 name one."""
        length = 2 * TxHash.LENGTH
        return cls(TxHash.parse(digits.ljust(length, "0")), TxHash.parse(digits.ljust(length, "f")))


@dataclass(frozen=True, slots=True)
class RejectionFilter:
    """What is looked for; what is None may be anything.

    `since` and `until`, both included, bound the arrival here: claimed times can be late, or
    made up; `claimed_since` and `claimed_until` bound those. `module` is the prover module that
    the reason names, as it is written there; an empty one finds reasons that name none. `text`
    stands in the reason as sent, in either case of ASCII letters. `network_ids` are the networks
    that may be seen at all. `label` is what people wrote at the transaction when they tracked it,
    the whole of it. `search` is what a person types: all its words stand in what pages show of the
    rejection, or it stands in the label. `beginning` is how the hash begins, or the sender. Only
    the store knows these three: `fits` passes them over.
    """

    network_id: NetworkId | None = None
    tx_rejection_stage: RejectionStage | None = None
    module: str | None = None
    reason_kind: ReasonKind | None = None
    sender: Address | None = None
    tx_hash: TxHash | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str = ""
    network_ids: frozenset[NetworkId] | None = None
    tx_hashes: HashRange | None = None
    claimed_since: datetime | None = None
    claimed_until: datetime | None = None
    label: str = ""
    search: str = ""
    beginning: HashRange | None = None

    def fits(self, rejection: StoredRejection) -> bool:
        """Whether this is what is looked for; the store's own search decides alike."""
        record = rejection.record
        return (
            self._names(rejection)
            and _is_between(rejection.first_seen_at, self.since, self.until)
            and _is_between(record.timestamp, self.claimed_since, self.claimed_until)
            and self._fits_reason(record.reason_message)
        )

    def _names(self, rejection: StoredRejection) -> bool:
        record = rejection.record
        is_visible = self.network_ids is None or rejection.network_id in self.network_ids
        return (
            is_visible
            and self.network_id in {None, rejection.network_id}
            and self.tx_rejection_stage in {None, record.tx_rejection_stage}
            and self.sender in {None, record.sender}
            and self.tx_hash in {None, record.tx_hash}
            and (self.tx_hashes is None or record.tx_hash in self.tx_hashes)
        )

    def _fits_reason(self, message: str) -> bool:
        if self.module is not None or self.reason_kind is not None:
            reason = parse_reason(message)
            if self.module is not None and (reason.module or "") != self.module:
                return False
            if self.reason_kind not in {None, reason.kind}:
                return False
        return not self.text or _folded(self.text) in _folded(message)


def _is_between(at: datetime, since: datetime | None, until: datetime | None) -> bool:
    return (since is None or at >= since) and (until is None or at <= until)


def _folded(text: str) -> bytes:
    """Lower ASCII letters only, as databases do."""
    return text.encode("utf-8", "surrogatepass").lower()
