"""Second factors and passkeys: authenticator apps, recovery codes, and sign-ins half done."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct
from sqlalchemy import Connection, delete, func, or_, select, update

from dashboard.domain.secret import Secret
from dashboard.store.access.people import Person, drop_steps, find_person_by_id
from dashboard.store.engine.upsert import insert_new
from dashboard.store.schema import passkeys, people, recovery_codes, sign_in_steps
from dashboard.store.schema.columns import columns_of, read_as

STEP_LASTS: Final = timedelta(minutes=5)
"""How long a sign-in waits for its second half."""


class Purpose(StrEnum):
    """What a step waits for: a code, a passkey that signs in, or one that is added."""

    CODE = "code"
    PASSKEY = "passkey"
    NEW_PASSKEY = "new-passkey"


class Passkey(Struct, frozen=True):
    """A key of a device or password manager that the person unlocks; `name` is foreign text.

    `sign_count` is how often it was used, or 0 if its authenticator does not count.
    """

    passkey_id: int
    credential_id: bytes
    name: str
    public_key: bytes
    sign_count: int
    created_at: datetime
    last_used_at: datetime | None = None


def app_key_of(connection: Connection, person: Person) -> Secret | None:
    query = select(people.c.totp_key).where(people.c.person_id == person.person_id)
    key = connection.execute(query).scalar_one_or_none()
    return None if key is None else Secret(key)


def save_app_key(connection: Connection, person: Person, key: Secret | None, step: int) -> None:
    """Store the key of a person's authenticator app, for codes after `step`; None removes it."""
    given = {"totp_key": key and key.reveal(), "totp_step": step}
    this = people.c.person_id == person.person_id
    connection.execute(update(people).where(this).values(**given))


def use_app_step(connection: Connection, person: Person, step: int) -> bool:
    """Accept the code of a step once; False if this code or a later one was accepted before."""
    is_new = people.c.totp_step < step, people.c.person_id == person.person_id
    used = connection.execute(update(people).where(*is_new).values(totp_step=step))
    return used.rowcount == 1


def save_recovery_codes(connection: Connection, person: Person, digests: Collection[bytes]) -> None:
    """Replace the recovery codes of a person by these."""
    theirs = recovery_codes.c.person_id == person.person_id
    connection.execute(delete(recovery_codes).where(theirs))
    for each in digests:
        row = {"person_id": person.person_id, "code_digest": each}
        connection.execute(recovery_codes.insert().values(**row))


def count_recovery_codes(connection: Connection, person: Person) -> int:
    theirs = recovery_codes.c.person_id == person.person_id
    return connection.execute(select(func.count()).where(theirs)).scalar_one()


def use_recovery_code(connection: Connection, person: Person, code_digest: bytes) -> bool:
    """Accept a recovery code once; False if the person has no such code."""
    theirs = recovery_codes.c.person_id == person.person_id
    this = recovery_codes.c.code_digest == code_digest
    return connection.execute(delete(recovery_codes).where(theirs, this)).rowcount == 1


def passkeys_of(connection: Connection, person: Person) -> list[Passkey]:
    """Return the passkeys of a person, the oldest first."""
    theirs = passkeys.c.person_id == person.person_id
    rows = connection.execute(select(passkeys).where(theirs).order_by(passkeys.c.passkey_id))
    return [read_as(Passkey, row, passkeys) for row in rows]


def owner_of(connection: Connection, credential_id: bytes) -> Person | None:
    """Return the person whose passkey has this id, unless they were removed."""
    query = select(passkeys.c.person_id).where(passkeys.c.credential_id == credential_id)
    person_id = connection.execute(query).scalar_one_or_none()
    return None if person_id is None else find_person_by_id(connection, person_id)


def add_passkey(connection: Connection, person: Person, passkey: Passkey) -> bool:
    """Store a passkey, which gets an id; False if its key is known already."""
    row = columns_of(passkeys, passkey, person_id=person.person_id)
    return insert_new(connection, passkeys, row)


def note_passkey_use(
    connection: Connection, passkey: Passkey, sign_count: int, at: datetime
) -> None:
    used = {"sign_count": sign_count, "last_used_at": at}
    this = passkeys.c.passkey_id == passkey.passkey_id
    connection.execute(update(passkeys).where(this).values(**used))


def remove_passkey(connection: Connection, passkey: Passkey) -> None:
    connection.execute(delete(passkeys).where(passkeys.c.passkey_id == passkey.passkey_id))


def remove_factors(connection: Connection, person: Person) -> None:
    """Remove every second factor and passkey of a person, who signs in by password alone then."""
    save_app_key(connection, person, None, 0)
    save_recovery_codes(connection, person, ())
    connection.execute(delete(passkeys).where(passkeys.c.person_id == person.person_id))
    drop_steps(connection, person)


def begin_step(
    connection: Connection,
    token_digest: bytes,
    purpose: Purpose,
    person: Person | None,
    now: datetime,
) -> None:
    """Store a sign-in that waits for its second half, and delete those that waited too long."""
    connection.execute(delete(sign_in_steps).where(sign_in_steps.c.ends_at <= now))
    row = {
        "token_digest": token_digest,
        "purpose": purpose.value,
        "person_id": person and person.person_id,
        "ends_at": now + STEP_LASTS,
    }
    connection.execute(sign_in_steps.insert().values(**row))


def use_step(
    connection: Connection, token_digest: bytes, purpose: Purpose, person: Person, now: datetime
) -> bool:
    """Take a step, once, that this person began, or somebody who was not known then."""
    column = sign_in_steps.c
    used = delete(sign_in_steps).where(
        column.token_digest == token_digest,
        column.purpose == purpose.value,
        column.ends_at > now,
        or_(column.person_id == person.person_id, column.person_id.is_(None)),
    )
    return connection.execute(used).rowcount == 1


def person_of_step(connection: Connection, token_digest: bytes) -> Person | None:
    this = sign_in_steps.c.token_digest == token_digest
    query = select(sign_in_steps.c.person_id).where(this)
    person_id = connection.execute(query).scalar_one_or_none()
    return None if person_id is None else find_person_by_id(connection, person_id)
