"""Ended sessions lose their pages whatever went wrong before, and trouble is logged once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import pytest
from structlog.testing import capture_logs

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.errors import StoreUnavailable
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.web.sign_in import SIGNED_OUT
from tests.flaky_store import PassingStore
from tests.unit.show.web.gate_site import GATE, POLICY, browser, queries, signed_in, store
from tests.unit.show.web.test_sign_in import Socket
from tests.waiting import eventually_async

__all__ = ["queries", "store"]


class TroubledStore(PassingStore):
    """The same store, which cannot be read while there is trouble."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.trouble: Exception | None = None
        self.refused = 0

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Fail, or read."""
        if self.trouble is not None:
            self.refused += 1
            raise self.trouble
        with super().read() as connection:
            yield connection


@pytest.mark.parametrize(
    "trouble", [StoreUnavailable("the disk is gone"), RuntimeError("can't start new thread")]
)
async def test_session_that_ends_after_trouble_loses_its_page(
    queries: Application, trouble: Exception
) -> None:
    troubled = TroubledStore(queries.context.store)
    settings = PageSettings(sign_in=POLICY)
    async with browser() as client:
        await signed_in(client, queries, "Ada")
        [session] = queries.people.sessions()
        socket = Socket(client.cookies["__Host-linewatch"])
    application.register(Application(troubled, (), None, queries.now, settings=settings))
    with capture_logs() as lines:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(GATE.watch)
            tasks.start_soon(socket.converse)
            await eventually_async(lambda: len(socket.sent) > 1, what="the page")
            troubled.trouble = trouble
            await eventually_async(lambda: troubled.refused > 1, what="the trouble")
            troubled.trouble = None
            queries.people.end_own_session(session.session_id, session.session_id)
            await eventually_async(
                lambda: socket.sent[-1]["type"] == "websocket.close", what="the end"
            )
            tasks.cancel_scope.cancel()

    assert socket.sent[-1]["code"] == SIGNED_OUT
    assert [line["why"] for line in lines if "why" in line] == [str(trouble)]
