"""The management API over a seeded store, served over a real socket."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
import uvicorn
from sqlalchemy import func, select
from starlette.applications import Starlette

from dashboard.application.application import Application, register
from dashboard.application.context import CheckedText, PageSettings, SettingChange
from dashboard.application.tokens import Tokens
from dashboard.domain.people.access import Actor, Role
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.domain.people.sign_in import SignInPolicy
from dashboard.domain.quantity import Clock
from dashboard.settings import load_settings
from dashboard.store.engine.engine import Store
from dashboard.web.api.endpoint import PREFIX, Endpoint
from dashboard.web.api.server import ManagementApi
from dashboard.wiring.page_settings import ChoosingSettings, StoredAnswerFile
from tests.browser.seeded_store import SILENT, SIMULATED, tx_hash
from tests.builders import A_MOMENT
from tests.one_by_one import audited
from tests.waiting import PATIENCE

POLICY = SignInPolicy(timedelta(hours=12), timedelta(days=30))
HASH = str(tx_hash(1))
A_DAY = timedelta(days=1)
PATHS = {
    "hash": HASH,
    "sender": "0x" + "1" * 40,
    "id": "0" * 32,
    "number": "1",
    "name": "nobody",
}


def checked(text: str) -> CheckedText:
    """Stand in for what checks a text of settings."""
    change = SettingChange("devnet.mode", "auto", "off", needs_restart=True)
    return CheckedText((f"{len(text)} characters",), (change,), ("mail.password",))


@dataclass(slots=True)
class Site:
    """The API over a seeded store, at a moment that a test moves."""

    store: Store
    client: httpx.Client
    moment: list[Any]
    folder: Path

    def now(self) -> Any:  # noqa: ANN401 - a moment
        return self.moment[0]

    @property
    def application(self) -> Application:
        return self._application(self.now)

    def _application(self, clock: Clock) -> Application:
        settings = PageSettings(
            sign_in=POLICY,
            public_url="https://watch.example",
            check_text=checked,
            answers=StoredAnswerFile(self.folder / "answers.toml"),
            recipients=ConfiguredRecipients(is_open=True),
            choosing=ChoosingSettings(load_settings({"LINEWATCH_HOME": str(self.folder)})),
        )
        return Application(self.store, (SIMULATED, SILENT), None, clock, settings=settings)

    def token(
        self,
        role: Role = Role.ADMIN,
        name: str = "",
        subjects: frozenset[str] | None = None,
        person: str | None = None,
    ) -> dict[str, str]:
        """Make a token; return the header that presents it."""
        tokens = Tokens(self.application.context)
        by = Actor("root", self.now())
        made = tokens.create(name or role.value, role, timedelta(days=30), by, subjects, person)
        return {"Authorization": f"Bearer {made.secret.reveal()}"}

    def count(self, table: Any) -> int:  # noqa: ANN401 - a table
        with self.store.read() as connection:
            return connection.scalars(select(func.count()).select_from(table)).one()

    def acted(self) -> int:
        """Return how many acts are on record."""
        return len(audited(self.store))


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """Serve the API once; it answers for the application that is registered."""
    with _served() as address, httpx.Client(base_url=address, timeout=PATIENCE) as client:
        yield client


@pytest.fixture
def site(store: Store, client: httpx.Client, tmp_path: Path) -> Site:
    site = Site(store, client, [A_MOMENT], tmp_path)
    register(site.application)
    return site


@contextmanager
def _served() -> Iterator[str]:
    """Serve the API, and nothing behind it; yield its address."""
    config = uvicorn.Config(ManagementApi(Starlette()), log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    kind = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    with socket.socket(*kind) as listener:  # so that asyncio sends small parts at once
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def send(
    site: Site,
    endpoint: Endpoint,
    headers: dict[str, str],
    **more: Any,  # noqa: ANN401 - of httpx
) -> httpx.Response:
    path = re.sub(r"\{(\w+)\}", lambda part: PATHS[part[1]], endpoint.path)
    return site.client.request(endpoint.verb, PREFIX + path, headers=headers, **more)


def plan(**said: Any) -> dict[str, Any]:  # noqa: ANN401 - of JSON
    return {
        "matchers": ["rule = rejections"],
        "endsAt": (A_MOMENT + A_DAY).isoformat(),
        "reason": "planned work",
        **said,
    }
