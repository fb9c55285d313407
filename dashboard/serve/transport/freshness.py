"""Whether anything was received since the store was last looked at."""

from __future__ import annotations


class LastLook:
    """A look at the store is fresh enough for every question that was received before it.

    The event loop reads many connections before it runs the tasks that answer, so under load one
    look serves many of them; else it is a tenth of the work of each request.

    `is_told`: whether all connections clear `is_fresh` whenever they receive something. Without,
    no look is fresh enough for another message.
    """

    __slots__ = ("is_fresh", "is_told")

    def __init__(self) -> None:
        self.is_fresh = False
        self.is_told = False

    def looked(self) -> None:
        """Note that the store was just looked at."""
        self.is_fresh = self.is_told

    def outdate(self) -> None:
        """Look again for the next question: something came, or was saved."""
        self.is_fresh = False
