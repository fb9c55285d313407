"""Inclusion seen in new blocks: one question for each block, instead of one for each hash."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Final, Protocol

from dashboard.domain.quantity import TxHash
from dashboard.domain.tracking.inclusion import SETTLES_AFTER, InclusionAnswer, InclusionQuestion
from dashboard.errors import UpstreamError
from dashboard.logs import get_logger

_log = get_logger("poll")

_WORTH: Final = 10
"""Fewer questions than this are asked directly, so that blocks cost at most a tenth more calls."""

_LAG: Final = timedelta(minutes=1)
"""How far a node without the receipt may be behind the one that announced the blocks."""

_RETRY: Final = timedelta(seconds=15)
"""How long to wait before asking again for a receipt that a block names."""

_REST: Final = timedelta(minutes=5)
"""How long to wait after blocks could not be read."""


class InclusionAsker(Protocol):
    """Answers what became of hashes, in order; a failure is part of the answer."""

    async def ask(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]: ...


class NewBlocks(Protocol):
    """The same as in `dashboard.upstream.blocks`."""

    @property
    def tx_hashes(self) -> frozenset[TxHash]: ...
    @property
    def is_unbroken(self) -> bool: ...


class BlockReader(Protocol):
    """Reads the blocks since the last call if they are at most so many; raises UpstreamError."""

    async def read(self, most: int, /) -> NewBlocks | None: ...


class BlockFollower:
    """Answers from new blocks if these are fewer than the questions they spare, else from receipts.

    Blocks prove nothing here. They only say which receipts to ask for: a hash without a receipt
    that is in no block since needs no question. After a gap in the blocks, or a reorganisation,
    every hash is asked about again, and so is at once whatever was included so recently that it may
    be gone.
    """

    def __init__(
        self, asker: InclusionAsker, blocks: BlockReader, elapsed: Callable[[], timedelta]
    ) -> None:
        self._asker = asker
        self._blocks = blocks
        self._elapsed = elapsed
        self._begun: timedelta | None = None
        self._resting_until: timedelta | None = None
        self._waiting = set[TxHash]()
        """Those without a receipt at a time from which all blocks are known."""
        self._announced = set[TxHash]()
        """Those that a block named, without a receipt yet: no later block will name them again."""
        self._recent = deque[tuple[timedelta, frozenset[TxHash]]]()
        self._settling = dict[TxHash, timedelta]()
        self._named = dict[TxHash, timedelta]()

    @property
    def named(self) -> frozenset[TxHash]:
        """The hashes that blocks say must be asked about now, beside the schedule.

        One stays until its receipt is answered; null does not count from a node that may lag.
        """
        now = self._elapsed()
        return frozenset(each for each, at in self._named.items() if at <= now)

    def ask_again(self, hashes: Iterable[TxHash]) -> None:
        """Name hashes now, or again if their answers could not be recorded."""
        self._named |= dict.fromkeys(hashes, self._elapsed())

    async def ask(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        """Return one answer for each question, in order; a failure is part of it.

        Whether a nonce was used says nothing new about a hash, so blocks do not tell it.
        """
        spared = sum(not each.sender and each.tx_hash in self._waiting for each in questions)
        is_told = len(questions) >= _WORTH and await self._read(spared)
        waiting = self._waiting if is_told else frozenset[TxHash]()
        asked = [each for each in questions if each.sender or each.tx_hash not in waiting]
        answers = await self._asker.ask(asked) if asked else []
        self._note(answers)
        told = {each.tx_hash: each for each in answers}
        return [told.get(each.tx_hash) or InclusionAnswer(each.tx_hash) for each in questions]

    async def _read(self, most: int) -> bool:
        """Read new blocks, unless there are too many; return whether all are known since a gap."""
        now = self._elapsed()
        if self._resting_until is not None and now < self._resting_until:
            return False
        try:
            new = await self._blocks.read(most)
        except UpstreamError as error:
            _log.warning("blocks cannot be read; receipts are asked for", why=str(error))
            self._resting_until = now + _REST
            return False
        if new is None:
            return False
        self._forget_before(now)
        if not new.is_unbroken:
            self._begun, self._waiting, self._announced = now, set(), set()
            self.ask_again(self._settling)
            return False
        self._recent.append((now, new.tx_hashes))
        found = self._waiting & new.tx_hashes
        self._waiting -= found
        self._announced |= found
        self.ask_again(found)
        return True

    def _forget_before(self, now: timedelta) -> None:
        while self._recent and self._recent[0][0] < now - _LAG:
            self._recent.popleft()
        while self._settling and next(iter(self._settling.values())) < now - SETTLES_AFTER:
            del self._settling[next(iter(self._settling))]

    def _note(self, answers: Sequence[InclusionAnswer]) -> None:
        """Let hashes without a receipt wait for a block, unless the node may only have lagged."""
        now = self._elapsed()
        is_known = self._begun is not None and now - self._begun >= _LAG
        for each in answers:
            was_named = self._named.pop(each.tx_hash, None) is not None
            is_recent = self._is_recent(each.tx_hash)
            if each.failure is None:
                self._settling.pop(each.tx_hash, None)
            if each.inclusion is not None:
                self._waiting.discard(each.tx_hash)
                self._announced.discard(each.tx_hash)
                self._settling[each.tx_hash] = now
            elif each.failure is not None or not is_known or is_recent:
                if is_recent:
                    self._announced.add(each.tx_hash)
                if was_named:
                    self._named[each.tx_hash] = now + _RETRY
            elif each.tx_hash not in self._announced:
                self._waiting.add(each.tx_hash)

    def _is_recent(self, tx_hash: TxHash) -> bool:
        return any(tx_hash in hashes for _, hashes in self._recent)
