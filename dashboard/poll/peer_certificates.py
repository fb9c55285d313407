"""When the certificates of servers end that the worker asks, as it saw them while connecting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple

_TRUSTED_FOR: Final = timedelta(days=1)
"""After so long without a connection the certificate may be another one."""


class _Sight(NamedTuple):
    """A certificate as it was seen last."""

    ends_at: datetime
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class PeerCertificates:
    """What was seen of the servers that are asked; nothing is connected to for this.

    `names` says by host what people call each. `take_seen` returns what was seen since it was
    called last: when the certificate of each host ends.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    take_seen: Callable[[], Mapping[str, datetime]] = dict
    _last: dict[str, _Sight] = field(default_factory=dict)

    def look(self, now: datetime) -> None:
        """Take in what was seen since the last look."""
        for host, ends_at in self.take_seen().items():
            self._last[host] = _Sight(ends_at, now)

    def ending(self, now: datetime, within: timedelta) -> Iterator[tuple[str, datetime]]:
        """Yield which certificates end so soon, or ended; each was to do so when it was seen."""
        for host, name in self.names.items():
            sight = self._last.get(host)
            if sight and sight.ends_at <= min(now, sight.seen_at + _TRUSTED_FOR) + within:
                yield name, sight.ends_at

    def unseen(self) -> list[str]:
        """Return the servers to which this process has not connected: nobody knows."""
        return [name for host, name in self.names.items() if host not in self._last]
