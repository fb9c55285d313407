"""Look-ups: what a paste refers to, saved look-ups, and their answers as files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dashboard.application.context import ApplicationSubject
from dashboard.application.customer_answers import (
    AnswerContext,
    FindingGroup,
    answer_text,
    finding_groups,
    leading_verdict,
)
from dashboard.application.line_limits import LineLimitEnds
from dashboard.application.listing import Cell, Column, Listing, instant
from dashboard.application.network_status import NetworkProfile
from dashboard.application.rejections import rejection_form
from dashboard.application.transaction_summary import (
    NetworkFinding,
    TransactionSummary,
    read_transaction_summaries,
    with_unsaved,
)
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.answer_template import Voice
from dashboard.domain.rejections.exclusion import CLOCK_IS_WRONG, StoredRejection, or_unknown
from dashboard.domain.rejections.reasons import Reason
from dashboard.domain.rejections.search import (
    LONGEST_SEARCH,
    RejectionFilter,
    bare_beginning,
    parse_search,
)
from dashboard.domain.tracking.hashes_in_text import Paste, WrongText
from dashboard.domain.tracking.inclusion import FollowUp
from dashboard.store.engine.connection import Connection
from dashboard.store.evidence.record_answers import AnswersNotSaved, UnsavedAnswers
from dashboard.store.rejections.search import search
from dashboard.store.tracking.saved import save_lookup, saved_lookup
from dashboard.store.tracking.search import TrackedFilter, search_tracked

MOST_FOUND: Final = 25
"""The most transactions that words may find, and the most pieces of a paste that are searched."""

_ENOUGH: Final = MOST_FOUND + 1
_NEARLY_A_HASH: Final = 60
"""Characters from which a text is a hash that was copied wrongly, and is told what is wrong."""

_UNMATCHED: Final = "matches no known transaction; to ask the networks, give a whole hash"
_LEFT_OUT: Final = (
    "That refers to more transactions than these: the pages Tracked and Rejections list all."
)


class Lookups(ApplicationSubject):
    def save(self, hashes: Sequence[TxHash], by: Actor) -> str:
        """Save the hashes for a link to pass on; return the id in the link."""
        with self._context.store.write() as connection:
            return save_lookup(connection, hashes, by.at)

    def saved(self, lookup_id: str) -> tuple[TxHash, ...] | None:
        """Return the hashes of a saved look-up; None if it does not exist, or no longer."""
        with self._context.store.read() as connection:
            return saved_lookup(connection, lookup_id)

    def find(self, paste: Paste) -> Paste:
        """Replace text that is not a hash by the known transactions that it refers to.

        Part of a hash refers to the only rejected or tracked transaction that has it; a text that
        was pasted alone refers to everything that a search finds.
        """
        hashes, wrong, left_out = list(paste.hashes), list[WrongText](), ""
        is_alone = not hashes and len(paste.wrong) == 1
        with self._context.store.read_recent() as connection:
            for each in paste.wrong[:MOST_FOUND]:
                known, is_cut = _matching_hashes(connection, each.text, is_alone=is_alone)
                if len(known) == 1 or is_alone:
                    hashes += known
                    left_out = _LEFT_OUT if is_cut else ""
                if len(known) > 1 and not is_alone:
                    many = f"{len(known)} or more" if is_cut else f"{len(known)}"
                    why = f"matches {many} known transactions; give more digits"
                    wrong.append(replace(each, why=why))
                elif not known:
                    is_search = is_alone and len(each.text) < _NEARLY_A_HASH
                    wrong.append(replace(each, why=_UNMATCHED) if is_search else each)
        once = tuple(dict.fromkeys(hashes))
        repeated = paste.repeated + len(hashes) - len(once)
        return Paste(once, repeated, (*wrong, *paste.wrong[MOST_FOUND:]), left_out)

    def known(
        self, hashes: Sequence[TxHash], network_id: NetworkId | None = None
    ) -> list[TransactionSummary]:
        """Return what is stored of each hash, on one network or all."""
        profiles = [
            each
            for each in LineLimitEnds(self._context).networks()
            if network_id in {None, each.network_id}
        ]
        with self._context.store.read() as connection:
            return read_transaction_summaries(connection, profiles, hashes, self._context.now())

    def ask(
        self, look_up: LookUp, hashes: Sequence[TxHash], network_id: NetworkId | None
    ) -> LookupAnswer:
        """Ask as the pages do, store the answers, and return what is known then.

        If the store accepts nothing, no further portion is asked: its answers would be lost too.
        """
        unsaved: Sequence[UnsavedAnswers] = ()
        try:
            for _ in ask_in_portions(look_up, hashes, network_id):
                pass
        except AnswersNotSaved as error:
            unsaved = error.unsaved
        summaries = with_unsaved(self.known(hashes, network_id), unsaved)
        return LookupAnswer(summaries, tuple(dict.fromkeys(str(each.why) for each in unsaved)))


class LookupAnswer(Struct, frozen=True):
    """What is known of transactions; `unsaved` says why new answers could not be stored."""

    summaries: Sequence[TransactionSummary]
    unsaved: tuple[str, ...] = ()


def _matching_hashes(
    connection: Connection, text: str, *, is_alone: bool
) -> tuple[list[TxHash], bool]:
    """Return known hashes that a text refers to, `MOST_FOUND` at most, and whether there are more.

    It is searched for words if `is_alone`. One hash may have many versions, which are rows.
    """
    found = parse_search(text)
    hashes = found.tx_hashes or found.beginning or bare_beginning(text)
    if len(text) > LONGEST_SEARCH or not (hashes or is_alone):
        return [], False
    words = "" if hashes else found.words
    rejected = RejectionFilter(beginning=hashes, sender=found.sender, search=words)
    parts = [[each.record.tx_hash for each in search(connection, rejected, _ENOUGH)]]
    if found.sender is None:
        tracked = TrackedFilter(tx_hashes=hashes, search=words)
        named = TrackedFilter(case_id=text.strip())  # "1742" may as well begin a hash
        parts += (
            [each.tx_hash for each in search_tracked(connection, wanted, _ENOUGH)]
            for wanted in (named, tracked)
        )
    known = list(dict.fromkeys(chain.from_iterable(parts)))
    is_cut = len(known) > MOST_FOUND or any(len(part) == _ENOUGH for part in parts)
    return known[:MOST_FOUND], is_cut


LookUp: TypeAlias = Callable[[tuple[TxHash, ...], NetworkId | None], None]
"""Asks upstream about hashes now, on one network or all, and stores the answers. It has its own
deadline and raises nothing for upstream trouble."""

AT_ONCE: Final = 500
"""Hashes of one question: a gateway answers them within its deadline, even in small batches."""


def ask_in_portions(
    look_up: LookUp, hashes: Sequence[TxHash], network_id: NetworkId | None = None
) -> Iterator[int]:
    """Ask about many hashes, each portion within its own deadline; yield how many are done."""
    for begin in range(0, len(hashes), AT_ONCE):
        some = tuple(hashes[begin : begin + AT_ONCE])
        look_up(some, network_id)
        yield begin + len(some)


def asking_cost(networks: Sequence[NetworkProfile], count: int) -> str:
    """Say what it costs to ask once about so many transactions; empty if it is free."""
    costs = {each.name: each.cost.of_question.credits for each in networks if each.has_exclusion}
    charged = {name: credits_ for name, credits_ in costs.items() if credits_}
    if not charged:
        return ""
    total = count * sum(charged.values())
    names = ", ".join(f"{credits_:,} on {name}" for name, credits_ in charged.items())
    return f"Asking costs {total:,} credits: for each transaction {names}."


class LookedUp(NamedTuple):
    """A transaction with its findings in groups, the leading one first."""

    summary: TransactionSummary
    groups: Sequence[FindingGroup]

    @classmethod
    def of(cls, summary: TransactionSummary) -> LookedUp:
        return cls(summary, finding_groups(summary))

    @property
    def main(self) -> FindingGroup | None:
        return self.groups[0] if self.groups else None

    @property
    def leading(self) -> Sequence[FindingGroup]:
        """All groups with the leading verdict, which networks may give for different reasons."""
        return [each for each in self.groups if each.kind is self.groups[0].kind]


def lookup_form(summaries: Sequence[TransactionSummary], context: AnswerContext) -> dict[str, Any]:
    """Return all that is known of the transactions, with both texts, for programs."""
    forms = [_form(each, context) for each in summaries]
    return {"asOf": instant(context.now), "transactions": forms}


def lookup_json(summaries: Sequence[TransactionSummary], context: AnswerContext) -> str:
    """Format the same as indented ASCII, which contains no control or bidirectional characters."""
    return json.dumps(lookup_form(summaries, context), indent=2, ensure_ascii=True)


def lookup_csv(summaries: Sequence[TransactionSummary], context: AnswerContext) -> str:
    """Format one line for each transaction, with its text for the customer."""
    return lookup_file(context).csv(map(LookedUp.of, summaries))


def lookup_file(context: AnswerContext) -> Listing[LookedUp]:
    return Listing(
        "transactions",
        (
            Column("case_id", lambda each: context.case_id_of(each.summary)),
            Column("tx_hash", lambda each: str(each.summary.tx_hash)),
            Column("verdict", lambda each: each.main.kind.value if each.main else None),
            Column("network", lambda each: "; ".join(group.networks for group in each.groups)),
            Column("answer", lambda each: " ".join(group.plain() for group in each.groups)),
            Column("cause", lambda each: _of_each(each, lambda group: group.cause() or None)),
            _record_column("module", lambda _, reason: reason.module),
            _record_column("stage", lambda stored, _: stored.record.tx_rejection_stage.value),
            _record_column(
                "rejected_at", lambda stored, _: or_unknown(instant(stored.record.timestamp))
            ),
            _record_column(
                "remark", lambda stored, _: CLOCK_IS_WRONG if stored.is_dated_ahead else None
            ),
            _record_column("sender", lambda stored, _: or_unknown(stored.record.sender)),
            _record_column("nonce", lambda stored, _: or_unknown(stored.record.nonce)),
            _record_column("reason", lambda _, reason: reason.text),
            Column(
                "customer_text",
                lambda each: " ".join(answer_text(each.summary, Voice.CUSTOMER, context).split()),
            ),
        ),
    )


def _record_column(name: str, say: Callable[[StoredRejection, Reason], Cell]) -> Column[LookedUp]:
    """Return a column about the newest record; empty if there is none."""

    def text(group: FindingGroup) -> Cell:
        if group.newest is None or group.reason is None:
            return None
        return say(group.newest, group.reason)

    return Column(name, lambda each: _of_each(each, text))


def _of_each(looked_up: LookedUp, say: Callable[[FindingGroup], Cell]) -> Cell:
    """Return the value that all networks share, or else the value of each, in order."""
    said = [say(each) for each in looked_up.groups]
    if len(set(said)) < 2:  # noqa: PLR2004 - nothing, or one for all
        return said[0] if said else None
    return "; ".join("" if each is None else str(each) for each in said)


def _form(summary: TransactionSummary, context: AnswerContext) -> dict[str, Any]:
    return {
        "txHash": str(summary.tx_hash),
        "caseId": context.case_id_of(summary) or None,
        "isTracked": summary.is_tracked,
        "verdict": leading_verdict(summary),
        "texts": {voice.value: answer_text(summary, voice, context) for voice in Voice},
        "networks": [_finding_form(finding) for finding in summary.findings],
    }


def _finding_form(finding: NetworkFinding) -> dict[str, Any]:
    evidence = finding.evidence
    return {
        **finding.profile.form(),
        "verdict": str(finding.verdict.kind),
        "restsOn": finding.verdict.rests_on,
        "follows": finding.verdict.follows,
        "attemptedAt": instant(evidence.attempted_at),
        "firstAnsweredAt": instant(evidence.first_answered_at),
        "lastAnsweredAt": instant(evidence.last_answered_at),
        "failingSince": instant(evidence.failing_since),
        "limitsEndedAt": instant(evidence.limits_ended_at),
        "failure": None if evidence.failure is None else evidence.failure.message,
        "records": [
            rejection_form(version, finding.reason_of(version)) for version in finding.versions
        ],
        "statements": [
            {
                "endpoint": each.endpoint,
                "said": str(each.said),
                "status": None if each.claim is None else each.claim.status,
                "blockNumber": None
                if each.claim is None or each.claim.block_number is None
                else hex(each.claim.block_number),
                "added": None if each.claim is None else each.claim.added or None,
                "firstSaidAt": instant(each.said_at),
                "lastSaidAt": instant(each.last_said_at),
            }
            for each in evidence.statements
        ],
        "nextSteps": list(finding.next_steps()),
        "inclusion": _inclusion_form(evidence.follow_up),
        "replacedSince": None
        if evidence.follow_up is None
        else instant(evidence.follow_up.replaced_since),
    }


def _inclusion_form(end: FollowUp | None) -> dict[str, Any] | None:
    if end is None or end.inclusion is None:
        return None
    return {
        "blockNumber": hex(end.inclusion.block_number),
        "blockHash": f"0x{end.inclusion.block_hash.hex()}",
        "isSuccessful": end.inclusion.is_successful,
        "firstSeenAt": instant(end.included_since),
    }
