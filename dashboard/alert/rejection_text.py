"""The text of a message about a rejected transaction: why, by how much, and what changed since."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from typing import Final

from msgspec import Struct

from dashboard.domain.alerts.incident import NotifiedChange
from dashboard.domain.alerts.kinds.kind import IncidentText, Rows
from dashboard.domain.alerts.kinds.rejections import InclusionGrounds
from dashboard.domain.formatting import moment, moment_in, short_hash
from dashboard.domain.markup import unlinked, visible
from dashboard.domain.rejections.advice import advise
from dashboard.domain.rejections.exclusion import (
    CLOCK_IS_WRONG,
    UNDATED,
    EndedLimits,
    StoredRejection,
    or_unknown,
)
from dashboard.domain.rejections.line_limits import LineLimits
from dashboard.domain.rejections.reasons import Reason, explain, in_brief, overrun, parse_reason
from dashboard.domain.tracking.statements import statements_in_words

_LONGEST_REASON: Final = 1100
"""How many characters of a reason are quoted; the exclusion API takes at most 1024."""

_LONGEST_LABEL: Final = 60
_LONGEST_QUOTE: Final = 200
_UNKNOWN: Final = "a rejection was recorded"
_NOT_KEPT: Final = "The previous record is no longer stored, so the two cannot be compared."
_ACCEPTED: Final = (
    "One node may accept what another refuses. For some minutes a reorganisation of the chain "
    "can still remove the block."
)
_NOTHING: Final = "–"


class RejectionContext(Struct, frozen=True):
    """What a text about a rejection needs besides it, such as the network's visible name.

    `limits` are those of the network, for reasons that name none; times are in UTC and `zone`.
    """

    network: str
    limits: LineLimits
    zone: tzinfo


def describe_rejection(change: NotifiedChange, context: RejectionContext) -> IncidentText:
    """Say why a transaction was rejected; for a changed record, also what it said before."""
    reason = _reason_of(change.rejection, context)
    said = _UNKNOWN if reason is None else headline(reason)
    changed = _changed(change, context)
    happened = "has a new record" if change.is_changed_record else "was rejected"
    kicker = "Record changed" if change.is_changed_record else "Rejected"
    limits = _ended(change, context)
    explained = (
        "" if reason is None else explain(reason),
        "" if limits is None else limits.note,
        statements_in_words(change.statements),
    )
    is_lost = change.is_changed_record and change.previous is None
    return IncidentText(
        headline=said[0].upper() + said[1:],
        opening=f"{_subject_of_sentence(change)} {happened} on {context.network}: {said}.",
        page="lookup",
        rows=(*_identity(change), *_record_rows(change, context)),
        explanation=" ".join(filter(None, explained)),
        next_steps=_next_steps(reason, change.rejection, limits),
        **_quote(reason),
        kicker=f"{kicker} on {context.network}",
        subject=f"{_reported(change, said, changed)} · {name_of(change)} · {context.network}",
        preheader=_preheader(change, reason, changed, context),
        changed=changed,
        remark=_NOT_KEPT if is_lost else "",
    )


def describe_inclusion(change: NotifiedChange, context: RejectionContext) -> IncidentText:
    """Say in which block a transaction is that was rejected before."""
    grounds = change.transition.grounds
    rows: Rows = ()
    block, failed = "a block", ""
    reason = _reason_of(change.rejection, context)
    before = "rejected" if reason is None else f"rejected: {headline(reason)}"
    if isinstance(grounds, InclusionGrounds):
        block = f"block {grounds.block_number:,}"
        failed = "; it failed to execute" if grounds.is_successful is False else ""
        rows = (("Block", f"{grounds.block_number:,}"),)
    said = f"included in {block} after a rejection"
    said_by = statements_in_words(change.statements, has_receipt=True)
    return IncidentText(
        headline=said[0].upper() + said[1:],
        opening=f"{_subject_of_sentence(change)} is in {block} of {context.network}, although "
        f"a node rejected it before{failed}.",
        page="lookup",
        rows=(*_identity(change), *rows, *_record_rows(change, context)),
        explanation=f"{_ACCEPTED} {said_by}".strip(),
        changed=(("Status", before, f"included in {block}{failed}"),),
        kicker=f"Included on {context.network}",
        subject=f"{said[0].upper()}{said[1:]} · {name_of(change)} · {context.network}",
    )


def headline(reason: Reason) -> str:
    """Say the reason in a few words, without foreign text: ``ADD over limit 1.14 ×``."""
    times = overrun_text(reason)
    return f"{in_brief(reason)}{times and ' '}{times}"


def overrun_text(reason: Reason) -> str:
    """Format how many times the limit was needed; empty if that is not known."""
    times = overrun(reason)
    return "" if times is None else f"{times:,.2f} ×"


def name_of(change: NotifiedChange) -> str:
    """Return the label under which people track a transaction, or its short hash."""
    tx_hash = change.transition.subject.tx_hash
    return label_of(change) or ("no hash" if tx_hash is None else short_hash(tx_hash))


def label_of(change: NotifiedChange) -> str:
    """Return the label on one line, shortened, with invisible characters shown."""
    return unlinked(" ".join(change.label.split()), _LONGEST_LABEL)


def _quote(reason: Reason | None) -> dict[str, str]:
    """Return the reason as it was sent, or say that it would have contained a link."""
    text = "" if reason is None else unlinked(reason.text, _LONGEST_REASON)
    is_whole = reason is None or text == visible(reason.text, _LONGEST_REASON)
    title = "The reason as sent" if is_whole else "The reason as sent, its links disabled"
    return {"quote": text, "quote_title": title}


def _subject_of_sentence(change: NotifiedChange) -> str:
    tx_hash = change.transition.subject.tx_hash
    short = "" if tx_hash is None else short_hash(tx_hash)
    label = label_of(change)
    if label:
        return f"{label} ({short})" if short else label
    return f"Transaction {short}" if short else "A transaction"


def _reported(change: NotifiedChange, said: str, changed: tuple[tuple[str, str, str], ...]) -> str:
    """Return the beginning of the subject: the reason, or what has changed in the record."""
    if not change.is_changed_record:
        return said
    if any(label in {"Module", "Overrun", "Reason"} for label, _, _ in changed):
        return f"Now {said}"
    if changed:
        return f"{said}, {changed[0][0].lower()} changed"
    return f"Changed: {said}"


def _preheader(
    change: NotifiedChange,
    reason: Reason | None,
    changed: tuple[tuple[str, str, str], ...],
    context: RejectionContext,
) -> str:
    """Return what mail programs show beside the subject: the figures, or old and new."""
    if changed:
        return " · ".join(f"{label} {before} → {now}" for label, before, now in changed)
    said = [_figures(reason)]
    if change.rejection is not None and change.rejection.record.is_staged:
        said.append(f"stage {change.rejection.record.tx_rejection_stage}")
    if change.attempted_at is not None:
        said.append(f"attempted {moment_in(change.attempted_at, context.zone)}")
    tx_hash = change.transition.subject.tx_hash
    said.append("" if tx_hash is None else short_hash(tx_hash))
    return " · ".join(filter(None, said))


def _figures(reason: Reason | None) -> str:
    if reason is None or reason.limit is None:
        return "" if reason is None else explain(reason).rstrip(".")
    limit = f"limit {reason.limit:,}"
    return limit if reason.count is None else f"{reason.count:,} lines, {limit}"


def _identity(change: NotifiedChange) -> Iterator[tuple[str, str]]:
    """Yield what identifies the transaction and never changes."""
    if label := label_of(change):
        yield "Label", label
    if change.transition.subject.tx_hash is not None:
        yield "Transaction", str(change.transition.subject.tx_hash)


def _record_rows(change: NotifiedChange, context: RejectionContext) -> Iterator[tuple[str, str]]:
    if change.rejection is not None:
        record = change.rejection.record
        yield "Sender", or_unknown(record.sender)
        yield "Nonce", or_unknown(record.nonce)
    if change.attempted_at is not None:
        yield "Attempted", moment_in(change.attempted_at, context.zone)
    if change.rejection is not None:
        yield from _reason_rows(change.rejection, context)
        wrong = f". {CLOCK_IS_WRONG}" if change.rejection.is_dated_ahead else ""
        claimed = change.rejection.record.timestamp
        dated = "" if claimed is None else moment_in(claimed, context.zone)
        yield "Dated", f"{dated}, as the node claims{wrong}" if dated else UNDATED
        seen = moment_in(change.rejection.first_seen_at, context.zone)
        yield "First seen", f"{seen}, by Linewatch"


def _reason_rows(
    rejection: StoredRejection, context: RejectionContext
) -> Iterator[tuple[str, str]]:
    """Yield what may differ in another record of the same transaction, without empty lines."""
    record = rejection.record
    reason = _read(rejection, context)
    if reason.module is not None:
        yield "Module", reason.module
    if reason.count is not None:
        yield "Count", f"{reason.count:,} lines"
    if reason.limit is not None:
        source = "" if reason.limit_from is None else f", from {reason.limit_from}"
        yield "Limit", f"{reason.limit:,} lines{source}"
    if times := overrun_text(reason):
        yield "Overrun", times
    yield "Stage", str(record.tx_rejection_stage)
    if record.block_number is not None:
        yield "Block", str(record.block_number)


def _changed(change: NotifiedChange, context: RejectionContext) -> tuple[tuple[str, str, str], ...]:
    """Return the fields that differ from the record before: label, old and new.

    A limit that only one of the records names does not count as a change.
    """
    if not change.is_changed_record or change.previous is None or change.rejection is None:
        return ()
    versions = (change.previous, change.rejection)
    old, new = (dict(_compared_rows(each, context)) for each in versions)
    limits = {_read(each, context).limit for each in versions}
    labels = [each for each in new | old if each != "Limit" or len(limits) > 1]
    pairs = ((each, old.get(each, _NOTHING), new.get(each, _NOTHING)) for each in labels)
    return tuple(pair for pair in pairs if pair[1] != pair[2])


def _compared_rows(rejection: StoredRejection, context: RejectionContext) -> Rows:
    """Return the fields of a record; a reason that names no module is compared as it was sent."""
    record = rejection.record
    reason = _read(rejection, context)
    said = (("Reason", unlinked(reason.text, _LONGEST_QUOTE)),) if reason.module is None else ()
    dated = ("Dated", or_unknown(None if record.timestamp is None else moment(record.timestamp)))
    sender = (("Sender", or_unknown(record.sender)), ("Nonce", or_unknown(record.nonce)))
    return (*said, *_reason_rows(rejection, context), *sender, dated)


def _reason_of(rejection: StoredRejection | None, context: RejectionContext) -> Reason | None:
    return None if rejection is None else _read(rejection, context)


def _read(rejection: StoredRejection, context: RejectionContext) -> Reason:
    limits = context.limits.at(rejection.dated_at)
    return parse_reason(rejection.record.reason_message, limits)


def _ended(change: NotifiedChange, context: RejectionContext) -> EndedLimits | None:
    """Return the end of line limits as of the change."""
    if change.rejection is None:
        return None
    ended_at = context.limits.ended_at(change.transition.at)
    return EndedLimits.of(ended_at, change.rejection.dated_at)


def _next_steps(
    reason: Reason | None, rejection: StoredRejection | None, limits: EndedLimits | None
) -> tuple[str, ...]:
    if reason is None or rejection is None:
        return ()
    return advise(reason, rejection.record.nonce, limits=limits)
