"""The live question, as pages and commands ask it: who answers it is decided by wiring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from dashboard.domain.quantity import NetworkId, TxHash

LookUp: TypeAlias = Callable[[tuple[TxHash, ...], NetworkId | None], None]
"""Ask upstream about hashes now, on one network or all, and store what it said.

It has a deadline of its own and raises nothing for upstream trouble.
"""

AT_ONCE: Final = 500
"""Hashes of one question: what a gateway answers within its deadline, also in small batches."""


def ask_in_portions(
    look_up: LookUp, hashes: Sequence[TxHash], network_id: NetworkId | None = None
) -> Iterator[int]:
    """Ask about many hashes, each portion within a deadline of its own; yield how many are done."""
    for begin in range(0, len(hashes), AT_ONCE):
        some = tuple(hashes[begin : begin + AT_ONCE])
        look_up(some, network_id)
        yield begin + len(some)
