"""The access log: one line for a request, with its route and never its path."""

from __future__ import annotations

import pytest
from starlette.types import Receive, Scope, Send
from structlog.testing import capture_logs

from dashboard.serve.counters import Counters
from dashboard.serve.monitoring.health import AccessLog
from dashboard.serve.routes import SCOPE_CALLER, SCOPE_ROUTE
from tests.unit.serve.asgi_connection import Connection


def a_request(path: str) -> Scope:
    return {"type": "http", "method": "GET", "path": path}


async def an_app(scope: Scope, _receive: Receive, send: Send) -> None:
    scope[SCOPE_ROUTE] = "/live" if scope["path"] == "/live" else "/v3/<key>"
    scope[SCOPE_CALLER] = "wallets"
    await send({"type": "http.response.start", "status": 418})


async def test_line_names_the_route_the_caller_and_the_status() -> None:
    connection = Connection()

    with capture_logs() as lines:
        await AccessLog(an_app, Counters())(
            a_request("/v3/k3y"), connection.receive, connection.send
        )

    (line,) = lines
    assert (line["verb"], line["route"], line["key"]) == ("GET", "/v3/<key>", "wallets")
    assert line["status"] == 418
    assert line["milliseconds"] >= 0
    assert "k3y" not in str(line)


async def test_health_probes_leave_no_line() -> None:
    connection = Connection()

    with capture_logs() as lines:
        await AccessLog(an_app, Counters())(a_request("/live"), connection.receive, connection.send)

    assert lines == []


async def test_request_that_breaks_the_app_leaves_a_line_too() -> None:
    async def broken(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise ZeroDivisionError

    connection = Connection()

    with capture_logs() as lines, pytest.raises(ZeroDivisionError):
        await AccessLog(broken, Counters())(a_request("/"), connection.receive, connection.send)

    assert [(line["route"], line["status"]) for line in lines] == [("unknown", 0)]
