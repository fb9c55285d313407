"""Time zones by the names of the IANA database, as settings give them."""

from __future__ import annotations

from datetime import tzinfo
from zoneinfo import ZoneInfo

from dashboard.domain.quantity import shorten
from dashboard.errors import SettingsError


def zone_of(name: str) -> tzinfo:
    """Return the zone of that name; SettingsError where there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise SettingsError(
            f"is {shorten(name)}, which is no time zone: write one such as Europe/Zurich or UTC"
        ) from error
