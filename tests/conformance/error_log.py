"""What a running server must never log: an error that nobody caught."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from structlog.testing import capture_logs
from structlog.typing import EventDict

_ERRORS = ("error", "critical", "exception")


@dataclass(eq=False)
class Watch(logging.Handler):
    """Collects errors from the log, from the server's own loggers and from threads that died."""

    events: list[EventDict] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(logging.ERROR)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))

    def note_death(self, death: threading.ExceptHookArgs) -> None:
        self.lines.append(repr(death))

    def note_unraisable(self, loss: sys.UnraisableHookArgs) -> None:
        self.lines.append(repr(loss))

    def check(self) -> None:
        """AssertionError names the first errors; forget all that was no error."""
        wrong = [event for event in self.events if event["log_level"] in _ERRORS]
        self.events.clear()
        assert not wrong, wrong[:3]
        assert not self.lines, self.lines[:3]


@contextmanager
def watching() -> Iterator[Watch]:
    """Collect errors while this lasts."""
    with capture_logs() as events:
        watch = Watch(events)
        hooks = (threading.excepthook, sys.unraisablehook)
        logging.getLogger().addHandler(watch)
        threading.excepthook, sys.unraisablehook = watch.note_death, watch.note_unraisable
        try:
            yield watch
        finally:
            logging.getLogger().removeHandler(watch)
            threading.excepthook, sys.unraisablehook = hooks
