"""What is to be remembered of API keys and of watched senders, in plain Python."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import product

from dashboard.domain.people.access import KeyLimits
from dashboard.domain.quantity import Address
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
from dashboard.store.tracking.senders import (
    Account,
    WatchedSender,
    labels_of_watched,
    senders_watched,
)
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
