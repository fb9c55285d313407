"""Write the letter of a notice: what changed, why, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from jinja2 import Template

from dashboard.alert.letter import Letter
from dashboard.domain.exclusion import StoredRejection
from dashboard.domain.foreign import visible
from dashboard.domain.notice import Notice
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.reason import Reason, ReasonKind, explain, overrun, parse_reason
from dashboard.domain.remedy import advise

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
    """What people call a network, and whether its data is made up."""

    title: str
    is_simulated: bool = False


@dataclass(frozen=True, slots=True)
class Links:
    """Where letters point to; without `public_url` they hold no link."""

    public_url: str = ""

    def lookup(self, tx_hash: TxHash) -> str:
        """Return the address of the transaction's page, or nothing."""
        base = self.public_url.rstrip("/")
        return f"{base}/lookup?tx={tx_hash}" if base else ""


@dataclass(frozen=True, slots=True)
class Stationery:
    """The templates of a letter, loaded, and what every letter of this installation says."""

    text: Template
    html: Template
    networks: Mapping[NetworkId, NetworkName]
    links: Links = Links()


def compose(notice: Notice, stationery: Stationery) -> Letter:
    """Write the letter; the same notice gives the same letter at every attempt.

    Foreign text appears only as the reason's quotation, with unseen characters shown as codes
    and, in HTML, escaped by the template.
    """
    network_id = notice.transition.subject.network_id
    network = stationery.networks.get(network_id, NetworkName(f"network {network_id}"))
    facts = _facts(notice, network, stationery.links)
    return Letter(
        subject=_subject(facts),
        text=stationery.text.render(facts),
        html=stationery.html.render(facts),
    )


def _subject(facts: Mapping[str, object]) -> str:
    simulated = " (simulated data)" if facts["is_simulated"] else ""
    return (
        f"[Linewatch] Rejected on {facts['network']}{simulated}: "
        f"{facts['headline']} ({facts['short_hash']})"
    )


def _facts(notice: Notice, network: NetworkName, links: Links) -> dict[str, object]:
    """Return what the templates may say, under the names that they use."""
    tx_hash = notice.transition.subject.tx_hash
    facts: dict[str, object] = {
        "network": visible(network.title),
        "is_simulated": network.is_simulated,
        "headline": "a rejection was recorded",
        "tx_hash": str(tx_hash or ""),
        "short_hash": "" if tx_hash is None else shorten_hash(tx_hash),
        "link": "" if tx_hash is None else links.lookup(tx_hash),
        "changed_at": _moment(notice.transition.at),
    }
    if notice.rejection is not None:
        facts |= _facts_of_rejection(notice.rejection)
    return facts


def _facts_of_rejection(rejection: StoredRejection) -> dict[str, object]:
    record = rejection.record
    reason = parse_reason(record.reason_message)
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
    rows = [
        ("Sender", str(record.sender)),
        ("Nonce", str(record.nonce)),
        ("Stage", str(record.tx_rejection_stage)),
        ("Dated", f"{_moment(record.timestamp)}, as the node claims"),
        ("First seen", f"{_moment(rejection.first_seen_at)}, by Linewatch"),
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


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
