"""What the model remembers of keys, senders, leases and credits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import product
from typing import Final

from dashboard.domain.health.observation import Spent
from dashboard.domain.people.access import KeyLimits
from dashboard.domain.quantity import Address, NetworkId
from dashboard.store.access.api_keys import (
    Credential,
    KeyUse,
    StoredKey,
    all_keys,
    find_key,
    key_uses,
    keys_in_use,
    keys_version,
)
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.lease_clock import BootMoment
from dashboard.store.engine.leases import Holder, holders, live_tokens
from dashboard.store.monitoring.upkeep import LedgerLine, spent_since
from dashboard.store.tracking.senders import (
    Account,
    WatchedSender,
    labels_of_watched,
    senders_watched,
)
from tests.model.kills import Turn
from tests.model.world import NETWORKS, SENDERS


@dataclass
class Keys:
    """Every key that ever was, in the order of their making; `changes` counts what is told."""

    made: list[StoredKey] = field(default_factory=list)
    uses: dict[bytes, KeyUse] = field(default_factory=dict)
    changes: int = 0

    def create(self, name: str, limits: KeyLimits, credential: Credential) -> bool:
        """Make a key, unless one in use has the name."""
        if self._place(name) is not None:
            return False
        self.made.append(StoredKey(name, limits, credential.created_at, None, (credential,)))
        self.changes += 1
        return True

    def change(self, name: str, /, **changes: object) -> bool:
        """Change the key in use."""
        place = self._place(name)
        if place is None:
            return False
        self.made[place] = replace(self.made[place], **changes)  # type: ignore[arg-type]  # fields of the key
        self.changes += 1
        return True

    def revoke(self, name: str, at: datetime) -> bool:
        """End the key in use."""
        return self.change(name, credentials=self._ended(name, at), revoked_at=at)

    def rotate(self, name: str, credential: Credential, ends_at: datetime) -> bool:
        """Give the key in use another credential."""
        return self.change(name, credentials=(credential, *self._ended(name, ends_at)))

    def use(self, digest: bytes, use: KeyUse) -> None:
        """Count."""
        before = self.uses.get(digest, KeyUse(use.last_used_at, 0, 0))
        self.uses[digest] = KeyUse(
            max(before.last_used_at, use.last_used_at),
            before.calls + use.calls,
            before.refusals + use.refusals,
        )

    def in_use(self, name: str) -> StoredKey | None:
        """Return the key in use of this name."""
        place = self._place(name)
        return None if place is None else self.made[place]

    def _place(self, name: str) -> int | None:
        for place, key in enumerate(self.made):
            if key.name == name and key.revoked_at is None:
                return place
        return None

    def _ended(self, name: str, at: datetime) -> tuple[Credential, ...]:
        key = self.in_use(name)
        return tuple(
            each if each.is_over(at) else replace(each, ends_at=at)
            for each in (key.credentials if key else ())
        )


@dataclass
class Senders:
    """Watched addresses by network: since when, and under which label."""

    watched: dict[Account, tuple[datetime, str]] = field(default_factory=dict)

    def watch(self, wish: WatchedSender) -> bool:
        """Watch from now on; a label takes the place of the one that is there."""
        wanted = {(wish.sender, network_id) for network_id in wish.network_ids}
        new = wanted - self.watched.keys()
        self.watched |= dict.fromkeys(new, (wish.watched_at, wish.label))
        for (sender, network_id), (since, label) in list(self.watched.items()):
            if sender == wish.sender:
                self.watched[sender, network_id] = since, wish.label or label
        return bool(new)

    def unwatch(self, sender: Address) -> bool:
        """Watch no more."""
        gone = [each for each in self.watched if each[0] == sender]
        for each in gone:
            del self.watched[each]
        return bool(gone)

    def all(self) -> list[WatchedSender]:
        """Return every address with its networks, the latest first."""
        found = []
        for sender in sorted({sender for sender, _ in self.watched}):
            of_sender = {key: held for key, held in self.watched.items() if key[0] == sender}
            networks = tuple(sorted(network_id for _, network_id in of_sender))
            since = min(at for at, _ in of_sender.values())
            label = max(label for _, label in of_sender.values())
            found.append(WatchedSender(sender, networks, since, label))
        return sorted(found, key=lambda each: each.watched_at, reverse=True)


def check_keys(connection: Connection, held: Keys, names: tuple[str, ...]) -> None:
    """See that every key is what is held."""
    expected = [key for name in sorted(names) for key in reversed(held.made) if key.name == name]
    assert all_keys(connection) == expected
    assert keys_in_use(connection) == [key for key in expected if key.revoked_at is None]
    for name in names:
        assert find_key(connection, name) == held.in_use(name)
    assert key_uses(connection) == held.uses
    assert keys_version(connection) == held.changes


def check_senders(connection: Connection, held: Senders) -> None:
    """See that every watched sender is what is held."""
    assert senders_watched(connection) == held.all()
    labels = labels_of_watched(connection, product(SENDERS, NETWORKS))
    assert labels == {account: label for account, (_, label) in held.watched.items()}


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


_AN_HOUR: Final = timedelta(hours=1)


@dataclass
class Ledger:
    """What was spent, by hour, network and operation."""

    spent: dict[tuple[datetime, NetworkId, str], Spent] = field(default_factory=dict)

    def note(self, network_id: NetworkId, at: datetime, spent: Mapping[str, Spent]) -> None:
        """Add to the hour."""
        for operation, each in spent.items():
            place = _hour(at), network_id, operation
            self.spent[place] = self.spent.get(place, Spent()) + each

    def forget(self, before: datetime) -> None:
        """Forget whole hours."""
        self.spent = {place: each for place, each in self.spent.items() if place[0] >= before}

    def since(self, moment: datetime) -> list[LedgerLine]:
        """Add up by network and operation, that which cost most first."""
        sums: dict[tuple[NetworkId, str], Spent] = {}
        for (hour, network_id, operation), each in self.spent.items():
            if hour >= moment:
                sums[network_id, operation] = sums.get((network_id, operation), Spent()) + each
        lines = [LedgerLine(*place, each) for place, each in sums.items()]
        return sorted(lines, key=_dearest)


def check_ledger(connection: Connection, held: Ledger, now: datetime, turn: Turn) -> None:
    """Add up over all hours and over some, and see that it is what is held."""
    hours = sorted({hour for hour, _, _ in held.spent})
    for since in (*hours[:1], *turn.some_of([*hours[1:], now, now - _AN_HOUR, _hour(now)])):
        assert spent_since(connection, since) == held.since(since)
    ever = now - timedelta(days=400)
    assert spent_since(connection, ever) == held.since(ever)


def _hour(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)


def _dearest(line: LedgerLine) -> tuple[int, int, NetworkId, str]:
    return -line.spent.credits, -line.spent.calls, line.network_id, line.operation
