"""Module limits: how many lines of a prover module one transaction may need, by public tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dashboard.domain.quantity import NetworkId


@dataclass(frozen=True, slots=True)
class ModuleLimits:
    """One table of limits as it stood at one time.

    Limits change with each release of the nodes, so a limit is shown with `name` and
    `version`. `network_ids` are the networks that use this table by default.
    """

    name: str
    version: str
    source: str
    limits: Mapping[str, int] = field(hash=False)
    network_ids: tuple[NetworkId, ...] = ()

    @property
    def title(self) -> str:
        """Return the name and version of the table."""
        return f"{self.name}, {self.version}" if self.version else self.name

    def limit_of(self, module: str) -> int | None:
        """Return the limit of a module, or None where the table does not name it."""
        return self.limits.get(module)
