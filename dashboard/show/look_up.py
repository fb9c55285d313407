"""The live question, as pages and commands ask it: who answers it is decided by wiring."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from dashboard.domain.quantity import NetworkId, TxHash

LookUp: TypeAlias = Callable[[tuple[TxHash, ...], NetworkId | None], None]
"""Ask upstream about hashes now, on one network or all, and store what it said.

It has a deadline of its own and raises nothing for upstream trouble.
"""
