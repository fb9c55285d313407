"""Every address of the pages' process, asked by a stranger and by somebody of each role."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import httpx
import pytest
from starlette.types import ASGIApp

from dashboard.application.accounts import INVITATION
from dashboard.application.application import Application
from dashboard.application.share_links import CASE
from dashboard.application.text import PAGES
from dashboard.domain.people.access import Role
from dashboard.web.api.endpoint import PREFIX
from dashboard.web.api.server import ENDPOINTS, ManagementApi
from dashboard.web.factors import PASSKEYS
from dashboard.web.files import PageFiles, SiteMap
from dashboard.web.shared_case import SharedCases
from dashboard.web.sign_in import LIVE
from dashboard.web.signed_links import PATH, SignedLinks
from dashboard.web.strict_headers import StrictHeaders
from dashboard.web.upload_bound import UploadBound, UploadLimits
from dashboard.wiring.pages import (
    MIDDLEWARE,
    pages_host_check,
    pages_sign_in,
    pages_upload_bound,
)
from tests.unit.show.web.gate_site import pages, queries, signed_in, store
from tests.unit.show.web.test_sign_in import BEHIND

__all__ = ["queries", "store"]

TO_SIGN_IN, SIGNED_OUT, NOT_FOUND, GIVEN = 303, 401, 404, 200
ANSWERS: Final[Mapping[object, Mapping[str, tuple[int, int]]]] = {
    StrictHeaders: {},
    pages_host_check: {},
    SignedLinks: {f"GET {PATH}made-up": (NOT_FOUND, NOT_FOUND)},
    SharedCases: {f"GET {CASE}made-up": (NOT_FOUND, NOT_FOUND)},
    ManagementApi: {
        **{
            f"{each.verb} {PREFIX}{each.path}": (SIGNED_OUT, SIGNED_OUT)  # a cookie is no token
            for each in ENDPOINTS
        },
        f"GET {PREFIX}/openapi.json": (SIGNED_OUT, SIGNED_OUT),
        f"GET {PREFIX}/moon": (SIGNED_OUT, SIGNED_OUT),
    },
    pages_sign_in: {
        f"GET {LIVE}": (GIVEN, GIVEN),
        "GET /sign-in": (GIVEN, TO_SIGN_IN),  # where whoever is signed in is led to the pages
        "GET /sign-out": (TO_SIGN_IN, TO_SIGN_IN),
        "GET /account": (TO_SIGN_IN, GIVEN),
        f"GET {INVITATION}made-up": (NOT_FOUND, NOT_FOUND),
        f"GET {PASSKEYS}moon": (NOT_FOUND, NOT_FOUND),
    },
    pages_upload_bound: {"PUT /_stcore/upload_file/a/b": (SIGNED_OUT, GIVEN)},
    PageFiles: {"GET /static/js/made-up.js": (SIGNED_OUT, GIVEN)},
    SiteMap: {
        **{f"GET /{name}": (TO_SIGN_IN, GIVEN) for name in PAGES},
        "GET /_stcore/metrics": (SIGNED_OUT, NOT_FOUND),
    },
}
"""What each piece in front of Streamlit answers: to a stranger, and to whoever is signed in."""

STREAMLIT: Final = {f"GET {path}": (SIGNED_OUT, GIVEN) for path in BEHIND if path[1:] not in PAGES}
"""Addresses of Streamlit itself, for which `pages` stands in."""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ASGIApp:
    """Return what stands in front of Streamlit, as it is wired, and `pages` behind it."""
    monkeypatch.setenv("LINEWATCH_HOME", str(tmp_path))
    limits = UploadLimits(1_000, 1_000)
    app: ASGIApp = pages
    for each in reversed(MIDDLEWARE):
        piece: object = each.cls
        if piece is pages_upload_bound:  # it asks Streamlit's runtime, which is not here
            app = UploadBound(app, limits, dict)
        else:
            app = each.cls(app, *each.args, **each.kwargs)
    return app


def test_no_piece_in_front_of_streamlit_is_without_an_answer() -> None:
    assert set(ANSWERS) == {each.cls for each in MIDDLEWARE}


async def test_stranger_and_each_role_get_what_the_table_says(
    app: ASGIApp, queries: Application
) -> None:
    routes = {**STREAMLIT}
    for each in ANSWERS.values():
        routes |= each
    for who in (None, *Role):
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="https://localhost"
        ) as client:
            if who is not None:
                await signed_in(client, queries, who.value, who)
            for route, (to_stranger, to_person) in routes.items():
                verb, _, path = route.partition(" ")
                answer = await client.request(verb, f"https://localhost{path}")
                expected = to_stranger if who is None else to_person
                assert answer.status_code == expected, (who, route, answer.text[:200])
                assert who is not None or "identities" not in answer.text, route
