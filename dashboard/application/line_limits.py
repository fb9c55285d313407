"""The end of line limits, as pages and commands know it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dashboard.application.network_status import NetworkProfile
from dashboard.store.engine.connection import Connection
from dashboard.store.rejections.limits_end import known_limits


def with_known_ends(
    connection: Connection, profiles: Sequence[NetworkProfile]
) -> tuple[NetworkProfile, ...]:
    """Return the networks, each with the end of its line limits as it is known."""
    limits = known_limits(connection, {each.network_id: each.line_limits for each in profiles})
    return tuple(replace(each, line_limits=limits[each.network_id]) for each in profiles)
