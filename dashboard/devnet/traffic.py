"""Traffic: transactions that devnet rejects, and what happens to each; computed from the seed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Never, Protocol, TypeAlias

import anyio.to_thread

from dashboard.devnet.admission import AcceptedTransactions
from dashboard.devnet.blockspace import PLAIN_TRANSFER_GAS, Blockspace, Payment, SimulatedAccount
from dashboard.devnet.chain import Chain, between
from dashboard.devnet.node import Node
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
from dashboard.domain.clock import Clock
from dashboard.domain.quantity import WEI_PER_GWEI, TxHash, Wei
from dashboard.domain.rejections.exclusion import (
    REPORTING_DELAY,
    RejectionReport,
    SaveStatus,
    SignedTransaction,
)
from dashboard.errors import LinewatchError
from dashboard.logs import get_logger

REJECTION_SECONDS: Final = 17
"""From one rejected transaction to the next, give or take two seconds."""

PAYMENT_SECONDS: Final = 150
"""From one tracked payment that is not rejected to the next."""

_SAMPLED: Final = 19  # one rejection in so many is tracked: every five minutes
_OPENING_BEFORE: Final = timedelta(seconds=40)
_OPENING_AFTER: Final = timedelta(seconds=60)
_SECOND: Final = timedelta(seconds=1)
_MODULES: Final = tuple(LIMITS)
_GENEROUS: Final = Wei(150 * WEI_PER_GWEI)


@dataclass(frozen=True, slots=True)
class Track:
    """A transaction, sent at `attempted_at`, is tracked."""

    at: datetime
    tx_hash: TxHash
    attempted_at: datetime
    label: str


@dataclass(frozen=True, slots=True)
class SubmitReport:
    """A node reports a rejection."""

    at: datetime
    report: RejectionReport


@dataclass(frozen=True, slots=True)
class Include:
    """A transaction of a rejected one's sender goes into the next block."""

    at: datetime
    transaction: SignedTransaction


TrafficAction: TypeAlias = Track | SubmitReport | Include


@dataclass(frozen=True, slots=True)
class SimulatedRejection:
    """One transaction that exceeds a limit, and all that happens to it, in order."""

    number: int
    sent_at: datetime
    transaction: SignedTransaction
    label: str
    actions: tuple[SubmitReport | Include, ...]

    def tracking(self) -> Track:
        """Return the action that tracks it from the moment of its sending."""
        return Track(self.sent_at, self.transaction.tx_hash, self.sent_at, self.label)


class Traffic:
    """The rejected transactions of a chain; the same chain always has the same ones."""

    def __init__(self, chain: Chain) -> None:
        """Compute rejections from the seed of `chain`."""
        self._chain = chain
        self._blockspace = Blockspace(chain)
        self.rejection = lru_cache(maxsize=256)(self._compute)

    def actions(self, since: datetime, until: datetime, opening: datetime) -> list[TrafficAction]:
        """Return what is due after `since` and up to `until`, in order.

        A sample is tracked: now and then one, and all that are sent around the `opening`, so
        that a rejection is seen soon after the start.
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
            yield from rejection.actions

    def _payments(self, since: datetime, until: datetime) -> Iterator[Track]:
        """Yield regular payments, which are tracked as well and never rejected."""
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
        actions: list[SubmitReport | Include] = [
            self._report(step, transaction, sent_at, octets) for step in script.steps
        ]
        ends_at = sent_at + script.ends_after * _SECOND
        if script.outcome is FinalOutcome.INCLUDED:
            actions.append(Include(ends_at, transaction))
        if script.outcome is FinalOutcome.REPLACED:
            actions.append(Include(ends_at, account.sign(_replacement(payment, account))))
        label = LABELS[octets[4] % len(LABELS)]
        return SimulatedRejection(number, sent_at, transaction, label, tuple(actions))

    def _payment(self, octets: bytes) -> Payment:
        contract = SimulatedAccount(self._chain.random, "contract", octets[5] % 12)
        return Payment(
            nonce=0,  # the account is new, so this is what the chain expects of it
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
    """Return the usual way to replace a transaction: send nothing to oneself."""
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
FIRST_PAUSE: Final = timedelta(seconds=1)
LONGEST_PAUSE: Final = timedelta(seconds=60)

TrackTransaction: TypeAlias = Callable[[TxHash, datetime, str], object]
"""Track a hash, with the time of its attempt and a label; may block."""

Pause: TypeAlias = Callable[[float], Awaitable[object]]

_log = get_logger(__name__)


class ReportReceiver(Protocol):
    """Receives reports; `upstream.exclusion.ExclusionClient` is the one in use."""

    async def report(self, report: RejectionReport) -> SaveStatus:
        """Submit one report; raises UpstreamError where it was not accepted."""
        ...


@dataclass(frozen=True, slots=True)
class _PendingAction:
    """An action that is not done yet; `tried_at` is the first failed attempt."""

    action: TrafficAction
    due: datetime
    failures: int = 0
    tried_at: datetime | None = None


class TrafficRunner:
    """Acts as the simulated nodes and senders.

    Actions that fail are retried for two hours, first after a second, then ever more slowly. They
    are kept in memory only, since the traffic can be computed again.
    """

    def __init__(
        self,
        chain: Chain,
        accepted: AcceptedTransactions,
        serve: ReportReceiver,
        track: TrackTransaction,
        clock: Clock,
    ) -> None:
        """Begin a little before the present moment."""
        self._traffic = Traffic(chain)
        self._node = Node(chain, accepted, clock)
        self._serve = serve
        self._track = track
        self._clock = clock
        self._opening = clock()
        self._done_until = self._opening - BACKLOG
        self._pending: list[_PendingAction] = []
        self._is_failing = False

    @property
    def pending(self) -> int:
        """How many actions failed so far and wait for another attempt."""
        return len(self._pending)

    async def run(self, pause: Pause = asyncio.sleep) -> Never:
        """Run due actions every second, until cancelled."""
        while True:
            await self.step()
            await pause(TICK_SECONDS)

    async def step(self) -> None:
        """Run all actions that are due."""
        now = self._clock()
        since = max(self._done_until, now - BACKLOG)
        self._done_until = max(self._done_until, now)
        due = self._traffic.actions(since, now, self._opening)
        self._pending = await self._run_all(
            [*self._pending, *(_PendingAction(each, now) for each in due)], now
        )

    async def _run_all(self, pending: list[_PendingAction], now: datetime) -> list[_PendingAction]:
        """Return what is left; reports come last, and after a refused one no other is tried."""
        left, is_refused = [], False
        for each in sorted(pending, key=_is_report):
            is_report = _is_report(each)
            if not _is_due(each, now) or (is_report and is_refused):
                left.append(each)
            elif await self._succeeds(each.action):
                self._log_change(is_failing=False)
            else:
                is_refused = is_refused or is_report
                left += _retry(each, now)
        return left

    async def _succeeds(self, action: TrafficAction) -> bool:
        try:
            await self._run_action(action)
        except LinewatchError as error:
            self._log_change(is_failing=True, error=str(error))
            return False
        except Exception:  # noqa: BLE001 - the top of the loop: the other actions go on
            _log.exception("A simulated action failed unexpectedly")
            return False
        return True

    async def _run_action(self, action: TrafficAction) -> None:
        match action:
            case SubmitReport():
                await self._serve.report(action.report)
            case Include():
                self._node.place(action.transaction)
            case Track():
                await anyio.to_thread.run_sync(
                    self._track, action.tx_hash, action.attempted_at, action.label
                )

    def _log_change(self, *, is_failing: bool, error: str = "") -> None:
        """Log a change between working and failing, not every attempt."""
        if is_failing and not self._is_failing:
            _log.info("Simulated traffic waits", error=error)
        if self._is_failing and not is_failing:
            _log.info("Simulated traffic continues")
        self._is_failing = is_failing


def _is_report(pending: _PendingAction) -> bool:
    return isinstance(pending.action, SubmitReport)


def _is_due(pending: _PendingAction, now: datetime) -> bool:
    """Return whether to try; a clock that is set back delays it only briefly."""
    return pending.due <= now or pending.due > now + LONGEST_PAUSE


def _retry(pending: _PendingAction, now: datetime) -> list[_PendingAction]:
    """Return the action with its next time; nothing once a node would give up."""
    tried_at = pending.tried_at or now
    if now - tried_at >= REPORTING_DELAY:
        _log.warning("A simulated action is dropped", action=type(pending.action).__name__)
        return []
    pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(pending.failures, 10))
    return [
        replace(pending, due=now + pause, failures=pending.failures + 1, tried_at=tried_at),
    ]
