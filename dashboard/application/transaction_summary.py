"""What is known of a transaction: a verdict and the rejection records per network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dashboard.application.network_status import NetworkProfile
from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.advice import advise
from dashboard.domain.rejections.exclusion import StoredRejection
from dashboard.domain.rejections.reasons import Reason, parse_reason
from dashboard.domain.tracking.statements import renewed
from dashboard.domain.tracking.verdict import Evidence, Verdict, VerdictKind, conclude
from dashboard.store.engine.batching import portions
from dashboard.store.engine.connection import Connection
from dashboard.store.evidence.evidence import read_evidence_of_many
from dashboard.store.evidence.record_answers import UnsavedAnswers
from dashboard.store.rejections.archive import versions_among
from dashboard.store.tracking.transactions import tracked_among

_CONCLUSIVE: Final = {
    VerdictKind.REJECTED,
    VerdictKind.REJECTED_THEN_INCLUDED,
    VerdictKind.INCLUDED,
    VerdictKind.REPLACED,
}


class NetworkFinding(Struct, frozen=True):
    """What is known of one hash on one network, and the verdict.

    `versions` are the records in our archive, newest claimed time first.
    """

    profile: NetworkProfile
    evidence: Evidence
    verdict: Verdict
    versions: tuple[StoredRejection, ...] = ()

    def reason_of(self, stored: StoredRejection) -> Reason:
        """Parse the reason of a version; the network's table gives a limit that it omits."""
        limits = self.profile.line_limits.at(stored.dated_at)
        return parse_reason(stored.record.reason_message, limits)

    def next_steps(self) -> tuple[str, ...]:
        """Return what the sender can do; empty once the transaction was included or replaced."""
        if self.verdict.kind is not VerdictKind.REJECTED or not self.versions:
            return ()
        newest = self.versions[0]
        known = self.evidence
        reason, nonce = self.reason_of(newest), newest.record.nonce
        return advise(reason, nonce, known.follow_up, known.ended_limits)


class TransactionSummary(Struct, frozen=True):
    """All that is known of one hash, one finding per network that can be asked.

    `case_id` and `label` are those of a tracked transaction; empty if there are none.
    """

    tx_hash: TxHash
    findings: tuple[NetworkFinding, ...]
    is_tracked: bool
    case_id: str = ""
    label: str = ""

    @property
    def is_settled(self) -> bool:
        """Whether its end is final, so that nobody needs to be asked again."""
        ends = [finding.evidence.follow_up for finding in self.findings]
        return any(end is not None and end.settled_at is not None for end in ends)

    def answered_since(self, moment_asked: datetime) -> bool:
        """Whether any network answered at or after a moment."""
        return any(
            finding.evidence.last_answered_at is not None
            and finding.evidence.last_answered_at >= moment_asked
            for finding in self.findings
        )

    def unanswered_since(self, moment_asked: datetime) -> tuple[NetworkFinding, ...]:
        """Return the findings of networks with an exclusion endpoint that has not answered since.

        A network whose line limits ended need not answer.
        """
        return tuple(
            finding
            for finding in self.findings
            if finding.profile.has_exclusion
            and finding.verdict.kind is not VerdictKind.NO_LINE_LIMITS
            and (
                finding.evidence.last_answered_at is None
                or finding.evidence.last_answered_at < moment_asked
            )
        )

    def conclusive_findings(self) -> tuple[NetworkFinding, ...]:
        """Return the findings with an event, or with a status that an endpoint reports.

        If no finding has an event (a rejection, an inclusion or a replacement), return all of them.
        """
        if all(each.verdict.kind not in _CONCLUSIVE for each in self.findings):
            return self.findings
        return tuple(
            each
            for each in self.findings
            if each.verdict.kind in _CONCLUSIVE
            or any(said.claim is not None for said in each.evidence.statements)
        )


def with_unsaved(
    summaries: Sequence[TransactionSummary], unsaved: Sequence[UnsavedAnswers]
) -> list[TransactionSummary]:
    """Add answers that could not be stored, unless later ones are stored."""
    found = {each.tx_hash: each for each in summaries}
    for group in unsaved:
        for answer in group.answers:
            if before := found.get(answer.tx_hash):
                findings = tuple(
                    _with_answer(each, answer, group.asked_at)
                    if each.profile.network_id == group.network_id
                    else each
                    for each in before.findings
                )
                found[answer.tx_hash] = replace(before, findings=findings)
    return [found[each.tx_hash] for each in summaries]


def _with_answer(finding: NetworkFinding, answer: ExclusionAnswer, at: datetime) -> NetworkFinding:
    known, versions = finding.evidence, finding.versions
    if known.last_answered_at is not None and known.last_answered_at > at:
        return finding
    if answer.failure is not None:
        since = known.failing_since or at
        known = replace(known, failing_since=since, failure=answer.failure)
        return replace(finding, evidence=known, verdict=conclude(known))
    first = known.first_answered_at or at
    known = replace(
        known,
        first_answered_at=first,
        last_answered_at=at,
        failing_since=None,
        statements=renewed(known.statements, answer, at),
    )
    if answer.record is not None and answer.record not in known.records:
        seen = StoredRejection(0, known.network_id, answer.record, at)
        versions = (seen, *versions)
        known = replace(
            known,
            records=(answer.record, *known.records),
            record_seen_at=at,
            is_dated_ahead=seen.is_dated_ahead,
        )
    return replace(finding, evidence=known, verdict=conclude(known), versions=versions)


def read_transaction_summaries(
    connection: Connection,
    profiles: Sequence[NetworkProfile],
    hashes: Sequence[TxHash],
    now: datetime,
) -> list[TransactionSummary]:
    """Read all that is known of hashes: a finding for each network that can be asked about them.

    `profiles` have the ends of line limits as far as they are known. A network that can no longer
    be asked keeps its earlier answers.
    """
    found = []
    for some in portions(hashes):
        evidence, stored = read_evidence_of_many(connection, some), versions_among(connection, some)
        watched = tracked_among(connection, some)
        found += [
            TransactionSummary(
                each,
                tuple(_findings(profiles, each, evidence[each], stored[each], now)),
                each in watched,
                *watched.get(each, ("", "")),
            )
            for each in some
        ]
    return found


def _findings(
    profiles: Sequence[NetworkProfile],
    tx_hash: TxHash,
    evidence: Sequence[Evidence],
    stored: Sequence[StoredRejection],
    now: datetime,
) -> Iterator[NetworkFinding]:
    by_network = {each.network_id: each for each in evidence}
    for profile in profiles:
        if profile.has_exclusion or profile.network_id in by_network:
            known = by_network.get(profile.network_id, Evidence(profile.network_id, tx_hash))
            known = replace(known, limits_ended_at=profile.line_limits.ended_at(now))
            of_network = tuple(each for each in stored if each.network_id == profile.network_id)
            yield NetworkFinding(profile, known, conclude(known), of_network)
