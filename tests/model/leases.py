"""Leases as they are to be: one holder at a time, by the machine's own clock, tokens that grow."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from dashboard.store.engine.connection import Connection
from dashboard.store.engine.lease_clock import BootMoment
from dashboard.store.engine.leases import Holder, holders, live_tokens

JOBS: Final = ("worker", "mail")


@dataclass(frozen=True)
class Grant:
    """A lease: its boot and end in nanoseconds."""

    holder: Holder
    boot_id: str
    ends_at: int


@dataclass
class Leases:
    """Who holds which job."""

    grants: dict[str, Grant] = field(default_factory=dict)
    largest: int = 0

    def holder(self, name: str, now: BootMoment) -> Holder | None:
        """Return who holds a job now."""
        grant = self.grants.get(name)
        if grant is None or grant.boot_id != now.boot_id or grant.ends_at <= now.nanoseconds:
            return None
        return grant.holder

    def acquire(
        self, name: str, who: str, term: timedelta, now: BootMoment, token: int | None
    ) -> None:
        """See that the token is what `who` is to get, and grant the lease."""
        before = self.holder(name, now)
        if before is not None and before.name != who:
            assert token is None, f"{name} was given to {who} while {before.name} holds it"
            return
        assert token is not None, f"{name} was refused though nobody else holds it"
        if before is None:
            assert token > self.largest, f"token {token} is no larger than {self.largest}"
        else:
            assert token == before.token
        self.largest = max(self.largest, token)
        self._grant(name, Holder(who, token), term, now)

    def renew(self, name: str, token: int, term: timedelta, now: BootMoment) -> bool:
        """Prolong a lease that lasts."""
        before = self.holder(name, now)
        if before is None or before.token != token:
            return False
        self._grant(name, before, term, now)
        return True

    def release(self, name: str, token: int) -> None:
        """Give a lease back."""
        grant = self.grants.get(name)
        if grant is not None and grant.holder.token == token:
            del self.grants[name]

    def tokens(self, now: BootMoment) -> set[int]:
        """Return the tokens of all leases that last."""
        lasting = (self.holder(name, now) for name in self.grants)
        return {each.token for each in lasting if each is not None}

    def _grant(self, name: str, holder: Holder, term: timedelta, now: BootMoment) -> None:
        length = term // timedelta(microseconds=1) * 1000
        self.grants[name] = Grant(holder, now.boot_id, now.nanoseconds + length)


def check_leases(connection: Connection, held: Leases, now: BootMoment) -> None:
    """See that who holds which lease is what is held."""
    lasting = {name: held.holder(name, now) for name in JOBS}
    assert holders(connection) == {name: who for name, who in lasting.items() if who is not None}
    assert set(live_tokens(connection)) == held.tokens(now)
