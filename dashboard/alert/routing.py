"""Who is told of a transition."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.domain.condition import Transition
from dashboard.domain.notification import Recipient


def recipients_of(transition: Transition, everyone: Sequence[Recipient]) -> Sequence[Recipient]:
    """Return all recipients where an incident opens, changes or closes, and nobody otherwise."""
    return everyone if transition.is_news else ()
