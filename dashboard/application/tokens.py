"""Tokens of the management API, for programs, and requests that these send twice."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from dashboard.application.context import ApplicationContext, ApplicationSubject
from dashboard.application.listing import Column, Listing, limit_column, time_column
from dashboard.domain.markup import visible
from dashboard.domain.people.access import Action, Actor, Detail, Role, Way, digest, parse_key_name
from dashboard.domain.quantity import shorten
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, NotAllowed, NotFound
from dashboard.store.access.audit_log import note_action
from dashboard.store.access.people import Person, find_person
from dashboard.store.access.tokens import (
    SavedReply,
    Token,
    add_token,
    end_tokens,
    note_token_use,
    save_reply,
    saved_reply,
    token_of_digest,
    token_of_id,
    valid_tokens,
)
from dashboard.store.engine.connection import Connection

TOKEN_PREFIX: Final = "lwt_"  # noqa: S105 - a prefix is not a secret
"""Prefix of tokens, so that scanners find leaked ones."""

SUBJECTS: Final = frozenset(
    {
        "answers",
        "attention",
        "audit",
        "configuration",
        "incidents",
        "keys",
        "lookups",
        "maintenance-windows",
        "networks",
        "notifications",
        "people",
        "recipients",
        "rejections",
        "rules",
        "senders",
        "sessions",
        "settings",
        "shares",
        "silences",
        "tokens",
        "tracked",
    }
)
"""What a token may be limited to: the first path segments of the API."""

LONGEST_LIFE: Final = timedelta(days=366)
_TOKEN_BYTES: Final = 32
_NOTED_EVERY: Final = timedelta(minutes=1)
"""How often the use of a token is stored."""


class MadeToken(Struct, frozen=True):
    """A new token; its secret is not stored."""

    token: Token
    secret: Secret


class Tokens(ApplicationSubject):
    def all(self) -> list[Token]:
        """Return the valid tokens by name."""
        with self._context.store.read() as connection:
            return valid_tokens(connection, self._context.now())

    def create(
        self,
        name: str,
        role: Role,
        lasts: timedelta,
        by: Actor,
        subjects: frozenset[str] | None = None,
        person: str | None = None,
    ) -> MadeToken:
        """Create a token; if it belongs to a person, it may do no more and lasts no longer.

        A token created with another one ends no later than that one, and belongs to the same
        person.
        """
        name = parse_key_name(name)
        if not timedelta() < lasts <= LONGEST_LIFE:
            raise InputError(f"a token lasts at most {LONGEST_LIFE.days} days: say how long")
        _refuse_subjects(subjects, by)
        secret = Secret(TOKEN_PREFIX + secrets.token_urlsafe(_TOKEN_BYTES))
        with self._context.store.write() as connection:
            details: dict[str, Detail] = {"role": role.value, "days": lasts.days}
            details |= {} if subjects is None else {"subjects": sorted(subjects)}
            details |= {} if person is None else {"person": person}
            note_action(connection, by, Action.CREATE_TOKEN, name, details)
            known = valid_tokens(connection, by.at)
            if any(each.name == name for each in known):
                raise InputError(f"a token is called {name} already: revoke it, or choose a name")
            maker = _maker(known, by)
            whose = _whose(connection, person, role, maker)
            ends_at = by.at + lasts if maker is None else min(by.at + lasts, maker.ends_at)
            token = Token(
                0,
                name,
                role,
                subjects,
                by.at,
                by.name,
                ends_at,
                person=None if whose is None else whose.name,
                made_with=by.token_id,
            )
            add_token(connection, token, digest(secret.reveal()), whose)
        return MadeToken(token, secret)

    def revoke(self, name: str, by: Actor) -> list[str]:
        """Revoke a token and those that were created with it; return all names."""
        with self._context.store.write() as connection:
            known = {each.name: each for each in valid_tokens(connection, by.at)}
            ended = end_tokens(connection, [known[name]], by.at) if name in known else []
            note_action(connection, by, Action.REVOKE_TOKEN, name, {"ended": ended})
            if not ended:
                raise NotFound(f"no token is called {shorten(name)}: list them to see all")
        return ended

    def presented(self, secret: Secret) -> Token | None:
        """Return the valid token of a request, None if there is none, and record its use."""
        now = self._context.now()
        with self._context.store.read() as connection:
            found = token_of_digest(connection, digest(secret.reveal()), now)
        if found is not None and _is_due(found, now):
            with self._context.store.write() as connection:
                note_token_use(connection, found, now)
        return found

    def as_now(self, token: Token) -> Token | None:
        """Return a token that was used with its current role; None if it has ended."""
        with self._context.store.read() as connection:
            return token_of_id(connection, token.token_id, self._context.now())


def actor_of(token: Token, at: datetime, address: str) -> Actor:
    return Actor(
        f"{token.name} (token)",
        at,
        token.role,
        address,
        token.subjects,
        way=Way.API,
        token_id=token.token_id,
    )


def _refuse_subjects(subjects: frozenset[str] | None, by: Actor) -> None:
    """Raise InputError for an unknown subject, NotAllowed for one that the creator may not use."""
    unknown = sorted((subjects or frozenset()) - SUBJECTS)
    if unknown:
        known = ", ".join(sorted(SUBJECTS))
        raise InputError(f"{shorten(unknown[0])} is not a subject: choose from {known}")
    if by.subjects is not None and (subjects is None or not subjects <= by.subjects):
        opened = ", ".join(sorted(by.subjects))
        raise NotAllowed(f"{by.name} opens {opened}: it cannot make a token that opens more")


def _maker(known: Sequence[Token], by: Actor) -> Token | None:
    """Return the token that creates another one; None if a command on this machine does."""
    if by.token_id is None:
        return None
    return next(each for each in known if each.token_id == by.token_id)


def _whose(
    connection: Connection, name: str | None, role: Role, maker: Token | None
) -> Person | None:
    """Return the owner of a new token: the person named, or the owner of the creating token."""
    of_maker = None if maker is None else maker.person
    if of_maker is not None and name not in {None, of_maker}:
        raise NotAllowed(
            f"a token of {shorten(of_maker)} can only make tokens of {shorten(of_maker)}"
        )
    name = name or of_maker
    person = None if name is None else find_person(connection, name)
    if name is not None and (person is None or person.is_disabled):
        raise InputError(f"nobody called {shorten(name)} can sign in: see `linewatch people list`")
    if person is not None and not person.role.includes(role):
        raise InputError(
            f"{shorten(person.name)} has the role {person.role}: choose that role or a lesser one"
        )
    return person


def _is_due(token: Token, now: datetime) -> bool:
    return token.last_used_at is None or now - token.last_used_at >= _NOTED_EVERY


class KeyReused(InputError):
    """An Idempotency-Key was used before, with another request."""


def act_once(
    context: ApplicationContext,
    token: Token,
    request_key: str,
    request: str,
    act: Callable[[], tuple[int, str]],
) -> tuple[int, str, bool]:
    """Act and save the answer in one transaction, unless that was done before.

    Returns status, body, and whether they are the earlier answer. `request` is the whole request;
    KeyReused if the key was used with another one.
    """
    digested = digest(request)
    with context.store.write_together() as connection:
        now = context.now()
        known = saved_reply(connection, token, request_key, now)
        if known is None:
            status, body = act()
            save_reply(connection, token, request_key, SavedReply(digested, status, body), now)
            return status, body, False
    if known.request_digest != digested:
        raise KeyReused("this Idempotency-Key came with another request: use a new one")
    return known.status, known.body, True


TOKENS: Final[Listing[Token]] = Listing(
    "tokens",
    (
        Column("name", lambda each: each.name, "name"),
        Column("role", lambda each: each.role.value, "role"),
        Column(
            "person",
            lambda each: "" if each.person is None else visible(each.person),
            "person",
            lambda each: each.person,
        ),
        limit_column("opens", "subjects", lambda each: each.subjects, str),
        time_column("created", "createdAt", lambda each: each.created_at),
        Column(
            "by", lambda each: visible(each.created_by), "createdBy", lambda each: each.created_by
        ),
        time_column("last use", "lastUsedAt", lambda each: each.last_used_at, "never"),
        time_column("ends", "endsAt", lambda each: each.ends_at),
    ),
    "There is no token: make one with `linewatch tokens create NAME`.",
)
