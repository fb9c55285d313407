"""Write the message of a notification: what changed, why, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from jinja2 import Template

from dashboard.alert.incident_text import describe, tone_of
from dashboard.alert.message import Message
from dashboard.domain.advice import advise
from dashboard.domain.condition import INSTALLATION, SubjectKind
from dashboard.domain.exclusion import CLOCK_IS_WRONG, StoredRejection
from dashboard.domain.foreign_text import visible
from dashboard.domain.formatting import moment
from dashboard.domain.module_limits import ModuleLimits
from dashboard.domain.notification import Notification
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.reason_explanation import explain, overrun
from dashboard.domain.reason_parser import Reason, ReasonKind, parse_reason

_LONGEST_REASON: Final = 1100
"""Characters of a reason that are quoted; the exclusion API takes at most 1024."""

_HEADLINES: Final = {
    ReasonKind.MODULE_UNDEFINED: "no limit known for {module}",
    ReasonKind.INVALID_COUNT: "proof lines could not be counted",
    ReasonKind.OTHER_RULE: "another rule than a line limit",
    ReasonKind.UNPARSED: "unknown reason",
}


@dataclass(frozen=True, slots=True)
class NetworkName:
    """The title of a network, whether its data is simulated, and its table of limits."""

    title: str
    is_simulated: bool = False
    module_limits: ModuleLimits | None = None


@dataclass(frozen=True, slots=True)
class Links:
    """The addresses that messages link to; without `public_url` they hold no link."""

    public_url: str = ""

    def lookup(self, tx_hash: TxHash) -> str:
        """Return the address of the transaction's page, or nothing."""
        base = self.public_url.rstrip("/")
        return f"{base}/lookup?tx={tx_hash}" if base else ""

    def page(self, name: str, network_id: NetworkId) -> str:
        """Return the address of a page about one network, or about all, or nothing."""
        base = self.public_url.rstrip("/")
        about = "" if network_id == INSTALLATION else f"?network={network_id}"
        return f"{base}/{name}{about}" if base else ""


@dataclass(frozen=True, slots=True)
class TemplatePair:
    """The two templates of one kind of message."""

    text: Template
    html: Template


@dataclass(frozen=True, slots=True)
class MessageTemplates:
    """The loaded templates, and what every message of this installation needs."""

    rejection: TemplatePair
    condition: TemplatePair
    networks: Mapping[NetworkId, NetworkName]
    links: Links = Links()


def compose(notification: Notification, templates: MessageTemplates) -> Message:
    """Write the message; the same notification gives the same message at every attempt.

    Foreign text appears only as the reason's quotation, with unseen characters shown as codes
    and, in HTML, escaped by the template.
    """
    subject = notification.transition.subject
    named = NetworkName(f"network {subject.network_id}")
    if subject.network_id == INSTALLATION:
        named = NetworkName("none: this is about Linewatch itself")
    network = templates.networks.get(subject.network_id, named)
    if subject.kind is SubjectKind.TRANSACTION:
        pair = templates.rejection
        facts = _transaction_facts(notification, network, templates.links)
    else:
        pair = templates.condition
        facts = _condition_facts(notification, network, templates.links)
    facts |= {"is_simulated": network.is_simulated, "tone": tone_of(notification.transition)}
    return Message(str(facts["subject"]), pair.text.render(facts), pair.html.render(facts))


def _condition_facts(
    notification: Notification, network: NetworkName, links: Links
) -> dict[str, object]:
    """Return the variables of the templates of a network's condition."""
    title = visible(network.title)
    text = describe(notification.transition, notification.incident, title)
    simulated = " (simulated data)" if network.is_simulated else ""
    return {
        "subject": f"[Linewatch] {text.headline}{simulated}",
        "network": title,
        "kicker": str(notification.transition.after),
        "headline": text.headline,
        "opening": text.opening,
        "explanation": text.explanation,
        "next_steps": text.next_steps,
        "rows": text.rows,
        "quote": text.quote,
        "link": links.page(text.page, notification.transition.subject.network_id),
        "changed_at": moment(notification.transition.at),
    }


def _transaction_facts(
    notification: Notification, network: NetworkName, links: Links
) -> dict[str, object]:
    """Return the variables of the templates of a rejection."""
    tx_hash = notification.transition.subject.tx_hash
    is_changed = notification.transition.before is notification.transition.after
    facts: dict[str, object] = {
        "network": visible(network.title),
        "is_changed": is_changed,
        "headline": "a rejection was recorded",
        "tx_hash": str(tx_hash or ""),
        "short_hash": "" if tx_hash is None else shorten_hash(tx_hash),
        "link": "" if tx_hash is None else links.lookup(tx_hash),
        "changed_at": moment(notification.transition.at),
    }
    if notification.rejection is not None:
        facts |= _rejection_facts(notification.rejection, network.module_limits)
    what = "Rejection changed" if is_changed else "Rejected"
    simulated = " (simulated data)" if network.is_simulated else ""
    subject = f"{what} on {facts['network']}{simulated}: {facts['headline']}"
    return facts | {"subject": f"[Linewatch] {subject} ({facts['short_hash']})"}


def _rejection_facts(rejection: StoredRejection, limits: ModuleLimits | None) -> dict[str, object]:
    record = rejection.record
    reason = parse_reason(record.reason_message, limits)
    return {
        "headline": headline(reason),
        "explanation": explain(reason),
        "overrun": overrun(reason),
        "reason": visible(record.reason_message, _LONGEST_REASON),
        "next_steps": advise(reason, record.nonce),
        "rows": _rows(rejection),
    }


def _rows(rejection: StoredRejection) -> list[tuple[str, str]]:
    """Return the record as labelled lines, those without a value left out."""
    record = rejection.record
    wrong = f". {CLOCK_IS_WRONG}" if rejection.is_dated_ahead else ""
    rows = [
        ("Sender", str(record.sender)),
        ("Nonce", str(record.nonce)),
        ("Stage", str(record.tx_rejection_stage)),
        ("Dated", f"{moment(record.timestamp)}, as the node claims{wrong}"),
        ("First seen", f"{moment(rejection.first_seen_at)}, by Linewatch"),
    ]
    if record.block_number is not None:
        rows.append(("Block", str(record.block_number)))
    return rows


def headline(reason: Reason) -> str:
    """Say the reason in a few words, without foreign text."""
    if reason.kind is not ReasonKind.OVER_LIMIT:
        return _HEADLINES[reason.kind].format(module=reason.module)
    if reason.module is None:
        return "more proof lines than a block holds"
    return f"{reason.module} {'is not supported' if reason.limit == 0 else 'over its limit'}"


def shorten_hash(tx_hash: TxHash) -> str:
    """Print the ends of a hash, such as ``0x2d6a…800e``."""
    text = str(tx_hash)
    return f"{text[:6]}…{text[-4:]}"
