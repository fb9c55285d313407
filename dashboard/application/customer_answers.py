"""The answer to pass on to a customer: the templates in force, filled in with what is known."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlencode

from msgspec import Struct

from dashboard.application.context import ApplicationSubject
from dashboard.application.transaction_summary import NetworkFinding, TransactionSummary
from dashboard.domain.formatting import listed, moment
from dashboard.domain.markup import unlinked, visible
from dashboard.domain.people.access import Action, Actor
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.answer_template import (
    BUILT_IN,
    AnswerFile,
    AnswerFileState,
    AnswerTemplates,
    Voice,
    fill_in,
)
from dashboard.domain.rejections.customer_words import plain_answer, plain_cause, plain_steps
from dashboard.domain.rejections.exclusion import StoredRejection
from dashboard.domain.rejections.reasons import Reason, explain, overrun
from dashboard.domain.tracking.inclusion import FollowUp
from dashboard.domain.tracking.statements import statements_in_words
from dashboard.domain.tracking.verdict import VerdictKind
from dashboard.errors import InputError
from dashboard.store.access.audit_log import note_action

NOBODY_TO_ASK: Final = "No network with an exclusion endpoint is configured."
"""The answer if no network can be asked about a transaction."""

_NEVER_ANSWERED: Final = datetime.max.replace(tzinfo=UTC)


class AnswerTexts(ApplicationSubject):
    """The questions and acts about templates, which are one file."""

    def state(self) -> AnswerFileState:
        """Return the current file, or the built-in templates if no file is used."""
        file = self._context.settings.answers
        return AnswerFileState("the built-in templates") if file is None else file.read()

    def check(self, text: str) -> AnswerFileState:
        return self._file().check(text)

    def change(self, text: str | None, by: Actor, seen: AnswerFileState | None = None) -> None:
        """Replace the file by this text, or with None restore the built-in templates.

        InputError gives every mistake in the text, why the file cannot be written, or that it has
        changed since it was `seen`; then nothing is changed. The change is logged before it is
        made, so that no change lacks its record, even if this process dies between the two.
        """
        file = self._file()
        if text is not None and (mistakes := file.check(text).mistakes):
            raise InputError(f"it has a mistake: {'; '.join(mistakes)}")
        details = {"characters": len(text or "")}
        with file.staged(text) as put_in_force:
            found = file.read()
            if seen is not None and found.text != seen.text:
                raise InputError("the texts were changed by somebody else since you opened them")
            with self._context.store.write() as connection:
                act, where = Action.CHANGE_ANSWERS, found.source
                note_action(connection, by, act, where, details)
            put_in_force()

    def _file(self) -> AnswerFile:
        file = self._context.settings.answers
        if file is None:
            raise InputError("the templates cannot be changed here: use `linewatch answers`")
        return file


class AnswerContext(Struct, frozen=True):
    """What an answer contains besides what is known of the transaction.

    `now` is the time of the answer if nothing has answered yet. `case_id` is as a person gave it.
    `public_url` is where people open the pages; if it is empty, answers contain no link.
    """

    now: datetime
    case_id: str = ""
    public_url: str = ""
    templates: AnswerTemplates = BUILT_IN

    def case_id_of(self, summary: TransactionSummary) -> str:
        """Return the given case id, or else that of the tracked transaction."""
        return visible(self.case_id or summary.case_id)

    def link(self, tx_hash: TxHash) -> str:
        """Return the address of a transaction's look-up; empty without a public URL."""
        if not self.public_url:
            return ""
        case_id = f"&{urlencode({'case_id': self.case_id})}" if self.case_id else ""
        return f"{self.public_url.rstrip('/')}/lookup?tx={tx_hash}{case_id}"


class FindingGroup(Struct, frozen=True):
    """The answer of one network, or of several that answer the same; `finding` is one of theirs."""

    finding: NetworkFinding
    networks: str

    @property
    def kind(self) -> VerdictKind:
        return self.finding.verdict.kind

    @property
    def newest(self) -> StoredRejection | None:
        return self.finding.versions[0] if self.finding.versions else None

    @property
    def reason(self) -> Reason | None:
        return None if self.newest is None else self.finding.reason_of(self.newest)

    def plain(self) -> str:
        """Say for a customer what happened; a status in the text is shortened and unlinked."""
        return plain_answer(self.kind, self.finding.evidence, self.networks)

    def cause(self) -> str:
        """Say for a customer why; empty if there is no record. The text may quote a reason."""
        return "" if self.reason is None else plain_cause(self.reason)

    def steps(self) -> tuple[str, ...]:
        nonce = None if self.newest is None else self.newest.record.nonce
        known = self.finding.evidence
        return plain_steps(self.kind, self.reason, nonce, known.follow_up, known.ended_limits)


def finding_groups(summary: TransactionSummary) -> tuple[FindingGroup, ...]:
    """Return the different answers, sorted like `VerdictKind`, the most telling first.

    Networks with the same answer form one group, represented by the oldest of their answers.
    """
    groups: dict[Hashable, list[NetworkFinding]] = {}
    for each in summary.conclusive_findings():
        groups.setdefault(_answer_of(each), []).append(each)
    return tuple(sorted(map(_group, groups.values()), key=lambda each: each.kind.place))


def _answer_of(finding: NetworkFinding) -> Hashable:
    """Return a key that is equal for equal answers, whenever the network was asked."""
    known, kind, end = finding.evidence, finding.verdict.kind, finding.evidence.follow_up
    return (
        kind,
        tuple(
            (each.record, each.dated_at, each.is_dated_ahead, finding.reason_of(each))
            for each in finding.versions[:1]
        ),
        None if end is None else (end.inclusion, end.next_nonce, end.settled_at is None),
        None if finding.versions else (known.failing_since, known.failure),
        known.limits_ended_at if kind is VerdictKind.NO_LINE_LIMITS else known.ended_limits,
        statements_in_words(known.statements),
    )


def next_steps(groups: Sequence[FindingGroup]) -> Sequence[tuple[str, tuple[str, ...]]]:
    """Return what the sender can do, according to the leading verdict.

    Networks are named only if their steps differ.
    """
    leading = [(each.networks, each.steps()) for each in groups if each.kind is groups[0].kind]
    return leading if len({steps for _, steps in leading}) > 1 else [("", leading[0][1])]


def leading_verdict(summary: TransactionSummary) -> VerdictKind | None:
    """Return the verdict that leads; None if no network can be asked."""
    groups = finding_groups(summary)
    return groups[0].kind if groups else None


def _group(findings: Sequence[NetworkFinding]) -> FindingGroup:
    oldest = min(findings, key=lambda each: each.evidence.last_answered_at or _NEVER_ANSWERED)
    return FindingGroup(oldest, listed([_named(each) for each in findings]))


def _named(finding: NetworkFinding) -> str:
    name = visible(finding.profile.name)
    return f"{name} (simulated network)" if finding.profile.is_simulated else name


def answer_text(summary: TransactionSummary, voice: Voice, context: AnswerContext) -> str:
    """Format the text to paste for a customer or an engineer.

    It may quote a reason as the network sent it, so it is foreign text.
    """
    groups = finding_groups(summary)
    if not groups:
        return f"Transaction {summary.tx_hash}\n\n{NOBODY_TO_ASK}"
    template = context.templates.choose(voice, groups[0].kind)
    steps = dict(next_steps(groups))
    apart = [
        (each.networks, _values_of(each, steps.get(each.networks, steps.get("", ()))))
        for each in groups
    ]
    return fill_in(template, _values(summary, groups, context), apart)


def _values(
    summary: TransactionSummary, groups: Sequence[FindingGroup], context: AnswerContext
) -> Mapping[str, str]:
    """Return the values that all networks share; if verdicts differ, they are listed in order."""
    kinds = [each.kind.value for each in groups]
    return {
        "hash": str(summary.tx_hash),
        "case_id": unlinked(context.case_id_of(summary)),
        "network": "; ".join(each.networks for each in groups),
        "verdict": "; ".join(kinds if len(set(kinds)) > 1 else kinds[:1]),
        "answer": "\n".join(each.plain() for each in groups),
        "link": context.link(summary.tx_hash),
        "as_of": moment(_as_of(groups) or context.now),
    }


def _values_of(group: FindingGroup, steps: Sequence[str]) -> Mapping[str, str]:
    """Return the values that may differ between networks."""
    finding = group.finding
    rests_on = f"{finding.verdict.rests_on} {_follows(group)}".strip()
    return {
        "cause": group.cause(),
        "next_steps": _numbered(steps),
        "details": unlinked(rests_on),
        "technical_steps": _numbered(finding.next_steps()),
        **_record_values(group),
        "block": _block(group.newest, finding.evidence.follow_up),
    }


def _as_of(groups: Sequence[FindingGroup]) -> datetime | None:
    """Return the time of the latest answer, so that unchanged knowledge gives unchanged text."""
    known = [each.finding.evidence for each in groups]
    ends = [each.follow_up.answered_at for each in known if each.follow_up is not None]
    answers = [each.last_answered_at for each in known if each.last_answered_at is not None]
    return max(ends + answers, default=None)


def _follows(group: FindingGroup) -> str:
    """Return what follows, unless the next steps say it."""
    return "" if group.finding.next_steps() else group.finding.verdict.follows


def _record_values(group: FindingGroup) -> Mapping[str, str]:
    newest, reason = group.newest, group.reason
    if newest is None or reason is None:
        return {}
    record, factor = newest.record, overrun(reason)
    return {
        "explanation": explain(reason),
        "stage": str(record.tx_rejection_stage) if record.is_staged else "",
        "rejected_at": "" if record.timestamp is None else moment(record.timestamp),
        "reason": unlinked(reason.text),
        "module": reason.module or "",
        "count": "" if reason.count is None else f"{reason.count:,}",
        "limit": "" if reason.limit is None else f"{reason.limit:,}",
        "overrun": "" if factor is None else f"{factor:,.2f}",
        "sender": "" if record.sender is None else str(record.sender),
        "nonce": "" if record.nonce is None else str(record.nonce),
    }


def _block(newest: StoredRejection | None, end: FollowUp | None) -> str:
    if end is not None and end.inclusion is not None:
        return f"{end.inclusion.block_number:,}"
    number = None if newest is None else newest.record.block_number
    return "" if number is None else f"{number:,}"


def _numbered(steps: Sequence[str]) -> str:
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))
