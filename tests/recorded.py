"""Recordings: what was said on the wire, one file per message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

RECORDINGS: Final = Path(__file__).parent / "recordings"


def recording(name: str) -> bytes:
    """Return a recorded message as it was sent."""
    return (RECORDINGS / f"{name}.json").read_bytes()


def recorded(name: str) -> Any:  # noqa: ANN401 - whatever JSON was recorded
    """Return a recorded message as a value."""
    return json.loads(recording(name))
