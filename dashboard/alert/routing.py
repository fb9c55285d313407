"""Who is told of a transition."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.domain.condition import State, Transition
from dashboard.domain.notice import Recipient


def recipients_of(transition: Transition, everyone: Sequence[Recipient]) -> Sequence[Recipient]:
    """Return all recipients where a transaction became rejected, and nobody otherwise."""
    return everyone if transition.after is State.REJECTED else ()
