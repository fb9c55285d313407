"""The line limits of a network: which table of limits applies when, and when line limits end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from dashboard.domain.formatting import moment
from dashboard.domain.quantity import NetworkId


@dataclass(frozen=True, slots=True)
class ModuleLimits:
    """One table of limits, as it was at one time.

    Limits change with each release of the nodes, so a limit is shown with `name` and `version`.
    `network_ids` are the networks that use this table by default. It applies from `since` until
    before `until`; None is unbounded.
    """

    name: str
    version: str
    source: str
    limits: Mapping[str, int] = field(hash=False)
    network_ids: tuple[NetworkId, ...] = ()
    since: datetime | None = None
    until: datetime | None = None

    @property
    def title(self) -> str:
        """The name and version of the table, and its period, if that is bounded."""
        since = "" if self.since is None else f"from {self.since:%Y-%m-%d}"
        until = "" if self.until is None else f"until {self.until:%Y-%m-%d}"
        period = " ".join(filter(None, (since, until)))
        return ", ".join(filter(None, (self.name, self.version, period)))

    def limit_of(self, module: str) -> int | None:
        """Return the limit of a module, or None if the table lacks it."""
        return self.limits.get(module)

    def holds_at(self, at: datetime) -> bool:
        return (self.since is None or self.since <= at) and (self.until is None or at < self.until)


ANNOUNCED_BEFORE: Final = timedelta(days=7)
"""How long before the end of line limits pages announce it."""


class LimitsEnd(Struct, frozen=True):
    """When the line limits of a network end: at a time, or with a block.

    `at` is the time of the block, once it is known; if `is_expected`, the block has not come yet
    and `at` is an estimate.
    """

    at: datetime | None = None
    block_number: int | None = None
    is_expected: bool = False

    def ended_at(self, now: datetime) -> datetime | None:
        """Return when line limits ended; None while they apply, as far as we know."""
        return None if self.at is None or self.is_expected or now < self.at else self.at

    def in_words(self, now: datetime) -> str:
        """Describe the end in one sentence, from `ANNOUNCED_BEFORE` on; empty before that."""
        if (ended_at := self.ended_at(now)) is not None:
            return f"No line limits since {moment(ended_at)}."
        if self.at is None or self.at - now > ANNOUNCED_BEFORE:
            return ""
        if self.block_number is None:
            return f"Line limits end on {moment(self.at)}."
        near = f", expected around {moment(self.at)}" if self.at > now else ", which is due"
        return f"Line limits end with block {self.block_number:,}{near}."


class LineLimits(Struct, frozen=True):
    """The line limits of a network: tables by period, of which the first that applies counts.

    `is_asked_after`: transactions that are first seen after the end are still asked about, though
    rarely.
    """

    tables: tuple[ModuleLimits, ...] = ()
    end: LimitsEnd | None = None
    is_asked_after: bool = True

    def at(self, at: datetime) -> ModuleLimits | None:
        """Return the table that applied then; None if there was none, or no limits."""
        if self.ended_at(at) is not None:
            return None
        return next((each for each in self.tables if each.holds_at(at)), None)

    def ended_at(self, now: datetime) -> datetime | None:
        """Return when line limits ended; None while they apply, as far as we know."""
        return None if self.end is None else self.end.ended_at(now)


NO_TABLES: Final = LineLimits()
