"""Cursors: opaque texts for a place in one installation's order of arrivals."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final
from uuid import UUID

from dashboard.domain.quantity import shorten
from dashboard.errors import WireError

_TEXT: Final = re.compile(r"[A-Za-z0-9_-]{16}", re.ASCII)
_OWNER: Final = 4
_LARGEST_PLACE: Final = 2**63 - 1


def encode_cursor(place: int, installation: UUID) -> str:
    """Write a place, after the first bytes of the installation's id."""
    return urlsafe_b64encode(installation.bytes[:_OWNER] + place.to_bytes(8, "big")).decode()


def decode_cursor(value: object, installation: UUID) -> int:
    """Read a place; WireError for a text that this installation did not hand out."""
    if not isinstance(value, str) or not _TEXT.fullmatch(value):
        raise WireError(f"{shorten(str(value))} is no cursor: give one that an answer contained")
    raw = urlsafe_b64decode(value)
    place = int.from_bytes(raw[_OWNER:], "big")
    if raw[:_OWNER] != installation.bytes[:_OWNER] or place > _LARGEST_PLACE:
        raise WireError(f"{value} is no cursor of this installation: begin without one")
    return place
