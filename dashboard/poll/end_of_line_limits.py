"""When the block comes with which the line limits of a network end, asked of its nodes."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import ClassVar, Final, Protocol

from anyio.to_thread import run_sync

from dashboard.domain.rejections.line_limits import LimitsEnd
from dashboard.domain.tracking.inclusion import SETTLES_AFTER
from dashboard.errors import UpstreamError
from dashboard.logs import get_logger
from dashboard.poll.lease import Clocks, NetworkStore
from dashboard.store.rejections.limits_end import known_end, save_end_block

_AGAIN: Final = timedelta(minutes=1)
"""How long to wait after an answer that is not final."""

_LONGEST: Final = timedelta(hours=1)
_log = get_logger("poll")


class BlockAsker(Protocol):
    """Returns when a block came, or is expected; raises UpstreamError."""

    async def end_with(self, block_number: int) -> LimitsEnd: ...


class EndBlockPoll:
    """Asks when the block comes: more often as it nears, then until it cannot be replaced."""

    period: ClassVar[timedelta] = timedelta(seconds=5)

    def __init__(
        self, asker: BlockAsker, store: NetworkStore, block_number: int, clocks: Clocks
    ) -> None:
        self._asker = asker
        self._store = store
        self._block_number = block_number
        self._clocks = clocks
        self._next_at: timedelta | None = timedelta()

    async def tick(self) -> None:
        """Ask if it is time, and store what is then known."""
        if self._next_at is None or self._clocks.elapsed() < self._next_at:
            return
        asked_at, self._next_at = self._clocks.now(), self._clocks.elapsed() + _AGAIN
        try:
            end = await self._asker.end_with(self._block_number)
        except UpstreamError as error:
            _log.warning(
                "the block that ends line limits is not known",
                network_id=self._store.network_id,
                why=str(error),
            )
            return
        await run_sync(partial(self._save, end, asked_at))
        self._next_at = self._after(end, asked_at)

    def _save(self, end: LimitsEnd, asked_at: datetime) -> None:
        """Store what is known; a node that is behind does not take back a final block."""
        network_id = self._store.network_id
        with self._store.write(asked_at) as connection:
            known = known_end(connection, network_id, LimitsEnd(block_number=self._block_number))
            if end.is_expected and known is not None and _is_final(known, asked_at):
                return
            save_end_block(connection, network_id, end)

    def _after(self, end: LimitsEnd, asked_at: datetime) -> timedelta | None:
        """Return when to ask again; None if the block is final."""
        assert end.at is not None  # noqa: S101 - it was just answered
        away = end.at - asked_at
        if not end.is_expected:
            return None if _is_final(end, asked_at) else self._clocks.elapsed() + _AGAIN
        return self._clocks.elapsed() + min(max(away / 4, self.period), _LONGEST)


def _is_final(end: LimitsEnd, now: datetime) -> bool:
    """Whether the block came so long ago that it cannot be replaced."""
    return end.at is not None and not end.is_expected and now - end.at > SETTLES_AFTER
