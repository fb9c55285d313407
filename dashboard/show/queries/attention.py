"""What needs a person now, each with the page that helps; and a network's state in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from dashboard.domain.foreign_text import visible
from dashboard.domain.incident import Incident
from dashboard.domain.observation import Operation
from dashboard.show.queries.health import FREE_SPACE_ADVICE
from dashboard.show.queries.network_status import Activity, NetworkProfile, NetworkStatus
from dashboard.show.queries.overview import UsualNow
from dashboard.show.text import age, moment_near, sentence, since_when, size, span

_LONGEST_TITLE: Final = 120
_LONGEST_FAILURE: Final = 160


class Remedy(StrEnum):
    """Where a person goes with it, as the link says it."""

    ACKNOWLEDGE = "Acknowledge"
    NOTIFICATIONS = "Send again"
    SOURCES = "See what fails"
    STORAGE = "See the storage"


@dataclass(frozen=True, slots=True)
class Attention:
    """One thing that needs a person; `network` is None where it is about the installation.

    Headline and text may quote foreign text.
    """

    headline: str
    text: str
    remedy: Remedy
    network: NetworkProfile | None = None
    incident_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class InstallationTroubles:
    """What is wrong with the installation: `free` bytes where these are too few, and what died."""

    free: int | None = None
    dead: int = 0


def needed_attention(
    statuses: Sequence[NetworkStatus],
    titled: Sequence[tuple[Incident, str]],
    troubles: InstallationTroubles,
    now: datetime,
) -> list[Attention]:
    """Return what needs a person, the most urgent first.

    `titled` are the incidents without an owner, each with its title.
    """
    profiles = {each.profile.network_id: each.profile for each in statuses}
    found = list(_of_installation(troubles))
    for incident, title in titled:
        network_id = incident.network_id
        profile = None if network_id is None else profiles.get(network_id)
        since = f"open since {moment_near(incident.opened_at, now)}, unassigned."
        found.append(
            Attention(
                f"{visible(title, _LONGEST_TITLE)}:",
                since,
                Remedy.ACKNOWLEDGE,
                profile,
                incident.incident_id,
            )
        )
    for status in statuses:
        said = status.activity_reason if len(statuses) == 1 else ""
        found += _failing(status, said, now)
    found += _stale([each for each in statuses if each.figures.gas_failure() is None])
    return found


def _of_installation(troubles: InstallationTroubles) -> Iterator[Attention]:
    if troubles.free is not None:
        yield Attention(
            f"The disk of the store has {size(troubles.free)} free.",
            FREE_SPACE_ADVICE,
            Remedy.STORAGE,
        )
    if troubles.dead:
        many = "1 notification is" if troubles.dead == 1 else f"{troubles.dead:,} notifications are"
        yield Attention(f"{many} dead.", "No server took them.", Remedy.NOTIFICATIONS)


def _failing(status: NetworkStatus, said: str, now: datetime) -> Iterator[Attention]:
    """Name the sources that give no answer, and why, unless that is `said` already."""
    figures, profile = status.figures, status.profile
    source = profile.gas_source
    for name, failed in (
        (f"{source[:1].upper()}{source[1:]}", figures.gas_failure()),
        ("The exclusion API", figures.exclusion_failure()),
    ):
        if failed is not None:
            message = failed.failure.message
            since = f"{moment_near(failed.failing_since, now)} ({age(failed.failing_since, now)})"
            yield Attention(
                f"{profile.name}: {name} has not answered since {since}.",
                "" if message in said else sentence(visible(message, _LONGEST_FAILURE)),
                Remedy.SOURCES,
                profile,
            )


def _stale(statuses: Sequence[NetworkStatus]) -> Iterator[Attention]:
    """Name the networks whose fees are old though nothing failed, in one line."""
    stale = [each.profile for each in statuses if each.activity is Activity.STALE]
    if stale:
        are = f"{stale[0].name} is" if len(stale) == 1 else f"{len(stale)} networks are"
        names = "" if len(stale) == 1 else f"{', '.join(each.name for each in stale)}. "
        only = stale[0] if len(stale) == 1 else None
        text = f"{names}Health says whether a worker runs and when it asked last."
        yield Attention(f"{are} stale.", text, Remedy.SOURCES, only)


def verdict_in_words(
    status: NetworkStatus, usual: UsualNow, open_incidents: int, now: datetime
) -> str:
    """Say a network's state, since when, how long that usually lasts, and what is open."""
    sentences = [_state(status, now)]
    if usual.spells is not None and status.activity in {Activity.BUSY, Activity.CALM}:
        words = usual.spells.in_words()
        sentences.append(f"{words[:1].upper()}{words[1:]}.")
    many = "1 incident is open" if open_incidents == 1 else f"{open_incidents:,} incidents are open"
    sentences.append(f"{many}." if open_incidents else "No incident is open.")
    return " ".join(sentences)


def _state(status: NetworkStatus, now: datetime) -> str:
    held = status.figures.busyness
    if held is None or status.activity not in {Activity.BUSY, Activity.CALM}:
        return status.activity_reason
    since = since_when(held, status.profile.rules.busy, now)
    return f"{str(held.state).capitalize()} for {span(now - held.since)}, {since}."


def lasting(status: NetworkStatus, now: datetime) -> str:
    """Say for how long its state has held, empty where that is not known."""
    held = status.figures.busyness
    if held is None or status.activity not in {Activity.BUSY, Activity.CALM}:
        return ""
    return span(now - held.since)


_RANKS: Final = {
    Activity.STALE: 1,
    Activity.BUSY: 2,
    Activity.UNKNOWN: 3,
    Activity.FLAT_FEE: 5,
    Activity.CALM: 5,
}


def worst_first(status: NetworkStatus, rejections: int) -> tuple[int, int, str]:
    """Return the place of a network in a list: first what does not answer, stale, busy."""
    rank = _RANKS[status.activity]
    failing = {each.operation for each in status.figures.failures} - {Operation.TRANSACTION_RECEIPT}
    if failing:
        rank = 0
    if rank == _RANKS[Activity.CALM] and rejections:
        rank -= 1
    return rank, -rejections, status.profile.name
