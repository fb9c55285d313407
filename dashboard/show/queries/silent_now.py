"""What is silent now, the worker included: no worker is left to say so of itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from dashboard.domain.condition import INSTALLATION, SubjectKind
from dashboard.domain.muting import SilentSource
from dashboard.domain.quantity import NetworkId
from dashboard.store.alerts.silent_sources import silent_sources
from dashboard.store.engine.connection import Connection
from dashboard.store.monitoring.coverage import unwatched_now


def silent_now(
    connection: Connection, networks: Sequence[NetworkId], now: datetime
) -> list[SilentSource]:
    """Return what is silent, the worker first: nobody watches as long as nobody else says so."""
    since = [each.begins_at for each in unwatched_now(connection, networks, now)]
    worker = [SilentSource(SubjectKind.WORKER, INSTALLATION, min(since))] if since else []
    return [*worker, *silent_sources(connection, now)]
