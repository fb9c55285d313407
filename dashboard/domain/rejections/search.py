"""Searching rejections: what people type, the filter for it, and the words that pages show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import Final, NamedTuple, Self

from msgspec import Struct

from dashboard.domain.quantity import Address, NetworkId, TxHash, shorten
from dashboard.domain.rejections.exclusion import RejectionStage, StoredRejection
from dashboard.domain.rejections.node_rule_messages import NodeRule, beginnings_of
from dashboard.domain.rejections.reasons import (
    KIND_NAMES,
    Reason,
    ReasonKind,
    explain,
    in_brief,
    parse_reason,
)
from dashboard.domain.tracking.hashes_in_text import read_paste
from dashboard.errors import InputError

_BEGINNING: Final = re.compile(
    r"0[xX]([0-9a-fA-F]{4,64})(?:(?:…|\.\.\.)((?:[0-9a-fA-F]{2}){0,30}))?"
)
"""The beginning of a hash, optionally with an ellipsis and the end of the hash."""


class HashRange(NamedTuple):
    """Hashes from `lowest` to `highest`, both included, that end with `end`."""

    lowest: TxHash
    highest: TxHash
    end: bytes = b""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the beginning of a hash, as people copy it; InputError below four digits."""
        match = _BEGINNING.fullmatch(text)
        if match is None:
            raise InputError(
                f"{shorten(text)} is not the beginning of a hash: give 0x and at least four "
                "hexadecimal digits"
            )
        return cls.beginning_with(match[1])._replace(end=bytes.fromhex(match[2] or ""))

    @classmethod
    def of(cls, tx_hash: TxHash) -> Self:
        return cls(tx_hash, tx_hash)

    @property
    def only(self) -> TxHash | None:
        """The single hash in the range, None if there may be several."""
        return self.lowest if self.lowest == self.highest else None

    @property
    def senders(self) -> tuple[Address, Address] | None:
        """The first and last sender with the same beginning; None if it is too long for one."""
        length = Address.LENGTH
        if self.lowest[length:].strip(b"\0") or self.highest[length:].strip(b"\xff"):
            return None
        return Address(self.lowest[:length]), Address(self.highest[:length])

    def __contains__(self, tx_hash: object) -> bool:
        """Whether a hash lies in the range and has its end."""
        if not isinstance(tx_hash, TxHash):
            return False
        return self.lowest <= tx_hash <= self.highest and tx_hash.endswith(self.end)

    @classmethod
    def beginning_with(cls, digits: str) -> Self:
        """Return the range of hashes that begin with these hex digits; 64 digits are one hash."""
        length = 2 * TxHash.LENGTH
        return cls(TxHash.parse(digits.ljust(length, "0")), TxHash.parse(digits.ljust(length, "f")))


class RejectionFilter(Struct, frozen=True):
    """Which rejections to search; a field that is None allows anything.

    `since` and `until`, both included, limit the time of arrival, because claimed times can be late
    or false; `claimed_since` and `claimed_until` limit claimed times. `module` is the prover module
    as the reason writes it; an empty one finds reasons without a module. `text` is a part of the
    reason as sent, with ASCII letters in either case. `network_ids` are the networks that the
    caller may see. `label` is the whole label of the tracked transaction. `search` is what a person
    typed: all its words occur in what pages show of the rejection, or it occurs in the label.
    `beginning` is the beginning of the hash or of the sender. Only the store can check these last
    three: `fits` ignores them.
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
        """Whether a rejection matches; the store's own search gives the same result."""
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


def _is_between(at: datetime | None, since: datetime | None, until: datetime | None) -> bool:
    """Whether a moment lies within bounds; an unknown moment only if there are none."""
    if at is None:
        return since is until is None
    return (since is None or at >= since) and (until is None or at <= until)


def _folded(text: str) -> bytes:
    """Lower ASCII letters only, as databases do."""
    return text.encode("utf-8", "surrogatepass").lower()


LONGEST_SEARCH: Final = 200
"""Characters of a search."""

_IN_LINK: Final = re.compile(
    r"\S+/(?:address|account)s?/(0x[0-9a-fA-F]{40})(?:[/?#]\S*)?", re.ASCII
)


class Search(Struct, frozen=True):
    """What to look for: a hash, a sender, the beginning of either, or else `words`."""

    tx_hashes: HashRange | None = None
    sender: Address | None = None
    beginning: HashRange | None = None
    words: str = ""

    @property
    def named(self) -> HashRange | None:
        """The hash or sender as a range, whether whole or a beginning; None for words."""
        whole = None if self.sender is None else HashRange.beginning_with(self.sender.hex())
        return self.tx_hashes or self.beginning or whole


def parse_search(text: str) -> Search:
    """Recognise hashes and addresses, also in links; anything else is words."""
    text = text.strip()
    hashes = read_paste(text).hashes
    if len(hashes) == 1 and " " not in text:
        return Search(HashRange.of(hashes[0]))
    with suppress(InputError):
        return Search(sender=Address.parse(text))
    with suppress(InputError):
        return Search(beginning=HashRange.parse(text))
    in_link = _IN_LINK.fullmatch(text)
    if in_link is not None:
        return Search(sender=Address.parse(in_link[1]))
    return Search(words=text)


def label_in(text: str) -> str:
    """Return the whole label that a text asks for, as in "label:Payouts"; empty if it does not."""
    before, named, label = text.strip().partition(_LABEL)
    return label.strip() if named and not before else ""


def bare_beginning(text: str) -> HashRange | None:
    """Return the range for digits without 0x, which may also be a number or a word."""
    with suppress(InputError):
        return HashRange.parse(f"0x{text.strip()}")
    return None


_LABEL: Final = "label:"
_MOST_WORDS: Final = 40
_AROUND: Final = ".,;:()[]“”\"'…×?!"
_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+", re.ASCII)
_FACTOR: Final = re.compile(r"\d+\.\d{1,2}", re.ASCII)
_BESIDE_FACTOR: Final = ("times", "limit")
_COUNTED: Final = ("Transaction ",)
_UNCOUNTED: Final = ("TX_MODULE_LINE_COUNT_OVERFLOW",)
_NO_LINE: Final = " above the limit 0"


class ReasonForm(Struct, frozen=True):
    """Reasons that pages show with the same sentence, whose `words` are in lower case.

    A reason has this form if it has the `kind`, names a module or not as `has_module` says, begins
    with one of `beginnings`, if there are any, and ends with `ending`; if `is_barred`, it must not
    end so.
    """

    kind: ReasonKind
    words: str
    has_module: bool = False
    beginnings: tuple[str, ...] = ()
    ending: str = ""
    is_barred: bool = False


def words_of_search(text: str) -> tuple[str, ...]:
    """Return the words that must all match: in lower case, numbers without separators.

    The factor by which the limit was exceeded is not stored. It is ignored in a search with other
    words; alone, it finds every reason that pages show with a factor.
    """
    words = [_GROUPED.sub(_ungrouped, word.strip(_AROUND)).lower() for word in text.split()]
    wanted = [word for word in words if word and not _FACTOR.fullmatch(word)]
    if any(words) and not wanted:
        return _BESIDE_FACTOR
    return tuple(dict.fromkeys(wanted))[:_MOST_WORDS]


def forms_shown_with(word: str) -> tuple[ReasonForm, ...]:
    """Return the forms whose sentence contains this word, even as part of another word."""
    return tuple(form for form in _forms() if word in form.words)


def _ungrouped(match: re.Match[str]) -> str:
    return match[0].replace(",", "")


@cache
def _forms() -> tuple[ReasonForm, ...]:
    return (*_line_limit_forms(), *_rule_forms(), *_other_forms())


def _line_limit_forms() -> Iterator[ReasonForm]:
    over = ReasonKind.OVER_LIMIT
    yield ReasonForm(over, _page_words(Reason(over, "")))
    counted = _page_words(Reason(over, "", "", 1, 1))
    unprovable = _page_words(Reason(over, "", "", 1, 0))
    yield ReasonForm(over, counted, True, _COUNTED, _NO_LINE, is_barred=True)  # noqa: FBT003 - the record's own order
    yield ReasonForm(over, unprovable, True, _COUNTED, _NO_LINE)  # noqa: FBT003 - the record's own order
    # Limits come from the network's table here, so any of the sentences may be shown.
    limited, unlimited = Reason(over, "", "", limit=1), Reason(over, "", "")
    words = f"{_page_words(limited)} {_page_words(unlimited)} {unprovable}"
    yield ReasonForm(over, words, True, _UNCOUNTED)  # noqa: FBT003 - the record's own order


def _rule_forms() -> Iterator[ReasonForm]:
    for rule in NodeRule:
        words = _page_words(Reason(ReasonKind.OTHER_RULE, "", rule=rule))
        yield ReasonForm(ReasonKind.OTHER_RULE, words, beginnings=beginnings_of(rule))


def _other_forms() -> Iterator[ReasonForm]:
    undefined = Reason(ReasonKind.MODULE_UNDEFINED, "", "")
    yield ReasonForm(undefined.kind, _page_words(undefined), has_module=True)
    for kind in (ReasonKind.INVALID_COUNT, ReasonKind.UNPARSED):
        yield ReasonForm(kind, _page_words(Reason(kind, "")))


def _page_words(reason: Reason) -> str:
    """Return the words that pages add to a reason, without those of the message itself."""
    name = KIND_NAMES.get(reason.kind, "") if reason.module is None else "module"
    ours = re.sub(r"[\d,.;:()]+", " ", explain(reason))
    return f"{ours} {name} {in_brief(reason)}".lower()
