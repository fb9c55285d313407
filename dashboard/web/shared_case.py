"""The page behind a share link: the verdict and the text for a customer, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from dashboard.application import application
from dashboard.application.share_links import CASE, SharedCase
from dashboard.domain.formatting import capitalized
from dashboard.domain.markup import element, visible
from dashboard.domain.secret import Secret
from dashboard.web.plain_page import LinkPages, notice, plain_page

_LONGEST_TEXT: Final = 10_000


class SharedCases(LinkPages):
    """Answers share links."""

    path = CASE
    use = "A share link is only opened."
    without_store = "Nothing can be shown now"
    headers: ClassVar[Mapping[str, str]] = {"Cache-Control": "no-store"}

    async def answer(self, request: Request) -> Response:
        """Show the case, as long as its link is valid."""
        secret = Secret(request.url.path.removeprefix(CASE))
        shown = await run_in_threadpool(application.current().sharing.shown, secret)
        if shown is None:
            said = "It has expired or was revoked: ask for a new one."
            return notice(404, "This link has ended", said)
        return HTMLResponse(_page(shown))


def _page(shown: SharedCase) -> str:
    title = "Your transaction" if shown.verdict is None else capitalized(shown.verdict.value)
    lines = shown.text[:_LONGEST_TEXT].splitlines()
    text = element("div", *(element("p", visible(line)) for line in lines if line.strip()))
    return plain_page(title, text)
