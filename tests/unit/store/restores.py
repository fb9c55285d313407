"""Restoring in tests: an hour after everything happened, by an operator."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dashboard.domain.people.access import Actor
from dashboard.store.maintenance.restore import Restored, restore
from tests.builders import A_MOMENT, seconds

AN_HOUR_LATER: Final = A_MOMENT + seconds(3600)
BY: Final = Actor("operator", AN_HOUR_LATER)


def restored(url: str, backup: Path) -> Restored:
    return restore(url, backup, BY, backup.parent)
