"""The audit log: what people and commands did to an installation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from dashboard.errors import InputError

LONGEST_NAME: Final = 80
"""Characters of the name of a person who acts."""

Detail: TypeAlias = str | int | float | bool | Sequence[str] | Sequence[int] | None
"""The types of a detail; a Secret is none of them, so that none is ever written."""


class Action(StrEnum):
    """What is logged. PURGE: old entries were deleted. CHANGE_RETENTION: how long data is kept.

    SUSPECT: a message to an address came back.
    """

    CREATE_KEY = "create-key"
    LIMIT_KEY = "limit-key"
    RENAME_KEY = "rename-key"
    ROTATE_KEY = "rotate-key"
    REVOKE_KEY = "revoke-key"
    WATCH_SENDER = "watch-sender"
    UNWATCH_SENDER = "unwatch-sender"
    TRACK = "track"
    EDIT_TRACKED = "edit-tracked"
    UNTRACK = "untrack"
    SAVE_FILTER = "save-filter"
    REMOVE_FILTER = "remove-filter"
    MIGRATE = "migrate"
    BACKUP = "backup"
    RESTORE = "restore"
    REBUILD = "rebuild"
    MOVE = "move"
    JOIN = "join"
    RELEASE = "release"
    RESEND = "resend"
    TEST_SEND = "test-send"
    ADD_RULE = "add-rule"
    CHANGE_RULE = "change-rule"
    REMOVE_RULE = "remove-rule"
    SILENCE = "silence"
    END_SILENCE = "end-silence"
    PLAN_MAINTENANCE = "plan-maintenance"
    END_MAINTENANCE = "end-maintenance"
    ACKNOWLEDGE = "acknowledge"
    UNACKNOWLEDGE = "unacknowledge"
    HAND_OVER = "hand-over"
    RESOLVE = "resolve"
    UNSUBSCRIBE = "unsubscribe"
    SUSPECT = "suspect"
    TURN_OFF = "turn-off"
    TURN_ON = "turn-on"
    ASK_TO_VERIFY = "ask-to-verify"
    VERIFY = "verify"
    RENEW_LINK_KEY = "renew-link-key"
    CHANGE_RECIPIENT = "change-recipient"
    CHANGE_ANSWERS = "change-answers"
    CHANGE_RETENTION = "change-retention"
    PURGE = "purge"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does something, and when."""

    name: str
    at: datetime


def parse_name(text: str) -> str:
    """Read the name of a person who acts, as they give it; InputError names the remedy."""
    name = " ".join(text.split())
    if not name:
        raise InputError("nobody is named: say who acts, for those who read the audit log")
    if len(name) > LONGEST_NAME:
        raise InputError(f"the name has {len(name):,} characters: write at most {LONGEST_NAME}")
    return name


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry: who did what to what; `actor`, `subject` and texts in `details` are foreign."""

    at: datetime
    actor: str
    action: Action
    subject: str
    details: Mapping[str, Detail]
