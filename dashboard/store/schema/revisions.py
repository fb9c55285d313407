"""Which schemas this version knows: each is named after the release that brought it."""

from __future__ import annotations

import re
from typing import Final

from dashboard.errors import SchemaMismatch

REVISIONS: Final = ("0.1.0", "0.2.0")
"""Every released schema, the oldest first. A release that changes the schema adds its own."""

REVISION: Final = REVISIONS[-1]
"""The schema that this code reads and writes."""

_BEFORE_RELEASE: Final = re.compile(r"\d{4}")
"""Schemas were numbered, from 0001 to 0023, until the first release put all of them into one."""


def refuse_unknown_schema(name: str, found: str) -> None:
    """Raise SchemaMismatch, naming the remedy, if this version cannot upgrade the store."""
    if found in REVISIONS:
        return
    if _BEFORE_RELEASE.fullmatch(found):
        raise SchemaMismatch(
            f"{name} has schema {found}, which is older than the first release ({REVISIONS[0]}) "
            "and cannot be upgraded: put it aside, and run `linewatch migrate` for a new one"
        )
    raise SchemaMismatch(
        f"{name} has schema {found}, this version of Linewatch knows up to {REVISION}: "
        "upgrade Linewatch"
    )
