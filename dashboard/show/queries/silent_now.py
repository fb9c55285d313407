"""What is silent now, the worker included: no worker is left to say so of itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from dashboard.domain.condition import INSTALLATION, SubjectKind
from dashboard.domain.coverage import GapCause
from dashboard.domain.muting import SilentSource
from dashboard.domain.quantity import NetworkId
from dashboard.show.queries.coverage_gaps import gaps_until
from dashboard.store.alerts.silent_sources import silent_sources
from dashboard.store.engine.connection import Connection

_LATEST = 20


def silent_now(
    connection: Connection, networks: Sequence[NetworkId], now: datetime
) -> list[SilentSource]:
    """Return what is silent, the worker first: nobody watches as long as nobody else says so."""
    unwatched = [
        each.begins_at
        for each in gaps_until(connection, networks, now, now, _LATEST)
        if each.cause is GapCause.NOT_WATCHED and each.ends_at is None
    ]
    worker = [SilentSource(SubjectKind.WORKER, INSTALLATION, min(unwatched))] if unwatched else []
    return [*worker, *silent_sources(connection, now)]
