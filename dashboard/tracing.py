"""Traces: spans for OpenTelemetry, which cost nothing unless its own variables turn them on.

A span holds our own names and numbers, never an address, a key, a hash or a foreign text: an error
is told by its class alone.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import version
from typing import Any, Final

from dashboard.domain.secret import quotes
from dashboard.errors import SettingsError

_WHERE: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""The variables of OpenTelemetry that say where spans are sent."""

_OTLP: Final = "OTEL_EXPORTER_OTLP_"
_PARTS: Final = re.compile(r"[/?&=@:,%\s]+")

_OFF: Final = nullcontext()


class Tracing:
    """The spans of this process; `tracer` is None while nobody wants them."""

    def __init__(self) -> None:
        self.tracer: Any = None

    def start(self, role: str) -> Callable[[], None]:
        """Send spans where OpenTelemetry's variables say; return what sends the last of them.

        SettingsError if they say so and the packages of `linewatch[tracing]` are missing.
        """
        named = next((each for each in _WHERE if os.environ.get(each)), None)
        if named is None:
            return lambda: None
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - an extra
                OTLPSpanExporter,
            )
            from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - an extra
            from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - an extra
            from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise SettingsError(
                f"{named} is set, but OpenTelemetry is not installed: install "
                "linewatch[tracing], or remove the variable"
            ) from error
        service = os.environ.get("OTEL_SERVICE_NAME") or f"linewatch-{role}"
        about = {"service.name": service, "service.version": version("linewatch")}
        provider = TracerProvider(resource=Resource.create(about))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        logging.getLogger(OTLPSpanExporter.__module__).addFilter(_without_secrets)
        self.tracer = provider.get_tracer("linewatch")
        return provider.shutdown

    def span(self, name: str, **attributes: str | int) -> AbstractContextManager[None]:
        """Time what happens inside."""
        return _OFF if self.tracer is None else self._recorded(name, attributes)

    @contextmanager
    def _recorded(self, name: str, attributes: dict[str, str | int]) -> Iterator[None]:
        with self.tracer.start_as_current_span(
            name, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as opened:
            try:
                yield
            except BaseException as error:
                opened.set_attribute("error.type", type(error).__name__)
                raise


def _without_secrets(record: logging.LogRecord) -> bool:
    """Keep the address and the headers, which may hold keys, out of what the exporter logs."""
    given = (text for name, text in os.environ.items() if name.startswith(_OTLP))
    if quotes(record.getMessage(), (part for text in given for part in _PARTS.split(text))):
        record.msg, record.args = f"spans cannot be sent: check {_WHERE[0]} and the like", ()
    return True


tracing: Final = Tracing()
"""The one of this process."""
