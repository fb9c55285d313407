"""Kills between any two statements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Engine, event


class Killed(BaseException):
    """The process is gone; nothing in it may catch this."""


@dataclass
class Countdown:
    """A kill before the statement that follows so many others, of any store of this process."""

    left: int

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count down, and raise Killed at the end; what is left counts the next time."""
        event.listen(Engine, "before_cursor_execute", self._note)
        try:
            yield
        finally:
            event.remove(Engine, "before_cursor_execute", self._note)

    def _note(self, *_: object) -> None:
        if self.left == 0:
            raise Killed
        self.left -= 1
