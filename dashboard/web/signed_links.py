"""Pages behind the links in messages: GET asks, and only the form's POST acts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final
from urllib.parse import quote, unquote
from uuid import UUID

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from dashboard.application import application
from dashboard.application.incident_words import severity_style
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
from dashboard.domain.formatting import capitalized, counted
from dashboard.domain.markup import Markup, element, join, visible
from dashboard.domain.people.access import LONGEST_NAME, parse_name
from dashboard.errors import InputError
from dashboard.web.plain_page import (
    OWN_FORM,
    LinkPages,
    notice,
    plain_page,
    post_form,
    read_form,
    submit,
    text_field,
)
from dashboard.web.session_cookie import cookie_of

_QUESTIONS: Final = {
    LinkPurpose.ACKNOWLEDGE: (
        "Acknowledge this incident?",
        "Everybody sees that you work on it. Reminders and escalation stop.",
        "Acknowledge",
    ),
    LinkPurpose.SILENCE: (
        "Silence this incident?",
        "Nobody is notified of it, or of anything like it, until the silence ends.",
        "Silence",
    ),
    LinkPurpose.UNSUBSCRIBE: (
        "Stop getting messages?",
        "No more messages go to this address. Others are still notified.",
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
        "Links in messages are valid for some days. You can do the same on the page Alerts.",
    ),
}
_NAME: Final = "linewatch-name"
"""The cookie with the name under which somebody acts by links in this browser."""

_REMEMBERED_FOR: Final = 366 * 24 * 3600


def confirm_page(subject: LinkSubject, length: str = "", name: str = "") -> str:
    """Ask for confirmation.

    `length` is how long to silence, according to the link in the message; `name` is who acted by a
    link in this browser before.
    """
    purpose = subject.link.purpose
    if subject.link.incident_id is None:
        question, consequence, _ = _QUESTIONS[purpose]
        about = element("p", element("strong", visible(subject.title, 400)))
        if subject.done:
            said = element("p", subject.done)
            return plain_page("Nothing is left to do", said, _further(None), tone="calm")
        form = _form(subject, length, name)
        return plain_page(question, about, element("p", consequence), form)
    title = visible(subject.title, 400)
    if not subject.state:
        return plain_page(title, _further(None))
    is_done = bool(subject.done) and purpose is LinkPurpose.ACKNOWLEDGE
    kind, sign, word = severity_style(subject.severity)
    return plain_page(
        title,
        element("p", _since(subject), class_="quiet"),
        _done(subject),
        Markup() if is_done else _form(subject, length, name),
        _facts(subject),
        _further(subject.link.incident_id),
        above=_badges(f"{sign} {word}", capitalized(subject.state)),
        tone=kind,
    )


def done_page(result: LinkResult, incident_id: UUID | None = None) -> str:
    return plain_page(
        result.headline, element("p", result.text), _further(incident_id), tone="calm"
    )


def fault_page(fault: LinkFault) -> str:
    headline, text = _FAULTS[fault]
    return plain_page(headline, element("p", text), _further(None), tone="busy")


def _badges(*words: str) -> Markup:
    return element(
        "div", *(element("span", each, class_="badge") for each in words), class_="badges"
    )


def _since(subject: LinkSubject) -> str:
    """Say since when it lasts, and how many changes it has unless its title counts rejections."""
    is_counted = subject.changes == 1 or bool(subject.last)
    many = "" if is_counted else f", {counted(subject.changes, 'change')}"
    return f"Since {subject.since}{many}"


def _done(subject: LinkSubject) -> Markup:
    return element("p", element("strong", subject.done)) if subject.done else Markup()


def _facts(subject: LinkSubject) -> Markup:
    """Say what a silence covers or what else is acknowledged, and what was rejected last."""
    rows = []
    if subject.preview:
        rows.append(("Covers", visible(subject.preview, 600)))
    if subject.last:
        name = "Transaction" if subject.changes == 1 else "Latest"
        rows.append((name, visible(subject.last, 600)))
    pairs = (join(element("dt", name), element("dd", value)) for name, value in rows)
    return element("dl", *pairs) if rows else Markup()


def _further(incident_id: UUID | None) -> Markup:
    """Link to the timeline of an incident, or to the page Alerts."""
    words, place = "Open Alerts", "../alerts"
    if incident_id is not None:
        words, place = "Open timeline", f"../alerts?incident={incident_id}"
    return element("p", element("a", words, href=place, rel="noreferrer", class_="button"))


def _form(subject: LinkSubject, length: str, name: str) -> Markup:
    """Ask who acts, and for how long if that matters, with the one button."""
    link = subject.link
    _, consequence, button = _QUESTIONS[link.purpose]
    usual = name or visible(link.recipient.address, LONGEST_NAME)
    is_of_incident = link.incident_id is not None
    note = text_field("note", "Note", "", LONGEST_NOTE)
    return post_form(
        text_field("name", "Your name", usual, LONGEST_NAME),
        _length_field(length) if link.purpose is LinkPurpose.SILENCE else Markup(),
        submit(button),
        element("p", consequence, class_="quiet") if is_of_incident else Markup(),
        element("details", element("summary", "Add a note"), note) if is_of_incident else Markup(),
        class_="act",
    )


def _length_field(wanted: str) -> Markup:
    chosen = wanted if wanted in SILENCED_FOR else next(iter(SILENCED_FOR))
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
            f" {each.removesuffix('h')} h",
        )
        for each in SILENCED_FOR
    ]
    return element("fieldset", element("legend", "For"), *choices)


PATH: Final = "/link/"
"""The beginning of the path of every signed link; the signed text follows."""

_STATUSES: Final = {LinkFault.FORGED: 404, LinkFault.EXPIRED: 410}


class SignedLinks(LinkPages):
    """Answers the signed links of messages."""

    path = PATH
    methods: ClassVar[Sequence[str]] = ("GET", "HEAD", "POST")
    use = "A link is opened, or its form sent."
    without_store = "Nothing was changed"
    headers: ClassVar[Mapping[str, str]] = OWN_FORM

    async def answer(self, request: Request) -> Response:
        """Ask for confirmation, or do what the link is for."""
        links = application.current().links
        link = await run_in_threadpool(links.read, request.url.path.removeprefix(PATH))
        if isinstance(link, LinkFault):  # a stranger's body is not read
            return HTMLResponse(fault_page(link), _STATUSES[link])
        known = (request.query_params.get("for", ""), _name_of(request))
        try:
            form = await read_form(request)
            response = await run_in_threadpool(_respond, links, link, form, known)
        except InputError as mistake:
            said = sentence(capitalized(str(mistake)))
            return notice(400, "Nothing was changed", said, " Go back and correct it.")
        _remember(response, request, "" if form is None else form.get("name", ""), link)
        return response


def _respond(
    links: LinkActions, link: SignedLink, form: LinkForm | None, known: tuple[str, str]
) -> Response:
    """Ask for confirmation if no form was sent, else act."""
    if form is None:
        return HTMLResponse(confirm_page(links.about(link), *known))
    return HTMLResponse(done_page(links.act(link, form), link.incident_id))


def _name_of(request: Request) -> str:
    """Return the name under which somebody acted by a link in this browser; empty for none."""
    try:
        return parse_name(unquote(cookie_of(request.scope, _NAME)))
    except InputError:
        return ""


def _remember(response: Response, request: Request, name: str, link: SignedLink) -> None:
    """Let the browser keep the name of who acted, unless it is the address of the recipient."""
    if name.strip() in {"", link.recipient.address}:
        return
    response.set_cookie(
        _NAME,
        quote(name.strip(), safe=""),
        max_age=_REMEMBERED_FOR,
        path=PATH,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
