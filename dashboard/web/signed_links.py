"""Pages behind the links in messages: GET asks, and only the form's POST acts."""

from __future__ import annotations

from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dashboard.application import application
from dashboard.application.signed_links import (
    SILENCED_FOR,
    LinkActions,
    LinkForm,
    LinkResult,
    LinkSubject,
)
from dashboard.application.text import sentence
from dashboard.domain.alerts.incident import LONGEST_NOTE
from dashboard.domain.alerts.signed_link import LinkFault, LinkPurpose, SignedLink
from dashboard.domain.formatting import counted
from dashboard.domain.markup import Markup, element, join, visible
from dashboard.domain.people.access import LONGEST_NAME
from dashboard.errors import InputError, StoreError
from dashboard.logs import get_logger
from dashboard.web.plain_page import OWN_FORM, plain_page, read_form, starting_page, text_field

_QUESTIONS: Final = {
    LinkPurpose.ACKNOWLEDGE: (
        "Acknowledge this incident?",
        "Everybody sees that you work on it; reminders and escalation stop.",
        "Acknowledge",
    ),
    LinkPurpose.SILENCE: (
        "Silence what this incident is about?",
        "Nobody is notified of it, or of anything like it, until the silence ends.",
        "Silence",
    ),
    LinkPurpose.UNSUBSCRIBE: (
        "Stop getting messages?",
        "Nothing is sent to this address any more, whatever happens. Others are still notified.",
        "Unsubscribe",
    ),
    LinkPurpose.VERIFY: (
        "Get alerts at this address?",
        "Linewatch sends alerts there from now on; each has a link to unsubscribe.",
        "Confirm",
    ),
}
_FAULTS: Final = {
    LinkFault.FORGED: (
        "This link is not valid",
        "It was not made by this Linewatch, or a part of it is missing: copy the whole address.",
    ),
    LinkFault.EXPIRED: (
        "This link has expired",
        "Links in messages are valid for some days. The page Alerts does the same.",
    ),
}
_PAGE_ALERTS: Final = element(
    "p", element("a", "Open the page Alerts", href="../alerts", rel="noreferrer")
)


def confirm_page(subject: LinkSubject, length: str = "") -> str:
    """Ask for confirmation; `length` is how long to silence, as the link in the message said."""
    question, consequence, button = _QUESTIONS[subject.link.purpose]
    if subject.done and subject.link.purpose is LinkPurpose.ACKNOWLEDGE:
        done = element("p", element("strong", subject.done))
        return plain_page("Acknowledged already", _about(subject), done, _PAGE_ALERTS)
    form = element(
        "form",
        *_fields(subject, length if length in SILENCED_FOR else "1h"),
        element("button", button, type="submit"),
        method="post",
        action="",
    )
    done = element("p", element("strong", subject.done)) if subject.done else Markup()
    preview = element("p", visible(subject.preview, 600)) if subject.preview else Markup()
    return plain_page(question, _about(subject), done, element("p", consequence), preview, form)


def done_page(result: LinkResult) -> str:
    """Say what was done."""
    return plain_page(result.headline, element("p", result.text), _PAGE_ALERTS)


def fault_page(fault: LinkFault) -> str:
    """Say why a link cannot be used."""
    headline, text = _FAULTS[fault]
    return plain_page(headline, element("p", text), _PAGE_ALERTS)


def _about(subject: LinkSubject) -> Markup:
    rows = [("About", visible(subject.title, 400))]
    if subject.state:
        if subject.last:
            name = "Transaction" if subject.changes == 1 else "Latest"
            rows.append((name, visible(subject.last, 600)))
        changes = counted(subject.changes, "change")
        rows += [("State", f"{subject.state}, {changes}"), ("Since", subject.since)]
    return element("dl", *(join(element("dt", name), element("dd", value)) for name, value in rows))


def _fields(subject: LinkSubject, length: str) -> list[Markup]:
    address = visible(subject.link.recipient.address, LONGEST_NAME)
    fields = [text_field("name", "Your name", address, LONGEST_NAME)]
    if subject.link.purpose is LinkPurpose.SILENCE:
        fields.append(_length_field(length))
    if subject.link.incident_id is not None:
        fields.append(text_field("note", "Note (optional)", "", LONGEST_NOTE))
    return fields


def _length_field(chosen: str) -> Markup:
    choices = [
        element(
            "label",
            element(
                "input",
                type="radio",
                name="for",
                value=each,
                checked="" if each == chosen else None,
            ),
            f" {each}",
        )
        for each in SILENCED_FOR
    ]
    return element("fieldset", element("legend", "For"), *choices)


PATH: Final = "/link/"
"""What the path of every signed link begins with; the signed text follows."""

_STATUSES: Final = {LinkFault.FORGED: 404, LinkFault.EXPIRED: 410}
_log = get_logger("links")


class SignedLinks:
    """ASGI middleware that answers the signed links of messages, and passes all else on."""

    def __init__(self, app: ASGIApp) -> None:
        """Answer in front of the pages."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a link, or pass on."""
        if scope["type"] != "http" or not scope["path"].startswith(PATH):
            await self._app(scope, receive, send)
            return
        response = await _answer(Request(scope, receive))
        response.headers.update(OWN_FORM)
        await response(scope, receive, send)


async def _answer(request: Request) -> Response:
    if request.method not in {"GET", "HEAD", "POST"}:
        page = plain_page("Not possible", element("p", "A link is opened, or its form sent."))
        return HTMLResponse(page, 405, {"Allow": "GET, HEAD, POST"})
    if not application.is_registered():
        return starting_page()
    text = request.url.path.removeprefix(PATH)
    try:
        links = application.current().links
        link = await run_in_threadpool(links.read, text)
        if isinstance(link, LinkFault):  # a stranger's body is not read
            return HTMLResponse(fault_page(link), _STATUSES[link])
        form = await read_form(request)
        length = request.query_params.get("for", "")
        return await run_in_threadpool(_respond, links, link, form, length)
    except InputError as mistake:
        said = element("p", sentence(str(mistake)), " Go back and correct it.")
        return HTMLResponse(plain_page("Nothing was changed", said), 400)
    except StoreError as trouble:
        _log.error("a link could not be answered", why=str(trouble))
        said = element("p", "The store cannot be used now. Try again in a moment.")
        return HTMLResponse(plain_page("Nothing was changed", said), 503)


def _respond(links: LinkActions, link: SignedLink, form: LinkForm | None, length: str) -> Response:
    """Ask for confirmation where no form was sent, else act."""
    if form is None:
        return HTMLResponse(confirm_page(links.about(link), length))
    return HTMLResponse(done_page(links.act(link, form)))
