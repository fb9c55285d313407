"""API keys created on the command line: their limits, renaming, rotation, revocation and use."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Row, or_, select, update

from dashboard.domain.people.access import KeyLimits
from dashboard.store.engine.batching import grouped
from dashboard.store.engine.upsert import insert_new, upsert_sums
from dashboard.store.schema import api_key_credentials, api_key_uses, api_keys, installation
from dashboard.store.schema.columns import columns_of, read_as


class Credential(Struct, frozen=True):
    """The digests of one key and of its secret; refused from `ends_at` on, if that is set."""

    key_digest: bytes
    secret_digest: bytes
    created_at: datetime
    ends_at: datetime | None = None

    def is_over(self, now: datetime) -> bool:
        return self.ends_at is not None and self.ends_at <= now


class StoredKey(Struct, frozen=True):
    """One key with its credentials, the newest first; a revoked key keeps them, all expired."""

    name: str
    limits: KeyLimits
    created_at: datetime
    revoked_at: datetime | None
    credentials: tuple[Credential, ...]


class KeyUse(Struct, frozen=True):
    """The use of one credential: calls that were admitted and calls that were refused."""

    last_used_at: datetime
    calls: int
    refusals: int


def create_key(
    connection: Connection, name: str, limits: KeyLimits, credential: Credential
) -> bool:
    """Store a new key; False if a key in use has that name."""
    row = {"name": name, "created_at": credential.created_at, **_limit_columns(limits)}
    if not insert_new(connection, api_keys, row):
        return False
    _add_credential(connection, name, credential)
    _note_change(connection)
    return True


def limit_key(connection: Connection, name: str, limits: KeyLimits) -> bool:
    """Change the limits of the key in use; False if no key in use has that name."""
    return _change(connection, name, _limit_columns(limits))


def rename_key(connection: Connection, name: str, new_name: str) -> bool:
    """Rename the key in use; False if no key in use has that name.

    The caller checks first that no key in use has the new name.
    """
    return _change(connection, name, {"name": new_name})


def revoke_key(connection: Connection, name: str, at: datetime) -> bool:
    """Revoke the key in use and its credentials for good; False if no key in use has that name."""
    _end_credentials(connection, name, at)
    return _change(connection, name, {"revoked_at": at})


def rotate_key(
    connection: Connection, name: str, credential: Credential, old_ends_at: datetime
) -> bool:
    """Add a credential to the key in use; its older credentials expire then, if not earlier.

    False if no key in use has that name.
    """
    if find_key(connection, name) is None:
        return False
    _end_credentials(connection, name, old_ends_at)
    _add_credential(connection, name, credential)
    _note_change(connection)
    return True


def find_key(connection: Connection, name: str) -> StoredKey | None:
    """Return the key in use of this name."""
    found = _keys(connection, name)
    return found[0] if found else None


def keys_in_use(connection: Connection) -> list[StoredKey]:
    """Return the keys that are not revoked, by name."""
    return [each for each in all_keys(connection) if each.revoked_at is None]


def all_keys(connection: Connection) -> list[StoredKey]:
    """Return every key there ever was, by name; of keys with the same name, the latest first."""
    return _keys(connection, None)


def keys_version(connection: Connection) -> int:
    """Return a number that changes whenever a key changes."""
    version: int = connection.scalars(select(installation.c.api_keys_version)).one()
    return version


def add_uses(connection: Connection, uses: Mapping[bytes, KeyUse]) -> None:
    """Add to the use counts of credentials, by the digests of their keys."""
    rows = [columns_of(api_key_uses, use, key_digest=digest) for digest, use in uses.items()]
    upsert_sums(connection, api_key_uses, rows, latest="last_used_at")


def key_uses(connection: Connection) -> dict[bytes, KeyUse]:
    """Return the use of each credential, by the digest of its key."""
    return {
        row.key_digest: read_as(KeyUse, row, api_key_uses)
        for row in connection.execute(select(api_key_uses))
    }


def _keys(connection: Connection, name: str | None) -> list[StoredKey]:
    """Return all keys, or the one in use of this name."""
    query = select(api_keys).order_by(api_keys.c.name, api_keys.c.api_key_id.desc())
    credentials = select(api_key_credentials).order_by(api_key_credentials.c.created_at.desc())
    if name is not None:
        query = query.where(*_in_use(name))
        credentials = credentials.where(api_key_credentials.c.api_key_id.in_(_id_of(name)))
    of_key = grouped(
        (row.api_key_id, read_as(Credential, row, api_key_credentials))
        for row in connection.execute(credentials)
    )
    return [
        read_as(
            StoredKey, row, api_keys, limits=_limits(row), credentials=tuple(of_key[row.api_key_id])
        )
        for row in connection.execute(query)
    ]


def _limit_columns(limits: KeyLimits) -> dict[str, Any]:
    network_ids, methods = limits.network_ids, limits.methods
    return columns_of(
        api_keys,
        limits,
        network_ids=None if network_ids is None else sorted(network_ids),
        methods=None if methods is None else sorted(methods),
    )


def _limits(row: Row[Any]) -> KeyLimits:
    networks, methods = (
        None if each is None else frozenset(each) for each in (row.network_ids, row.methods)
    )
    return read_as(KeyLimits, row, api_keys, network_ids=networks, methods=methods)


def _in_use(name: str) -> tuple[Any, ...]:
    return (api_keys.c.name == name, api_keys.c.revoked_at.is_(None))


def _id_of(name: str) -> Any:  # noqa: ANN401 - a subquery, as SQLAlchemy types it
    return select(api_keys.c.api_key_id).where(*_in_use(name)).scalar_subquery()


def _change(connection: Connection, name: str, columns: Mapping[str, Any]) -> bool:
    changed = connection.execute(update(api_keys).where(*_in_use(name)).values(**columns))
    if changed.rowcount == 1:
        _note_change(connection)
    return changed.rowcount == 1


def _end_credentials(connection: Connection, name: str, at: datetime) -> None:
    table = api_key_credentials
    lasts = or_(table.c.ends_at.is_(None), table.c.ends_at > at)
    connection.execute(
        update(table).where(table.c.api_key_id == _id_of(name), lasts).values(ends_at=at)
    )


def _add_credential(connection: Connection, name: str, credential: Credential) -> None:
    row = columns_of(api_key_credentials, credential, api_key_id=_id_of(name))
    connection.execute(api_key_credentials.insert().values(**row))


def _note_change(connection: Connection) -> None:
    """Raise the version, by which every serve process sees at its next read that a key changed."""
    version = installation.c.api_keys_version
    connection.execute(update(installation).values(api_keys_version=version + 1))


def keys_ending(
    connection: Connection, now: datetime, until: datetime
) -> list[tuple[str, datetime]]:
    """Return the keys with a credential that expires between now and a moment."""
    column = api_key_credentials.c
    query = (
        select(api_keys.c.name, column.ends_at)
        .join(api_keys, api_keys.c.api_key_id == column.api_key_id)
        .where(api_keys.c.revoked_at.is_(None), column.ends_at > now, column.ends_at <= until)
        .order_by(column.ends_at)
    )
    return [(row.name, row.ends_at) for row in connection.execute(query)]
