"""Structured logs: one JSON object a line on standard error, hostile text escaped, no secrets."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import TextIO, cast

import structlog
from structlog.typing import EventDict

from dashboard.errors import StoreError


class _Forgiving:
    """A stream whose errors end nothing: on a full disk lines are lost, and work goes on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


def configure_logs(role: str, level: int = logging.INFO) -> None:
    """Send every log of this process, libraries' too, as JSON lines that name the `role`.

    JSON escapes control characters, so upstream text can neither start a line of its own nor
    reach a terminal. Libraries that log request addresses (which hold API keys) are silenced
    below WARNING.
    """
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _Forgiving(sys.stderr))),
    )
    structlog.contextvars.bind_contextvars(role=role)
    handler = logging.StreamHandler(cast("TextIO", _Forgiving(sys.stderr)))
    handler.setFormatter(_of_libraries(role))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for chatty in ("httpx", "httpcore", "websockets", "uvicorn.access", "apscheduler"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def _of_libraries(role: str) -> logging.Formatter:
    """Write the lines of libraries, which may quote foreign text, like our own."""

    def name_subject(_: object, __: str, event: EventDict) -> EventDict:
        return {"subject": event["_record"].name, **event, "role": role}

    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            name_subject,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(),
        ],
    )


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return a logger whose lines say `name` as their subject; facts are keyword arguments."""
    return cast("structlog.stdlib.BoundLogger", structlog.get_logger(subject=name))


def warn_of(log: structlog.stdlib.BoundLogger, what: str, error: Exception) -> None:
    """Log what waits, and why; a mistake of ours with all that leads to it."""
    log.warning(what, why=str(error), exc_info=not isinstance(error, StoreError))
