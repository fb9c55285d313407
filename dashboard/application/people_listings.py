"""How people and their sessions are listed, on pages and by commands."""

from __future__ import annotations

from typing import Final

from dashboard.application.accounts import Account
from dashboard.application.listing import Column, Listing, for_programs, time_column
from dashboard.domain.markup import visible
from dashboard.store.access.people import Session


def _device(session: Session) -> str:
    """Name a device as its person does, and then as its browser does."""
    named = f"{visible(session.label)}: " if session.label else ""
    return f"{named}{visible(session.device)}"


PEOPLE: Final[Listing[Account]] = Listing(
    "people",
    (
        Column(
            "name", lambda each: visible(each.person.name), "name", lambda each: each.person.name
        ),
        Column("role", lambda each: each.person.role.value, "role"),
        Column("state", lambda each: each.state, "state"),
        Column(
            "factors",
            lambda each: ", ".join(each.person.factors) or "none",
            "factors",
            lambda each: [*each.person.factors],
        ),
        Column(
            "signs in with",
            lambda each: visible(each.person.issuer or "password"),
            "issuer",
            lambda each: each.person.issuer,
        ),
        time_column("last used", "lastUsedAt", lambda each: each.last_used_at, "never"),
        time_column("since", "since", lambda each: each.person.created_at),
        time_column("invited until", "invitedUntil", lambda each: each.invited_until),
    ),
    "Nobody may sign in.",
)

SESSIONS: Final[Listing[Session]] = Listing(
    "sessions",
    (
        for_programs("sessionId", lambda each: str(each.session_id)),
        Column("session", lambda each: str(each.session_id)[:8]),
        Column("name", lambda each: visible(each.person.name), "name"),
        Column("device", _device, "device", lambda each: visible(each.device)),
        for_programs("label", lambda each: visible(each.label)),
        Column("from", lambda each: visible(each.address), "from"),
        time_column("signed in", "signedInAt", lambda each: each.created_at),
        time_column("last used", "lastUsedAt", lambda each: each.last_used_at),
        time_column("ends", "endsAt", lambda each: each.ends_at),
    ),
    "Nobody is signed in.",
)
