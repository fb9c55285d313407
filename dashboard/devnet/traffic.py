"""Traffic: transactions that devnet rejects, and what becomes of them, computed from the seed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Never, Protocol, TypeAlias

import anyio.to_thread
from msgspec import Struct

from dashboard.devnet.chain import Chain, between
from dashboard.devnet.own_transactions import (
    PLAIN_TRANSFER_GAS,
    Blockspace,
    Payment,
    SimulatedAccount,
)
from dashboard.devnet.rejection_scripts import (
    LABELS,
    LIMITS,
    LONGEST_SECONDS,
    SCRIPTS,
    UNKNOWN_MODULES,
    FinalOutcome,
    Overrun,
    ScriptedReport,
)
from dashboard.domain.quantity import WEI_PER_GWEI, Clock, TxHash, Wei
from dashboard.domain.rejections.exclusion import (
    REPORTING_DELAY,
    RejectionReport,
    SaveStatus,
    SignedTransaction,
)
from dashboard.errors import LinewatchError
from dashboard.logs import get_logger

REJECTION_SECONDS: Final = 17
"""The interval between rejected transactions, give or take two seconds."""

PAYMENT_SECONDS: Final = 150
"""The interval between tracked payments that are not rejected."""

_SAMPLED: Final = 19  # one rejection in so many is tracked: every five minutes
_OPENING_BEFORE: Final = timedelta(seconds=40)
_OPENING_AFTER: Final = timedelta(seconds=60)
_LONGEST_ENDING: Final = max(script.ends_after for script in SCRIPTS)
_SECOND: Final = timedelta(seconds=1)
_MODULES: Final = tuple(LIMITS)
_GENEROUS: Final = Wei(150 * WEI_PER_GWEI)


class Track(Struct, frozen=True):
    """Track a transaction that was sent at `attempted_at`."""

    at: datetime
    tx_hash: TxHash
    attempted_at: datetime
    label: str


class SubmitReport(Struct, frozen=True):
    """Report a rejection, as a node does."""

    at: datetime
    report: RejectionReport


TrafficAction: TypeAlias = Track | SubmitReport


class SimulatedInclusion(Struct, frozen=True):
    """The transaction that uses the nonce of a rejected one after all, and its block."""

    block: int
    payment: Payment
    transaction: SignedTransaction


class SimulatedRejection(Struct, frozen=True):
    """One transaction that exceeds a limit, and what happens to it, in order."""

    number: int
    sent_at: datetime
    transaction: SignedTransaction
    label: str
    reports: tuple[SubmitReport, ...]
    inclusion: SimulatedInclusion | None

    def tracking(self) -> Track:
        """Return the action that tracks it from the moment it is sent."""
        return Track(self.sent_at, self.transaction.tx_hash, self.sent_at, self.label)


class Traffic:
    """The rejected transactions of a chain, always the same for the same chain."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._blockspace = Blockspace(chain)
        self.rejection = lru_cache(maxsize=256)(self._compute)

    def actions(self, since: datetime, until: datetime, opening: datetime) -> list[TrafficAction]:
        """Return the actions due after `since` and up to `until`, in order.

        A sample of the rejected transactions is tracked, and all that are sent around the
        `opening`, so that a rejection is seen soon after the start.
        """
        due = [
            action
            for action in (*self._rejections(since, until, opening), *self._payments(since, until))
            if since < action.at <= until
        ]
        return sorted(due, key=lambda action: action.at)

    def _rejections(
        self, since: datetime, until: datetime, opening: datetime
    ) -> Iterator[TrafficAction]:
        first = (int(since.timestamp()) - LONGEST_SECONDS) // REJECTION_SECONDS
        for number in range(first, int(until.timestamp()) // REJECTION_SECONDS + 1):
            rejection = self.rejection(number)
            is_opening = opening - _OPENING_BEFORE <= rejection.sent_at <= opening + _OPENING_AFTER
            if is_opening or number % _SAMPLED == 0:
                yield rejection.tracking()
            yield from rejection.reports

    def inclusions(self, first: int, last: int) -> Iterator[SimulatedInclusion]:
        """Yield the inclusions in these blocks, oldest first except for neighbours."""
        begin, end = (int(self._chain.timestamp(each).timestamp()) for each in (first, last))
        earliest = (begin - _LONGEST_ENDING) // REJECTION_SECONDS - 1
        for number in range(earliest, end // REJECTION_SECONDS + 1):
            if SCRIPTS[number % len(SCRIPTS)].outcome is not FinalOutcome.STUCK:
                inclusion = self.rejection(number).inclusion
                if inclusion is not None and first <= inclusion.block <= last:
                    yield inclusion

    def _payments(self, since: datetime, until: datetime) -> Iterator[Track]:
        """Yield regular payments, which are also tracked but never rejected."""
        first, last = (int(each.timestamp()) // PAYMENT_SECONDS for each in (since, until))
        for number in range(first, last + 1):
            at = datetime.fromtimestamp(number * PAYMENT_SECONDS, UTC)
            block = self._chain.block(self._chain.head(at))
            for slot in self._blockspace.slots(block)[:1]:
                tx_hash = self._blockspace.sign(slot).tx_hash
                yield Track(at, tx_hash, block.timestamp, "Simulated payment")

    def _compute(self, number: int) -> SimulatedRejection:
        octets = self._chain.random.draw("story", number)
        sent_at = datetime.fromtimestamp(number * REJECTION_SECONDS, UTC) + timedelta(
            milliseconds=between(0, 1999, octets[:4])
        )
        account = SimulatedAccount(self._chain.random, "story account", number)
        payment = self._payment(octets)
        transaction = account.sign(payment)
        script = SCRIPTS[number % len(SCRIPTS)]
        label = LABELS[octets[4] % len(LABELS)]
        reports = tuple(self._report(step, transaction, sent_at, octets) for step in script.steps)
        block = self._chain.head(sent_at + script.ends_after * _SECOND) + 1
        inclusion = None
        if script.outcome is FinalOutcome.INCLUDED:
            inclusion = SimulatedInclusion(block, payment, transaction)
        if script.outcome is FinalOutcome.REPLACED:
            other = _replacement(payment, account)
            inclusion = SimulatedInclusion(block, other, account.sign(other))
        return SimulatedRejection(number, sent_at, transaction, label, reports, inclusion)

    def _payment(self, octets: bytes) -> Payment:
        contract = SimulatedAccount(self._chain.random, "contract", octets[5] % 12)
        return Payment(
            nonce=0,  # the account is new, so the chain expects this nonce
            recipient=contract.address if octets[8] > 16 else None,  # noqa: PLR2004 - few deploy
            value=Wei(0),
            data=octets[9:13] + bytes(28) + octets,
            gas=between(400_000, 6_000_000, octets[13:17]),
            max_fee_per_gas=_GENEROUS,
            max_priority_fee_per_gas=Wei(between(1, 30, octets[17:18]) * WEI_PER_GWEI // 10),
        )

    def _report(
        self, step: ScriptedReport, transaction: SignedTransaction, sent_at: datetime, octets: bytes
    ) -> SubmitReport:
        spread = timedelta(milliseconds=between(0, 900, octets[18:20]))
        rejected_at = sent_at + step.after * _SECOND + spread
        is_sequencer = step.stage is step.stage.SEQUENCER
        report = RejectionReport(
            transaction=transaction,
            tx_rejection_stage=step.stage,
            reason_message=_overrun(octets, step).text(step.template, transaction.tx_hash),
            timestamp=rejected_at,
            block_number=self._chain.head(rejected_at) + 1 if is_sequencer else None,
            overflows=(),
        )
        return SubmitReport(rejected_at + step.late * _SECOND, report)


def _overrun(octets: bytes, step: ScriptedReport) -> Overrun:
    module = _MODULES[octets[20] % len(_MODULES)]
    limit = LIMITS[module]
    over = between(1, max(24, limit * 2), octets[21:25])
    return Overrun(
        module=module,
        count=limit + over + (1 + octets[25] if step.is_recount else 0),
        limit=limit,
        unknown=UNKNOWN_MODULES[octets[26] % len(UNKNOWN_MODULES)],
    )


def _replacement(payment: Payment, account: SimulatedAccount) -> Payment:
    """Return the usual replacement of a transaction: a transfer of zero to oneself."""
    return Payment(
        nonce=payment.nonce,
        recipient=account.address,
        value=Wei(0),
        data=b"",
        gas=PLAIN_TRANSFER_GAS,
        max_fee_per_gas=payment.max_fee_per_gas,
        max_priority_fee_per_gas=Wei(2 * payment.max_priority_fee_per_gas),
    )


BACKLOG: Final = timedelta(minutes=5)
"""Traffic of this time before the start runs at once, so that pages are not empty."""

TICK_SECONDS: Final = 1.0

TrackTransaction: TypeAlias = Callable[[TxHash, datetime, str], object]
"""Tracks a hash, with the time of its attempt and a label; may block."""

Pause: TypeAlias = Callable[[float], Awaitable[object]]

_log = get_logger(__name__)


class ReportReceiver(Protocol):
    """Receives reports; implemented by `upstream.exclusion.ExclusionClient`."""

    async def report(self, report: RejectionReport) -> SaveStatus:
        """Submit one report; raises UpstreamError if it was not accepted."""


class TrafficRunner:
    """Plays the simulated nodes and senders.

    Actions that fail are retried for two hours, as nodes retry their reports. They are kept in
    memory only, since the traffic can be computed again.
    """

    def __init__(
        self, chain: Chain, serve: ReportReceiver, track: TrackTransaction, clock: Clock
    ) -> None:
        """Start with the traffic of a few minutes ago."""
        self._traffic = Traffic(chain)
        self._serve = serve
        self._track = track
        self._clock = clock
        self._opening = clock()
        self._done_until = self._opening - BACKLOG
        self._pending: list[TrafficAction] = []
        self._is_failing = False

    @property
    def pending(self) -> int:
        """How many actions have failed and wait to be retried."""
        return len(self._pending)

    async def run(self, pause: Pause = asyncio.sleep) -> Never:
        """Run due actions every second, until cancelled."""
        while True:
            await self.step()
            await pause(TICK_SECONDS)

    async def step(self) -> None:
        """Run all actions that are due; after a report fails, no other is tried in this step."""
        now = self._clock()
        since = max(self._done_until, now - BACKLOG)
        self._done_until = max(self._done_until, now)
        due = [*self._traffic.actions(since, now, self._opening), *self._pending]
        failed: list[TrafficAction] = []
        untried: list[TrafficAction] = []
        is_refused = False
        for action in sorted(due, key=_is_report):
            if is_refused:
                untried.append(action)
            elif not await self._succeeds(action):
                is_refused = _is_report(action)
                failed.append(action)
        if self._is_failing and not failed:
            _log.info("Simulated traffic continues")
        self._is_failing = bool(failed)
        left = [*untried, *failed]  # failed actions go last, so that they do not hold up others
        self._pending = [each for each in left if now - each.at < REPORTING_DELAY]

    async def _succeeds(self, action: TrafficAction) -> bool:
        try:
            if isinstance(action, SubmitReport):
                await self._serve.report(action.report)
            else:
                sent = action.tx_hash, action.attempted_at, action.label
                await anyio.to_thread.run_sync(self._track, *sent)
        except LinewatchError as error:
            if not self._is_failing:
                _log.info("Simulated traffic waits", why=str(error))
            self._is_failing = True
            return False
        except Exception:  # noqa: BLE001 - the top of the loop: the other actions go on
            _log.exception("A simulated action failed unexpectedly")
            return False
        return True


def _is_report(action: TrafficAction) -> bool:
    return isinstance(action, SubmitReport)
