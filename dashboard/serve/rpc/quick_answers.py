"""What answers most lookups from memory, as those who take messages see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from dashboard.serve.keys.key_ring import ApiKey
from dashboard.wire.lookup import Lookup


class QuickAnswers(Protocol):
    """Answers lookups of the usual shape on the event loop, without a thread."""

    def is_current(self) -> bool:
        """Whether `records` may be called for messages that had come before this call."""

    async def look(self) -> bool:
        """Find the same out where that takes a while."""

    async def records(self, lookup: Lookup, caller: ApiKey) -> Mapping[int, bytes] | None:
        """Return what is not null, by the place of its call; None: let the method answer."""

    def outdate(self) -> None:
        """Look again before the next answer: another message was answered, perhaps a report."""
