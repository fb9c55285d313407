"""The page of a share link: open without a sign-in, inert, and gone when the link is over."""

from __future__ import annotations

import re
from datetime import timedelta

import httpx
import pytest
from starlette.responses import PlainTextResponse

from dashboard.application.application import Application, register
from dashboard.application.context import PageSettings
from dashboard.domain.people.access import Actor
from dashboard.domain.people.sign_in import SignInPolicy
from dashboard.store.engine.engine import Store
from dashboard.web.shared_case import SharedCases
from dashboard.web.sign_in import SignInGate
from tests.browser.seeded_store import HOSTILE, SIMULATED, tx_hash
from tests.builders import A_MOMENT
from tests.unit.show.page_runs import UnreadableStore

ADA = Actor("Ada", A_MOMENT)
SITE = "https://watch.example"


@pytest.fixture
def queries(store: Store) -> Application:
    policy = SignInPolicy(timedelta(hours=12), timedelta(days=30))
    settings = PageSettings(sign_in=policy, public_url=SITE)
    made = Application(store, (SIMULATED,), None, lambda: A_MOMENT, settings=settings)
    register(made)
    return made


async def ask(path: str, method: str = "GET") -> httpx.Response:
    """Ask as somebody who is not signed in, past whom nothing gets."""
    app = SharedCases(SignInGate(PlainTextResponse("the pages")))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=SITE) as client:
        return await client.request(method, path)


async def test_somebody_without_a_sign_in_sees_one_case(queries: Application) -> None:
    link, address = queries.sharing.share(tx_hash(1), timedelta(days=7), ADA, HOSTILE)
    path = address.removeprefix(SITE)

    shown = await ask(path)

    assert shown.status_code == 200
    assert shown.headers["cache-control"] == "no-store"
    assert "<h1>Rejected</h1>" in shown.text
    assert str(tx_hash(1)) in shown.text
    assert not re.search(r"<(script|img|a|form|b)\b", shown.text)
    assert (await ask(path, "POST")).status_code == 405
    assert (await ask("/lookup")).status_code == 303
    assert (await ask(f"{path}/x")).status_code == 404

    queries.sharing.revoke(link.link_id, ADA)
    over = await ask(path)
    assert (over.status_code, str(tx_hash(1)) in over.text) == (404, False)


async def test_case_cannot_be_shown_without_the_store() -> None:
    settings = PageSettings(public_url=SITE)
    register(Application(UnreadableStore(), (), None, lambda: A_MOMENT, settings=settings))

    assert (await ask("/case/something")).status_code == 503
