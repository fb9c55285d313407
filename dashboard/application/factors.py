"""Second factors and passkeys of people with an account: added, used and removed."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from msgspec import Struct
from pyotp import TOTP, OTPVerificationError, random_base32

from dashboard.application.context import ApplicationContext, ApplicationSubject
from dashboard.application.sessions import PASSWORD, SECRET_BYTES, Device, NewSession, Sessions
from dashboard.domain.people.access import Action, Actor, digest, parse_name
from dashboard.domain.people.sign_in import (
    RECOVERY_CODES,
    RECOVERY_OCTETS,
    Site,
    bare_code,
    recovery_code,
)
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, NotAllowed, NotFound
from dashboard.store.access.audit_log import note_action
from dashboard.store.access.factors import (
    Passkey,
    Purpose,
    add_passkey,
    app_key_of,
    begin_step,
    count_recovery_codes,
    note_passkey_use,
    owner_of,
    passkeys_of,
    person_of_step,
    remove_passkey,
    save_app_key,
    save_recovery_codes,
    use_app_step,
    use_recovery_code,
    use_step,
)
from dashboard.store.access.people import Person, Session, end_sessions_of, note_second_factor
from dashboard.store.engine.connection import Connection

CONFIRMED_FOR: Final = timedelta(minutes=10)
"""How long after a sign-in, or after typing the password again, people may change factors."""

_MOST_PASSKEYS: Final = 20
_KEY: Final = re.compile(r"[A-Z2-7]{32}", re.ASCII)
_BEGIN_AGAIN: Final = "this took too long, or was done already: begin again"


class CodeAsked(InputError):
    """The password is right, but a code is needed as well; `token` continues this sign-in."""

    def __init__(self, token: Secret) -> None:
        super().__init__("a code of your authenticator app is needed as well")
        self.token = token


class PasskeyAsked(InputError):
    """The password is right, but the role requires a second factor, which is a passkey."""

    def __init__(self) -> None:
        super().__init__("your role requires a second factor: sign in with your passkey")


class OwnFactors(Struct, frozen=True):
    """A person's factors besides the password; `recovery_codes` counts the unused ones."""

    has_app: bool
    recovery_codes: int
    passkeys: Sequence[Passkey]
    may_change: bool


class Factors(ApplicationSubject):
    def __init__(self, context: ApplicationContext, sessions: Sessions) -> None:
        super().__init__(context)
        self._sessions = sessions

    def begin_or_ask(
        self, connection: Connection, person: Person, device: Device
    ) -> NewSession | CodeAsked | PasskeyAsked:
        """Begin a session after the right password, or ask for a second factor."""
        if person.has_app:
            return CodeAsked(self._begin_step(connection, Purpose.CODE, person))
        if person.passkeys and self._sessions.requires_factor(person):
            return PasskeyAsked()
        return self._sessions.begin(connection, person, device, PASSWORD)

    def finish(self, token: str, code: str, device: Device) -> NewSession:
        """Begin a session with a code of the app, or a recovery code; each works once.

        NotFound if no sign-in with this token waits for a code any more.
        """
        with self._context.store.read() as connection:
            person = _waiting(connection, token)
        with self._sessions.throttle() as throttle:
            throttle.attempt_code(person.name, device.address, self._context.now())
        with self._context.store.write() as connection:
            person = _waiting(connection, token)
            self._use_step(connection, token, Purpose.CODE, person)
            proof = self.use_code(connection, person, code)
            begun = self._sessions.begin(connection, person, device, proof)
        with self._sessions.throttle() as throttle:
            throttle.succeeded(person.name, device.address, by_code=True)
        return begun

    def ask_for_passkey(self, site: Site, address: str) -> str:
        """Return what a browser needs to sign in with a passkey, as JSON."""
        from dashboard.application.passkeys import request_options  # noqa: PLC0415 - webauthn takes a quarter of a second and 12 MB, which only passkeys need

        with self._sessions.throttle() as throttle:
            throttle.attempt_passkey(address, self._context.now())
        with self._context.store.write() as connection:
            token = self._begin_step(connection, Purpose.PASSKEY, None)
        return request_options(site, token.reveal())

    def sign_in_by_passkey(self, site: Site, answer: str, device: Device) -> NewSession:
        """Begin a session for the owner of the passkey in a browser's answer."""
        from dashboard.application.passkeys import count_use, read_answer  # noqa: PLC0415 - see above

        credential_id, token = read_answer(answer)
        with self._context.store.read() as connection:  # nothing is written before the proof
            _, passkey = _known_passkey(connection, credential_id)
        uses = count_use(site, token, answer, passkey)
        with self._context.store.write() as connection:
            person, passkey = _known_passkey(connection, credential_id)
            self._use_step(connection, token, Purpose.PASSKEY, person)
            note_passkey_use(connection, passkey, uses, self._context.now())
            begun = self._sessions.begin(connection, person, device, "passkey")
        with self._sessions.throttle() as throttle:
            throttle.passkey_succeeded(device.address)
        return begun

    def of(self, session: Session) -> OwnFactors:
        """Return the factors of a session's person."""
        with self._context.store.read() as connection:
            return OwnFactors(
                session.person.has_app,
                count_recovery_codes(connection, session.person),
                passkeys_of(connection, session.person),
                may_change=self._is_confirmed(session) and not self._must_use_own(session),
            )

    def new_app_key(self, session_id: UUID) -> Secret:
        """Return a key for an authenticator app; it is stored once a code proves that it works."""
        with self._context.store.read() as connection:
            self._changing(connection, session_id)
        return Secret(random_base32())

    def add_app(self, session_id: UUID, key: Secret, code: str) -> list[Secret]:
        """Require codes of the app with this key after the password; return new recovery codes.

        All other sessions end: one may belong to somebody who only knew the password.
        """
        step = _step_of(key, bare_code(code), self._context.now())
        if step is None:
            raise InputError("the code is wrong: check the clock of your phone, and try the next")
        with self._context.store.write() as connection:
            by, session = self._changing(connection, session_id)
            note_action(connection, by, Action.ADD_FACTOR, by.name, {"factor": "app"})
            if session.person.has_app:
                raise InputError("you have an authenticator app already: remove it first")
            save_app_key(connection, session.person, key, step)
            end_sessions_of(connection, session.person, by.at, session_id)
            note_second_factor(connection, session_id)
            return _new_codes(connection, session.person)

    def remove_app(self, session_id: UUID) -> None:
        """Remove the app, so that the password is enough again, and the recovery codes."""
        with self._context.store.write() as connection:
            by, session = self._changing(connection, session_id)
            note_action(connection, by, Action.REMOVE_FACTOR, by.name, {"factor": "app"})
            save_app_key(connection, session.person, None, 0)
            save_recovery_codes(connection, session.person, ())

    def renew_codes(self, session_id: UUID) -> list[Secret]:
        """Return new recovery codes, which replace all earlier ones."""
        with self._context.store.write() as connection:
            by, session = self._changing(connection, session_id)
            note_action(connection, by, Action.RENEW_CODES, by.name)
            if not session.person.has_app:
                raise NotFound("recovery codes need an authenticator app: set one up first")
            return _new_codes(connection, session.person)

    def ask_for_new_passkey(self, session_id: UUID, site: Site) -> str:
        """Return what a browser needs to create a passkey, as JSON."""
        from dashboard.application.passkeys import creation_options  # noqa: PLC0415 - see above

        with self._context.store.write() as connection:
            _, session = self._changing(connection, session_id)
            known = passkeys_of(connection, session.person)
            if len(known) >= _MOST_PASSKEYS:
                raise InputError(f"you have {len(known)} passkeys: remove one first")
            token = self._begin_step(connection, Purpose.NEW_PASSKEY, session.person)
        return creation_options(site, token.reveal(), session.person, known)

    def add_passkey(self, session_id: UUID, site: Site, answer: str, name: str) -> None:
        """Add the passkey that a browser created to the person of a session."""
        from dashboard.application.passkeys import new_passkey, read_answer  # noqa: PLC0415 - see above

        (_, token), name = read_answer(answer), parse_name(name)
        with self._context.store.write() as connection:
            by, session = self._changing(connection, session_id)
            self._use_step(connection, token, Purpose.NEW_PASSKEY, session.person)
            passkey = new_passkey(site, token, answer, name, by.at)
            details = {"factor": "passkey", "name": name}
            note_action(connection, by, Action.ADD_FACTOR, by.name, details)
            if not add_passkey(connection, session.person, passkey):
                raise InputError("this passkey is known already: make another one")
            note_second_factor(connection, session_id)

    def remove_passkey(self, session_id: UUID, passkey_id: str) -> None:
        """Remove a passkey of the person of a session."""
        with self._context.store.write() as connection:
            by, session = self._changing(connection, session_id)
            known = {str(each.passkey_id): each for each in passkeys_of(connection, session.person)}
            if passkey_id not in known:
                raise NotFound("you have no such passkey here")
            details = {"factor": "passkey", "name": known[passkey_id].name}
            note_action(connection, by, Action.REMOVE_FACTOR, by.name, details)
            remove_passkey(connection, known[passkey_id])

    def use_code(self, connection: Connection, person: Person, text: str) -> str:
        """Use up a code that is right and unused; return its kind."""
        key, code = app_key_of(connection, person), bare_code(text)
        step = None if key is None else _step_of(key, code, self._context.now())
        if step is not None:
            if not use_app_step(connection, person, step):
                raise InputError("this code was used already: wait for the next one")
            return "app"
        if use_recovery_code(connection, person, digest(code)):
            return "recovery code"
        raise InputError("the code is wrong: try the next one, or a recovery code")

    def _begin_step(
        self, connection: Connection, purpose: Purpose, person: Person | None
    ) -> Secret:
        token = Secret(secrets.token_urlsafe(SECRET_BYTES))
        begin_step(connection, digest(token.reveal()), purpose, person, self._context.now())
        return token

    def _use_step(
        self, connection: Connection, token: str, purpose: Purpose, person: Person
    ) -> None:
        if not use_step(connection, digest(token), purpose, person, self._context.now()):
            raise NotFound(_BEGIN_AGAIN)

    def _changing(self, connection: Connection, session_id: UUID) -> tuple[Actor, Session]:
        """Return who changes their factors; they must have proved who they are a moment ago."""
        by, session = self._sessions.acting_in(connection, session_id)
        if session.person.issuer is not None:
            raise InputError(
                "your provider asks for second factors, not Linewatch: set them up there"
            )
        if self._must_use_own(session):
            raise NotAllowed(
                "your role requires a second factor, which you have: sign in with your passkey, or "
                "type your password and a code of your app on the account page"
            )
        if not self._is_confirmed(session):
            raise InputError("you signed in a while ago: type your password on the account page")
        return by, session

    def _must_use_own(self, session: Session) -> bool:
        """Whether the session must use an existing factor before another can be added."""
        return self._sessions.lacks_factor(session) and bool(session.person.factors)

    def _is_confirmed(self, session: Session) -> bool:
        return self._context.now() - session.confirmed_at <= CONFIRMED_FOR


def parse_app_key(text: str) -> Secret:
    """Parse a key from `Factors.new_app_key`; InputError for anything else."""
    if not _KEY.fullmatch(text):
        raise InputError("this key is not from Linewatch: set the app up again")
    return Secret(text)


def app_link(key: Secret, name: str) -> Secret:
    """Return the link that adds a key to an authenticator app."""
    return Secret(TOTP(key.reveal()).provisioning_uri(name=name, issuer_name="Linewatch"))


def _waiting(connection: Connection, token: str) -> Person:
    person = person_of_step(connection, digest(token))
    if person is None:
        raise NotFound(_BEGIN_AGAIN)
    return person


def _known_passkey(connection: Connection, credential_id: bytes) -> tuple[Person, Passkey]:
    person = owner_of(connection, credential_id)
    if person is None:
        raise InputError("this passkey is not known here: sign in with your password")
    theirs = {each.credential_id: each for each in passkeys_of(connection, person)}
    return person, theirs[credential_id]


def _new_codes(connection: Connection, person: Person) -> list[Secret]:
    codes = [recovery_code(secrets.token_bytes(RECOVERY_OCTETS)) for _ in range(RECOVERY_CODES)]
    save_recovery_codes(connection, person, [digest(bare_code(each)) for each in codes])
    return [Secret(each) for each in codes]


def _step_of(key: Secret, code: str, now: datetime) -> int | None:
    """Return the half minute of a code: the current one, or the one before or after."""
    try:
        return TOTP(key.reveal()).verify_and_get_timecode(code, for_time=now, valid_window=1)
    except OTPVerificationError:
        return None
