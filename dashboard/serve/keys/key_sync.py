"""Synchronizes API keys: changes of the store into the key ring, uses into the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import anyio
from anyio import CapacityLimiter, to_thread

from dashboard.domain.people.access import ApiKey, ConfiguredKeys
from dashboard.domain.quantity import Clock
from dashboard.errors import InputError
from dashboard.logs import get_logger, warn_of
from dashboard.serve.keys.key_ring import KeyLimiter, KeyRing, UsageDelta
from dashboard.store.access.api_keys import KeyUse, StoredKey, add_uses, keys_in_use, keys_version
from dashboard.store.engine.engine import Store

_log = get_logger(__name__)


@dataclass(slots=True)
class KeySync:
    """Checks for changed keys every `check_period`, and writes uses every `count_period`."""

    store: Store
    configured: ConfiguredKeys
    key_limiter: KeyLimiter
    clock: Clock
    check_period: timedelta = timedelta(milliseconds=500)
    count_period: timedelta = timedelta(seconds=5)
    ring: KeyRing = field(init=False, default_factory=lambda: KeyRing(()))
    _version: int = field(init=False, default=-1)
    _stored: Sequence[StoredKey] = field(init=False, default=())
    _next_end: datetime | None = field(init=False, default=None)
    _thread: CapacityLimiter = field(init=False, default_factory=lambda: CapacityLimiter(1))
    _is_failing: bool = field(init=False, default=False)

    def load(self) -> None:
        """Fill the ring; InputError if a stored key clashes with one of the settings."""
        self._reload()
        for message in clashes(self.configured.keys, self._stored):
            raise InputError(message)
        self._fill()
        if not self.ring:
            _log.warning(
                "No API key exists, so nobody can call",
                remedy="make one: linewatch keys create NAME",
            )

    async def run(self) -> None:
        """Synchronize until cancelled."""
        counted_at = anyio.current_time()
        while True:
            await anyio.sleep(self.check_period.total_seconds())
            await self._refresh()
            if anyio.current_time() - counted_at >= self.count_period.total_seconds():
                counted_at = anyio.current_time()
                await self.write_counts()

    async def write_counts(self) -> None:
        """Add the uses since the last time to the store; if that fails, keep them for later."""
        uses = self.key_limiter.take_uses()
        if not uses:
            return
        try:
            await to_thread.run_sync(self._save_uses, uses, limiter=self._thread)
        except Exception as error:  # noqa: BLE001 - it must not end the loop, which revokes keys
            self.key_limiter.restore_uses(uses)
            warn_of(_log, "Uses of API keys could not be saved yet", error)
        except BaseException:
            self.key_limiter.restore_uses(uses)
            raise

    async def _refresh(self) -> None:
        has_changed = await self._reload_or_warn()
        if has_changed:
            for message in clashes(self.configured.keys, self._stored):
                _log.error("A stored API key is refused", why=message)
        if has_changed or (self._next_end is not None and self._next_end <= self.clock()):
            self._fill()
            _log.info("API keys changed", accepted=len(self.ring))

    async def _reload_or_warn(self) -> bool:
        try:
            has_changed = await to_thread.run_sync(self._reload, limiter=self._thread)
        except Exception as error:  # noqa: BLE001 - likewise, as when no thread can be started
            if not self._is_failing:
                warn_of(_log, "API keys stay as they were: they cannot be read now", error)
            self._is_failing = True
            return False
        self._is_failing = False
        return has_changed

    def _reload(self) -> bool:
        """Read the stored keys if they have changed; return whether they have."""
        with self.store.read() as connection:
            version = keys_version(connection)
            if version == self._version:
                return False
            self._stored = keys_in_use(connection)
        self._version = version
        return True

    def _fill(self) -> None:
        now = self.clock()
        accepted = [*self.configured.keys, *_accepted(self.configured, self._stored, now)]
        self._next_end = min(_ends(self._stored, now), default=None)
        self.ring.replace(accepted)

    def _save_uses(self, uses: dict[bytes, UsageDelta]) -> None:
        now = self.clock()
        with self.store.write() as connection:
            add_uses(
                connection,
                {
                    digest: KeyUse(
                        now - timedelta(seconds=use.seconds_ago), use.calls, use.refusals
                    )
                    for digest, use in uses.items()
                },
            )


def clashes(configured: Iterable[ApiKey], stored: Iterable[StoredKey]) -> Iterator[str]:
    """Yield what to do about each stored key with the name or text of one in the settings."""
    names = {key.name for key in configured}
    digests = {key.key_digest: key.name for key in configured}
    for each in stored:
        if each.name in names:
            yield (
                f"{each.name} is the name of an API key in the settings and of one in the store: "
                f"run `linewatch keys rename {each.name} NEW`, or rename [serve.keys.{each.name}]"
            )
        for credential in each.credentials:
            if credential.key_digest in digests:
                yield (
                    f"{each.name} in the store and {digests[credential.key_digest]} in the "
                    f"settings are the same API key: revoke one (`linewatch keys revoke "
                    f"{each.name}`), or take it out of the settings"
                )


def _accepted(
    configured: ConfiguredKeys, stored: Iterable[StoredKey], now: datetime
) -> Iterator[ApiKey]:
    """Yield the stored keys that are valid now and do not clash with the settings."""
    names = {key.name for key in configured.keys}
    digests = {key.key_digest for key in configured.keys}
    for each in stored:
        for credential in each.credentials:
            if each.name in names or credential.key_digest in digests or credential.is_over(now):
                continue
            key = ApiKey(each.name, credential.key_digest, credential.secret_digest)
            yield key.limited(each.limits, configured.default_rate)


def _ends(stored: Iterable[StoredKey], now: datetime) -> Iterator[datetime]:
    for each in stored:
        for credential in each.credentials:
            if credential.ends_at is not None and credential.ends_at > now:
                yield credential.ends_at
