"""What needs attention now, each with its remedy."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from dashboard.application.listing import Json
from dashboard.application.network_status import NetworkProfile
from dashboard.domain.alerts.rule import URGENCY, Severity


class Remedy(StrEnum):
    """What a person opens to deal with a problem."""

    INCIDENT = "incident"
    DEAD = "dead notifications"
    PENDING = "pending notifications"
    HELD = "held notifications"
    RECIPIENTS = "recipients"
    SOURCES = "sources"
    STORAGE = "storage"
    WORKER = "worker"

    @property
    def is_on_alerts(self) -> bool:
        """Whether the page Alerts shows it, rather than Health."""
        return self not in {Remedy.SOURCES, Remedy.STORAGE, Remedy.WORKER}


class Attention(Struct, frozen=True):
    """One thing that needs attention; `network` is None if it is about the installation.

    `text` says more, and `advice` what to do; Overview has room for one of them. Headline and text
    may quote foreign text. `incidents` are the incidents without an owner that it is about; if
    there are several, `rules` are the rules that report them.
    """

    headline: str
    text: str
    remedy: Remedy
    network: NetworkProfile | None = None
    incidents: tuple[UUID, ...] = ()
    advice: str = ""
    severity: str = Severity.WARNING
    rules: tuple[str, ...] = ()

    @property
    def incident_id(self) -> UUID | None:
        """The only incident that it is about; None if there are several, or none."""
        return self.incidents[0] if len(self.incidents) == 1 else None

    @property
    def title(self) -> str:
        return self.headline.rstrip(":.")


def attention_form(each: Attention) -> Json:
    """Format it for programs."""
    return {
        "what": each.headline.removesuffix(":"),
        "why": each.text,
        "remedy": each.advice,
        "severity": each.severity,
        "networkId": None if each.network is None else each.network.network_id,
    }


def most_urgent_first(needed: Iterable[Attention]) -> list[Attention]:
    """Sort by urgency; equal severities keep their order."""
    return sorted(needed, key=lambda each: -URGENCY.get(each.severity, 0))
