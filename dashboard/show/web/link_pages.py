"""What a signed link shows: a form to confirm what it does, what was done, what is wrong."""

from __future__ import annotations

from typing import Final

from dashboard.domain.audit import LONGEST_NAME
from dashboard.domain.foreign_text import visible
from dashboard.domain.formatting import counted
from dashboard.domain.incident_response import LONGEST_NOTE
from dashboard.domain.signed_link import LinkFault, LinkPurpose
from dashboard.show.parts.markup import Markup, element, join
from dashboard.show.queries.signed_links import SILENCED_FOR, LinkResult, LinkSubject
from dashboard.show.web.plain_page import plain_page

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
    form = element(
        "form",
        *_fields(subject, length if length in SILENCED_FOR else "1h"),
        element("button", button, type="submit"),
        method="post",
        action="",
    )
    done = element("p", element("strong", subject.done)) if subject.done else Markup()
    preview = element("p", visible(subject.preview, 600)) if subject.preview else Markup()
    return plain_page(question, _facts(subject), done, element("p", consequence), preview, form)


def done_page(result: LinkResult) -> str:
    """Say what was done."""
    return plain_page(result.headline, element("p", result.text), _PAGE_ALERTS)


def fault_page(fault: LinkFault) -> str:
    """Say why a link cannot be used."""
    headline, text = _FAULTS[fault]
    return plain_page(headline, element("p", text), _PAGE_ALERTS)


def _facts(subject: LinkSubject) -> Markup:
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
    fields = [_text_field("name", "Your name", address, LONGEST_NAME)]
    if subject.link.purpose is LinkPurpose.SILENCE:
        fields.append(_length_field(length))
    if subject.link.incident_id is not None:
        fields.append(_text_field("note", "Note (optional)", "", LONGEST_NOTE))
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


def _text_field(name: str, label: str, value: str, longest: int) -> Markup:
    field = element("input", type="text", id=name, name=name, value=value, maxlength=str(longest))
    return join(element("label", label, for_=name), field)
