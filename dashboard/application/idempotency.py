"""Requests that may be sent twice: a known Idempotency-Key returns the earlier answer."""

from __future__ import annotations

from collections.abc import Callable

from dashboard.application.context import ApplicationContext
from dashboard.domain.people.access import digest
from dashboard.errors import InputError
from dashboard.store.access.tokens import SavedReply, Token, save_reply, saved_reply


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
