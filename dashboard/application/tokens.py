"""Tokens with which programs use the management API, and requests that may be sent twice."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from dashboard.application.context import ApplicationSubject
from dashboard.application.listing import Column, Listing, limit_column, time_column
from dashboard.domain.markup import visible
from dashboard.domain.people.access import Action, Actor, Role, Way, digest, parse_key_name
from dashboard.domain.quantity import shorten
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, NotAllowed, NotFound
from dashboard.store.access.audit_log import note_action
from dashboard.store.access.tokens import (
    SavedReply,
    Token,
    add_token,
    end_token,
    note_token_use,
    save_reply,
    saved_reply,
    token_of_digest,
    valid_tokens,
)

TOKEN_PREFIX: Final = "lwt_"  # noqa: S105 - a prefix is no secret
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
"""What a token may be limited to: the first words of the addresses of the API."""

LONGEST_LIFE: Final = timedelta(days=366)
_TOKEN_BYTES: Final = 32
_NOTED_EVERY: Final = timedelta(minutes=1)
"""How often the use of a token is written."""


class KeyReused(InputError):
    """An Idempotency-Key came with another request than before."""


class Tokens(ApplicationSubject):
    def all(self) -> list[Token]:
        """Return the tokens that are valid now, by name."""
        with self._context.store.read() as connection:
            return valid_tokens(connection, self._context.now())

    def create(
        self,
        name: str,
        role: Role,
        lasts: timedelta,
        by: Actor,
        subjects: frozenset[str] | None = None,
    ) -> Secret:
        """Make a token and return its secret, which is stored nowhere."""
        name = parse_key_name(name)
        if not timedelta() < lasts <= LONGEST_LIFE:
            raise InputError(f"a token lasts at most {LONGEST_LIFE.days} days: say how long")
        unknown = sorted((subjects or frozenset()) - SUBJECTS)
        if unknown:
            known = ", ".join(sorted(SUBJECTS))
            raise InputError(f"{shorten(unknown[0])} is no subject: choose from {known}")
        if by.subjects is not None and (subjects is None or not subjects <= by.subjects):
            raise NotAllowed(
                f"{by.name} opens {', '.join(sorted(by.subjects))}: it makes no token that opens "
                "more"
            )
        secret = Secret(TOKEN_PREFIX + secrets.token_urlsafe(_TOKEN_BYTES))
        token = Token(0, name, role, subjects, by.at, by.name, by.at + lasts)
        with self._context.store.write() as connection:
            details = {"role": role.value, "days": lasts.days}
            limits = {} if subjects is None else {"subjects": sorted(subjects)}
            note_action(connection, by, Action.CREATE_TOKEN, name, {**details, **limits})
            if any(each.name == name for each in valid_tokens(connection, by.at)):
                raise InputError(f"a token is called {name} already: revoke it, or choose a name")
            add_token(connection, token, digest(secret.reveal()))
        return secret

    def revoke(self, name: str, by: Actor) -> None:
        """Let a token be valid no more, at once."""
        with self._context.store.write() as connection:
            known = {each.name: each for each in valid_tokens(connection, by.at)}
            note_action(connection, by, Action.REVOKE_TOKEN, name)
            if name not in known:
                raise NotFound(f"no token is called {shorten(name)}: list them to see all")
            end_token(connection, known[name], by.at)

    def presented(self, secret: Secret) -> Token | None:
        """Return the valid token of a request, whose use is noted; None where there is none."""
        now = self._context.now()
        with self._context.store.read() as connection:
            found = token_of_digest(connection, digest(secret.reveal()), now)
        if found is not None and _is_due(found, now):
            with self._context.store.write() as connection:
                note_token_use(connection, found, now)
        return found

    def once(
        self, token: Token, request_key: str, request: str, act: Callable[[], tuple[int, str]]
    ) -> tuple[int, str, bool]:
        """Act in one transaction with the record of its answer, unless that was done before.

        Returns status, body, and whether they are the answer of then. `request` is everything that
        was asked for; KeyReused where the key came with another one.
        """
        digested = digest(request)
        with self._context.store.write_together() as connection:
            now = self._context.now()
            known = saved_reply(connection, token, request_key, now)
            if known is None:
                status, body = act()
                save_reply(connection, token, request_key, SavedReply(digested, status, body), now)
                return status, body, False
        if known.request_digest != digested:
            raise KeyReused("this Idempotency-Key came with another request: use a new one")
        return known.status, known.body, True


def actor_of(token: Token, at: datetime, address: str) -> Actor:
    """Return who acts where a token was presented."""
    return Actor(f"{token.name} (token)", at, token.role, address, token.subjects, way=Way.API)


def _is_due(token: Token, now: datetime) -> bool:
    return token.last_used_at is None or now - token.last_used_at >= _NOTED_EVERY


TOKENS: Final[Listing[Token]] = Listing(
    "tokens",
    (
        Column("name", lambda each: each.name, "name"),
        Column("role", lambda each: each.role.value, "role"),
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
