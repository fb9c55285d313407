"""Whether anything was received since the store was last checked for new rejections."""

from __future__ import annotations

import asyncio


class StoreFreshness:
    """A check of the store is fresh enough for every request that was received before it.

    The event loop reads from many connections before it runs the tasks that answer, so under load
    one check serves many requests; without this it is a tenth of the work of each. The loop calls
    back in order: what is received after the check is answered after it has expired.
    """

    __slots__ = ("is_fresh",)

    def __init__(self) -> None:
        self.is_fresh = False

    def mark_fresh(self) -> None:
        """Note that the store was just checked."""
        self.is_fresh = True
        asyncio.get_running_loop().call_soon(self.expire)

    def expire(self) -> None:
        """Have the store checked before the next answer: something may have come since."""
        self.is_fresh = False
