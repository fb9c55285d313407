"""Roles and what each may do, API keys and their limits, and the audit log of what people did."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, Self, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.quantity import NetworkId, shorten
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, NotAllowed

LONGEST_NAME: Final = 80
"""Characters of the name of a person who acts."""

Detail: TypeAlias = str | int | float | bool | Sequence[str] | Sequence[int] | None
"""The types of an audit detail. Secret is not among them, so that no secret is ever written."""

UNLIMITED: Final = 0.0
"""The rate of a key without a limit."""

KEY_PREFIX: Final = "lw_"
"""Prefix of keys that `linewatch keys` creates, so that scanners find leaked ones."""

SECRET_PREFIX: Final = "lws_"  # noqa: S105 - a prefix is not a secret
"""Prefix of their secrets."""

_RATE: Final = re.compile(r"([1-9]\d{0,8})/(s|m|h)", re.ASCII)
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600}
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_SMALLEST_BURST: Final = 10
_EXACT: Final = 1e-6


class Action(StrEnum):
    """What is logged. PURGE: old entries were deleted. CHANGE_RETENTION: how long data is kept.

    SUSPECT: a message to an address bounced. SIGN_OUT: people ended a session of their own,
    END_SESSION: of somebody else. REMOVE_FACTOR: people removed an app or a passkey of their own,
    RESET_FACTORS: all of somebody else's. DISABLE_PERSON: no sign-in until ENABLE_PERSON.
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
    CHANGE_SETTINGS = "change-settings"
    CHANGE_RETENTION = "change-retention"
    PURGE = "purge"
    INVITE = "invite"
    CHANGE_ROLE = "change-role"
    DISABLE_PERSON = "disable-person"
    ENABLE_PERSON = "enable-person"
    REMOVE_PERSON = "remove-person"
    SET_PASSWORD = "set-password"  # noqa: S105 - what people do, not a password
    SIGN_IN = "sign-in"
    SIGN_OUT = "sign-out"
    END_SESSION = "end-session"
    NAME_SESSION = "name-session"
    ADD_FACTOR = "add-factor"
    REMOVE_FACTOR = "remove-factor"
    RENEW_CODES = "renew-codes"
    RESET_FACTORS = "reset-factors"
    SHARE = "share"
    END_SHARE = "end-share"
    IMPORT = "import"
    CREATE_TOKEN = "create-token"  # noqa: S105 - what people do, not a token
    REVOKE_TOKEN = "revoke-token"  # noqa: S105 - likewise


class Role(StrEnum):
    """What a person may do, from least to most; each role includes those before it."""

    VIEWER = "viewer"
    SUPPORT = "support"
    OPERATOR = "operator"
    ADMIN = "admin"

    @property
    def with_article(self) -> str:
        """The role with its article, for a sentence."""
        name = "support agent" if self is Role.SUPPORT else self.value
        return f"an {name}" if name[0] in "aeiou" else f"a {name}"

    def may(self, action: Action) -> bool:
        return self.includes(least_role(action))

    def includes(self, other: Role) -> bool:
        """Whether it may do all that the other may."""
        ranks = list(Role)
        return ranks.index(self) >= ranks.index(other)

    def at_most(self, other: Role) -> Role:
        """Return the lower of the two roles."""
        return self if other.includes(self) else other


LEAST_ROLES: Final[Mapping[Role, frozenset[Action]]] = {
    Role.VIEWER: frozenset(
        {
            Action.SIGN_IN,
            Action.SIGN_OUT,
            Action.NAME_SESSION,
            Action.SET_PASSWORD,
            Action.ADD_FACTOR,
            Action.REMOVE_FACTOR,
            Action.RENEW_CODES,
        }
    ),
    Role.SUPPORT: frozenset(
        {
            Action.TRACK,
            Action.EDIT_TRACKED,
            Action.UNTRACK,
            Action.SAVE_FILTER,
            Action.REMOVE_FILTER,
            Action.WATCH_SENDER,
            Action.UNWATCH_SENDER,
            Action.SHARE,
            Action.END_SHARE,
        }
    ),
    Role.OPERATOR: frozenset(
        {
            Action.ADD_RULE,
            Action.CHANGE_RULE,
            Action.REMOVE_RULE,
            Action.SILENCE,
            Action.END_SILENCE,
            Action.PLAN_MAINTENANCE,
            Action.END_MAINTENANCE,
            Action.ACKNOWLEDGE,
            Action.UNACKNOWLEDGE,
            Action.HAND_OVER,
            Action.RESOLVE,
            Action.RESEND,
            Action.TEST_SEND,
            Action.UNSUBSCRIBE,
            Action.TURN_OFF,
            Action.TURN_ON,
            Action.ASK_TO_VERIFY,
            Action.VERIFY,
            Action.CHANGE_RECIPIENT,
            Action.CHANGE_ANSWERS,
        }
    ),
}
"""The lowest role that may take each action. Actions that are not listed need an admin."""

READS_ACCESS: Final = Role.ADMIN
"""The lowest role that may read people, sessions, keys and the audit log."""


def least_role(action: Action) -> Role:
    return next((role for role, acts in LEAST_ROLES.items() if action in acts), Role.ADMIN)


class Way(StrEnum):
    """How somebody acts; FILE: a file is put into force."""

    PAGE = "page"
    API = "api"
    COMMAND = "command"
    FILE = "file"


class Actor(Struct, frozen=True):
    """Who acts, and when.

    `role` limits what they may do: the role of a sign-in, or ADMIN for somebody on this machine.
    `origin` says where they act from, as the audit log shows it, and `way` how. `subjects` are the
    only ones that a program may act on; None is all of them. `token_id` is the token that it uses.
    """

    name: str
    at: datetime
    role: Role = Role.ADMIN
    origin: str = ""
    subjects: frozenset[str] | None = None
    way: Way | None = None
    token_id: int | None = None

    def require(self, action: Action) -> None:
        """Raise NotAllowed if the role does not allow an action."""
        if not self.role.may(action):
            raise NotAllowed(
                f"{self.name} is {self.role.with_article} here, and {action.value} takes the role "
                f"{least_role(action).value}: ask an admin"
            )


def parse_name(text: str) -> str:
    """Clean up the name of a person who acts; InputError says what to change."""
    name = " ".join(text.split())
    if not name:
        raise InputError("the name is missing")
    if len(name) > LONGEST_NAME:
        raise InputError(f"the name has {len(name):,} characters: write at most {LONGEST_NAME}")
    return name


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry: who did what to what; all texts are foreign.

    `origin` is, say, the address of a browser; empty for this machine. `audit_id` distinguishes
    entries of the same moment.
    """

    at: datetime
    actor: str
    action: Action
    subject: str
    details: Mapping[str, Detail]
    origin: str = ""
    audit_id: int = field(default=0, compare=False)


class KeyLimits(Struct, frozen=True):
    """The limits of one key; None means no limit, or for the rate, the installation's.

    `methods` lists what may be called: names without prefix, and gas operations.
    `requests_per_second` may be `UNLIMITED`. `burst`: how many calls may come at once.
    `may_report`: whether it may save rejections.
    """

    network_ids: frozenset[NetworkId] | None = None
    methods: frozenset[str] | None = None
    requests_per_second: float | None = None
    burst: int | None = None
    may_report: bool = True

    def rate_in_force(self, default: float) -> tuple[float | None, int | None]:
        """Return the calls a second and the burst that apply, both None if there is no limit."""
        rate = default if self.requests_per_second is None else self.requests_per_second
        return (None, None) if rate == UNLIMITED else (rate, self.burst or usual_burst(rate))


def usual_burst(rate: float) -> int:
    """Return the default burst: the calls of one second, at least 10."""
    return max(_SMALLEST_BURST, math.ceil(rate))


def parse_rate(text: str) -> float:
    """Parse ``50/s``, ``600/m``, ``1000/h`` or ``none`` as calls a second; InputError otherwise."""
    if text == "none":
        return UNLIMITED
    match = _RATE.fullmatch(text)
    if match is None:
        raise InputError(
            f"{shorten(text)} is not a rate: write a number and a unit, such as 50/s, or none"
        )
    return int(match[1]) / _SECONDS[match[2]]


def format_rate(rate: float) -> str:
    """Format a rate for `parse_rate`, in the smallest unit that makes it a whole number."""
    if rate == UNLIMITED:
        return "none"
    for unit, seconds in _SECONDS.items():
        calls = rate * seconds
        if abs(calls - round(calls)) < _EXACT:
            return f"{round(calls)}/{unit}"
    return f"{rate:.3g}/s"


def parse_key_name(text: str) -> str:
    """Check the name of a key, which logs and lists show; InputError if it is not allowed."""
    if not _NAME.fullmatch(text):
        raise InputError(
            f"{shorten(text)} cannot name a key: use up to 64 letters, digits, dots, dashes and "
            "underscores, beginning with a letter or digit"
        )
    return text


class ApiKey(Struct, frozen=True):
    """One key of one caller; logs call the caller by its `name`.

    `network_ids` are the networks that the key may read; None is all of them. `methods` are the
    names without prefix and the gas operations that it may call; None is all of them. `may_report`:
    whether it may save rejections. `requests_per_second` and `burst` limit how often it may call;
    None means no limit.
    """

    name: str
    key_digest: bytes
    secret_digest: bytes | None = None
    network_ids: frozenset[NetworkId] | None = None
    methods: frozenset[str] | None = None
    may_report: bool = True
    requests_per_second: float | None = None
    burst: int | None = None

    @classmethod
    def of(
        cls,
        name: str,
        key: Secret,
        secret: Secret | None = None,
        network_ids: Iterable[NetworkId] | None = None,
    ) -> Self:
        """Hash a key and its secret, if any; InputError if no client could send the key.

        Keys are random and long, so one round of SHA-256 is enough.
        """
        text = key.reveal()
        if not text or set("/:") & set(text):
            msg = f"the API key {name!r} is empty or holds / or :, so no client could present it"
            raise InputError(msg)
        return cls(
            name=name,
            key_digest=digest(text),
            secret_digest=digest(secret.reveal()) if secret else None,
            network_ids=None if network_ids is None else frozenset(network_ids),
        )

    def limited(self, limits: KeyLimits, default_rate: float) -> Self:
        """Return the key with these limits; `default_rate` applies if they set no rate."""
        rate, burst = limits.rate_in_force(default_rate)
        return replace(
            self,
            network_ids=limits.network_ids,
            methods=limits.methods,
            may_report=limits.may_report,
            requests_per_second=rate,
            burst=burst,
        )

    def opens(self, network_id: NetworkId) -> bool:
        return self.network_ids is None or network_id in self.network_ids


class ConfiguredKeys(Struct, frozen=True):
    """The keys in the settings, and the default rate of stored keys.

    `is_for_trial`: this is the one published key, for trying Linewatch with nothing configured.
    """

    keys: tuple[ApiKey, ...] = ()
    default_rate: float = 0.0
    is_for_trial: bool = False


NO_KEYS: Final = ConfiguredKeys()


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
