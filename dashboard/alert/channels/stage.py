"""What a channel does step by step, for who tries it: each step with the server's answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Stage:
    """One step, and what was answered; both are safe to show and hold no secret."""

    name: str
    answer: str


Watch: TypeAlias = Callable[[Stage], None]
"""Gets each step as soon as it is over."""


def ignore(_stage: Stage) -> None:
    """Watch nothing, as the worker does."""
