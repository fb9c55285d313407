"""Served APIs whose keys stand in the store, one for each role that a test tells apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from dashboard.domain.people.access import ApiKey, ConfiguredKeys, KeyLimits, digest
from dashboard.serve.keys.key_ring import AuthenticationThrottle, KeyLimiter
from dashboard.serve.keys.key_sync import KeySync
from dashboard.store.access.api_keys import Credential, create_key, revoke_key
from dashboard.store.engine.engine import Store
from dashboard.wire.params import SAVE_REJECTED
from tests.integration.running_server import (
    NETWORK,
    OTHER_NETWORK,
    a_store,
    services_of,
    serving,
    utc_now,
)

REPORTING = frozenset({SAVE_REJECTED})
ROLES: Mapping[str, KeyLimits] = {
    "reader": KeyLimits(may_report=False),
    "reporter": KeyLimits(methods=REPORTING),
    "elsewhere": KeyLimits(network_ids=frozenset({OTHER_NETWORK})),
    "threshold": KeyLimits(methods=frozenset({"busyThreshold"}), may_report=False),
    "slow": KeyLimits(network_ids=frozenset({NETWORK}), requests_per_second=0.01, burst=3),
    "revoked": KeyLimits(),
}
SOON = timedelta(milliseconds=10)


def key_of(role: str) -> str:
    """Return the key of a role; its secret is the same with an s before it."""
    return f"lw_canary-of-{role}"


def secret_of(role: str) -> str:
    """Return the secret of the key of a role."""
    return f"lws_canary-of-{role}"


@dataclass(frozen=True)
class Keyed:
    """APIs under way: where they are, and the store that knows their keys."""

    address: str
    store: Store


def make_keys(store: Store) -> None:
    """Keep one key for each role."""
    with store.write() as connection:
        for role, limits in ROLES.items():
            credential = Credential(digest(key_of(role)), digest(secret_of(role)), utc_now())
            assert create_key(connection, role, limits, credential)
        revoke_key(connection, "revoked", utc_now())


@contextmanager
def keyed_apis(
    folder: Path, wrong_keys_per_minute: int = 0, *configured: ApiKey
) -> Iterator[Keyed]:
    """Yield APIs that accept the keys of `ROLES`, those of the store as it goes, and some more."""
    with a_store(folder) as store:
        make_keys(store)
        key_sync = KeySync(store, ConfiguredKeys(configured), KeyLimiter(), utc_now, SOON, SOON)
        key_sync.load()
        dependencies = replace(
            services_of(store),
            keys=key_sync.ring,
            key_limiter=key_sync.key_limiter,
            key_sync=key_sync,
            authentication_throttle=AuthenticationThrottle(wrong_keys_per_minute),
        )
        with serving(dependencies) as address:
            yield Keyed(address, store)
