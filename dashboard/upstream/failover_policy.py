"""When another node of a network is asked instead, and when the preferred one again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class FailoverPolicy:
    """When another node is asked instead.

    A node is behind when its newest block is `lag_blocks` below another's. Standbys are
    checked every `check_period`, each check takes `check_timeout` at most. One that failed is not
    asked for `first_pause`, twice as long each time up to `longest_pause`, and a preferred one is
    used again after `good_checks` in a row. One that failed for `outage_believed_after` is no
    longer waited for where all others say that blocks are gone.
    """

    lag_blocks: int = 3
    check_period: timedelta = timedelta(seconds=10)
    check_timeout: timedelta = timedelta(seconds=2)
    first_pause: timedelta = timedelta(seconds=5)
    longest_pause: timedelta = timedelta(minutes=5)
    good_checks: int = 3
    outage_believed_after: timedelta = timedelta(minutes=1)
