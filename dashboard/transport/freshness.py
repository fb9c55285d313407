"""Whether anything was received since the store was last checked for new rejections."""

from __future__ import annotations


class StoreFreshness:
    """A check of the store is fresh enough for every request that was received before it.

    The event loop reads from many connections before it runs the tasks that answer, so under load
    one check serves many requests; without this it is a tenth of the work of each.

    `is_expired_on_receive`: whether every connection calls `expire` when it receives something. If
    not, a check is never fresh enough for another message.
    """

    __slots__ = ("is_expired_on_receive", "is_fresh")

    def __init__(self) -> None:
        self.is_fresh = False
        self.is_expired_on_receive = False

    def mark_fresh(self) -> None:
        """Note that the store was just checked."""
        self.is_fresh = self.is_expired_on_receive

    def expire(self) -> None:
        """Have the store checked before the next answer: something was received, or saved."""
        self.is_fresh = False
