"""Questions about recipients and acts on them: who gets messages, who does not, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from threading import Lock
from typing import Final

from msgspec import Struct

from dashboard.application.context import ApplicationSubject
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.rule_keys import MAIL
from dashboard.domain.formatting import counted
from dashboard.domain.people.access import Action, Actor, Detail
from dashboard.domain.people.recipients import (
    AddressOff,
    ConfiguredRecipients,
    OffCause,
    RecipientDirectory,
    RecipientProfile,
    RecipientStatus,
    SuspectAddress,
    is_called,
    mailbox_of,
)
from dashboard.domain.people.verification import (
    MOST_WRONG_CODES,
    Verification,
    enter_code,
    request_mail,
    verified,
)
from dashboard.domain.quantity import shorten
from dashboard.errors import DeliveryError, DeliveryRefused, InputError
from dashboard.store.access.audit_log import note_action
from dashboard.store.alerts.notification_claims import try_at_once
from dashboard.store.alerts.notifications import link_key, renew_link_key
from dashboard.store.alerts.recipients import (
    end_suspicion,
    is_off,
    last_sent_to,
    list_addresses_off,
    locked_verification,
    read_directory,
    save_profile,
    save_verification,
    turn_off,
    turn_on,
)
from dashboard.store.alerts.rules import rules_in_force
from dashboard.store.engine.connection import Connection

_ONE_TEST: Final = Lock()
"""Held while a test message is sent, so that a slow server blocks one thread, not all."""


class ListedRecipient(Struct, frozen=True):
    """A recipient as people see it.

    `named_in` says where it is named: in the settings, or in which rules. `is_fixed`: its profile
    is in the settings. `last_sent` is when a message was last accepted for it.
    """

    recipient: Recipient
    status: RecipientStatus
    named_in: tuple[str, ...]
    verification: Verification | None
    off: AddressOff | None
    suspect: SuspectAddress | None
    profile: RecipientProfile
    is_fixed: bool
    last_sent: datetime | None


class UnreachedRule(Struct, frozen=True):
    """A rule in force, or its escalation, that reaches nobody, with a reason for each recipient."""

    place: str
    reasons: tuple[tuple[Recipient, str], ...]


class TriedRecipient(Struct, frozen=True):
    """Whether a test message was accepted, with the answer, or why it was not."""

    recipient: Recipient
    was_sent: bool
    answer: str


class Recipients(ApplicationSubject):
    def all(self) -> tuple[ListedRecipient, ...]:
        """Return every recipient that is or was named anywhere, sorted by address."""
        with self._context.store.read() as connection:
            directory = self._directory(connection)
            named = _named(directory, rules_in_force(connection))
            return tuple(
                _listed(connection, each, directory, tuple(named[each]))
                for each in sorted(named, key=lambda each: (each.channel, each.address))
            )

    def unreached(self) -> tuple[UnreachedRule, ...]:
        """Return the rules in force of which no recipient may be sent anything.

        Escalations that reach nobody are included, rules that are off or ended are not.
        """
        now = self._context.now()
        with self._context.store.read() as connection:
            return _unreached(self._directory(connection), rules_in_force(connection), now)

    def is_off(self, recipient: Recipient) -> bool:
        """Whether nothing is sent to an address, however it is written."""
        with self._context.store.read() as connection:
            return is_off(connection, recipient)

    def turn_off(self, recipient: Recipient, by: Actor, note: str = "") -> bool:
        """Turn an address off, on record; False if it is off already."""
        self._context.settings.recipients.refuse_impossible(recipient)
        off = AddressOff(recipient, OffCause.TURNED_OFF, by.at, by.name, note)
        return self.stop(off, by, Action.TURN_OFF)

    def unsubscribe(self, recipient: Recipient, by: Actor) -> bool:
        """Turn an address off by the link in a message to it."""
        note = "by a link in a message"
        off = AddressOff(recipient, OffCause.UNSUBSCRIBED, by.at, by.name, note)
        return self.stop(off, by, Action.UNSUBSCRIBE)

    def stop(self, off: AddressOff, by: Actor, action: Action) -> bool:
        """Turn an address off for a reason, on record; False if it is off already."""
        by.require(action)
        with self._context.store.write() as connection:
            is_new = turn_off(connection, off)
            if is_new:
                _note(connection, by, action, off.recipient, note=off.note)
        return is_new

    def turn_on(self, recipient: Recipient, by: Actor) -> bool:
        """Turn an address on and trust it again, on record; False if that changes nothing."""
        by.require(Action.TURN_ON)
        with self._context.store.write() as connection:
            alike = [
                each.recipient
                for each in list_addresses_off(connection)
                if mailbox_of(each.recipient) == mailbox_of(recipient)
            ]
            was_off = sum(turn_on(connection, each) for each in alike) > 0
            was_suspect = end_suspicion(connection, recipient)
            if was_off or was_suspect:
                _note(connection, by, Action.TURN_ON, recipient)
        return was_off or was_suspect

    def ask(self, recipient: Recipient, by: Actor) -> None:
        """Request a verification mail, which the worker sends, on record.

        InputError if it is not needed or not possible, or if there were too many requests.
        """
        by.require(Action.ASK_TO_VERIFY)
        self._context.settings.recipients.refuse_impossible(recipient)
        with self._context.store.write() as connection:
            directory = self._directory(connection)
            status, address = directory.status(recipient), shorten(recipient.address)
            if status is RecipientStatus.OFF:
                raise InputError(f"{address} is off: turn it on first")
            if status is RecipientStatus.TRUSTED:
                raise InputError(f"{address} needs no verification: the settings name it")
            known = locked_verification(connection, recipient)
            save_verification(connection, request_mail(known, directory.requested_at(), by.at))
            _note(connection, by, Action.ASK_TO_VERIFY, recipient)

    def enter_code(self, recipient: Recipient, code: str, by: Actor) -> bool:
        """Verify an address by the code in its mail, on record; False if it was verified before.

        InputError for a wrong code, which is counted.
        """
        by.require(Action.VERIFY)
        with self._context.store.write() as connection:
            key = link_key(connection)
            known = locked_verification(connection, recipient)
            if key is None:
                raise InputError("no verification mail was sent yet: start the worker")
            after = enter_code(known, code, key, by)
            if after == known:
                return False
            save_verification(connection, after)
            if after.verified_at is not None:
                end_suspicion(connection, recipient)
                _note(connection, by, Action.VERIFY, recipient, way="code")
        if after.verified_at is None:
            left = MOST_WRONG_CODES - after.wrong_codes
            raise InputError(
                f"this is not the code in the latest mail to {shorten(recipient.address)}: "
                f"{counted(left, 'more try', 'more tries')}"
            )
        return True

    def verify(self, recipient: Recipient, by: Actor, way: str = "link") -> bool:
        """Mark an address as verified by the link in its mail, on record; False if it already was.

        `way` says how else it was verified.
        """
        with self._context.store.write() as connection:
            known = locked_verification(connection, recipient)
            if known.verified_at is not None:
                return False
            save_verification(connection, verified(known, by))
            end_suspicion(connection, recipient)
            _note(connection, by, Action.VERIFY, recipient, way=way)
        return True

    def renew_link_key(self, new: bytes, by: Actor) -> None:
        """Invalidate all links and codes sent so far, on record."""
        with self._context.store.write() as connection:
            renew_link_key(connection, new)
            note_action(connection, by, Action.RENEW_LINK_KEY, "links in messages")

    def try_out(self, recipient: Recipient, send: Callable[[], str], by: Actor) -> TriedRecipient:
        """Send a test message with `send`, which returns the answer, on record.

        If it is accepted, alerts that wait after failures of its channel are retried at once.
        """
        by.require(Action.TEST_SEND)
        if not _ONE_TEST.acquire(blocking=False):
            raise InputError("another test message is under way: wait until it is answered")
        try:
            self._require_reachable(recipient)
            tried = TriedRecipient(recipient, was_sent=True, answer=send())
        except DeliveryError as error:
            tried = TriedRecipient(recipient, was_sent=False, answer=str(error))
        finally:
            _ONE_TEST.release()
        details: dict[str, Detail] = {
            "channel": recipient.channel,
            "sent": tried.was_sent,
            "answer": tried.answer,
        }
        with self._context.store.write() as connection:
            note_action(connection, by, Action.TEST_SEND, recipient.address, details)
            if tried.was_sent:
                try_at_once(connection, recipient.channel)
        return tried

    def _require_reachable(self, recipient: Recipient) -> None:
        """Raise DeliveryRefused if a recipient may not be sent anything."""
        with self._context.store.read() as connection:
            why = self._directory(connection).withheld(recipient)
        if why:
            raise DeliveryRefused(f"{why}; `linewatch recipients list` shows more")

    def is_verified(self, recipient: Recipient) -> bool:
        with self._context.store.read() as connection:
            known = self._directory(connection).verifications.get(mailbox_of(recipient))
        return known is not None and known.verified_at is not None

    def profile(self, recipient: Recipient) -> RecipientProfile:
        with self._context.store.read() as connection:
            return self._directory(connection).profile(recipient)

    def change(
        self,
        recipient: Recipient,
        wanted: RecipientProfile,
        by: Actor,
        *,
        must_be_named: bool = True,
    ) -> None:
        """Store the time zone, the hours and the digest of a recipient, on record.

        InputError if the settings define them, or if the recipient is unknown and `must_be_named`.
        """
        with self._context.store.write() as connection:
            directory = self._directory(connection)
            address = shorten(recipient.address)
            self._context.zone(wanted.zone)
            if wanted.digest is not None and recipient.channel != MAIL:
                raise InputError(f"{address} is a channel: digests go by mail")
            if mailbox_of(recipient) in directory.configured.profiles:
                raise InputError(
                    f"the settings say when {address} gets messages: change their table "
                    f"[recipients]"
                )
            named = _named(directory, rules_in_force(connection))
            if mailbox_of(recipient) not in named and _is_channel(recipient.address, named):
                raise InputError(
                    f"{address} is a channel: add --channel {recipient.address}; "
                    "digests go by mail only"
                )
            if mailbox_of(recipient) not in named and must_be_named:
                raise InputError(
                    f"{address} is not a recipient: `linewatch recipients list` shows all"
                )
            save_profile(connection, recipient, wanted)
            details = {
                "zone": wanted.zone,
                "hours": [str(each) for each in wanted.active],
                "digest": "" if wanted.digest is None else str(wanted.digest),
            }
            _note(connection, by, Action.CHANGE_RECIPIENT, recipient, **details)

    def _directory(self, connection: Connection) -> RecipientDirectory:
        return read_directory(connection, self._context.settings.recipients)


def _is_channel(name: str, known: Iterable[Recipient]) -> bool:
    return any(each.channel == name != MAIL for each in known)


def _listed(
    connection: Connection,
    mailbox: Recipient,
    directory: RecipientDirectory,
    places: Sequence[tuple[Recipient, str]],
) -> ListedRecipient:
    sent = [last_sent_to(connection, each) for each in {as_written for as_written, _ in places}]
    return ListedRecipient(
        mailbox,
        directory.status(mailbox),
        tuple(dict.fromkeys(place for _, place in places if place)),
        directory.verifications.get(mailbox),
        directory.off.get(mailbox),
        directory.suspect.get(mailbox),
        directory.profile(mailbox),
        mailbox in directory.configured.profiles,
        max(filter(None, sent), default=None),
    )


def _named(
    directory: RecipientDirectory, rules: Sequence[Rule]
) -> dict[Recipient, dict[tuple[Recipient, str], None]]:
    """Return by mailbox how each recipient is written and where; no place if it is only stored."""
    configured = directory.configured
    places = [(each, "settings") for each in (*configured.named, *configured.profiles)]
    for rule in rules:
        places += [(each, f"rule {rule.name}") for each in rule.recipients]
        places += [(each, f"escalation of {rule.name}") for each in rule.escalate_to]
    stored = (*directory.off, *directory.suspect, *directory.verifications)
    places += [(each, "") for each in stored]
    found: dict[Recipient, dict[tuple[Recipient, str], None]] = {}
    for each, place in places:
        found.setdefault(mailbox_of(each), {})[each, place] = None
    return found


def recipients_called(
    name: str, directory: RecipientDirectory, rules: Sequence[Rule]
) -> tuple[Recipient, ...]:
    """Return the recipients that a name or an address refers to, as they are written."""
    return tuple(
        next(as_written for as_written, _ in places if is_called(as_written, name))
        for places in _named(directory, rules).values()
        if any(is_called(as_written, name) for as_written, _ in places)
    )


def recipients_of_rules(
    connection: Connection, configured: ConfiguredRecipients, now: datetime
) -> tuple[tuple[UnreachedRule, ...], Counter[RecipientStatus], tuple[SuspectAddress, ...]]:
    """Return the rules that reach nobody, recipients counted by status, and the suspects."""
    directory, rules = read_directory(connection, configured), rules_in_force(connection)
    statuses = Counter(directory.status(each) for each in _named(directory, rules))
    return _unreached(directory, rules, now), statuses, tuple(directory.suspect.values())


def _unreached(
    directory: RecipientDirectory, rules: Sequence[Rule], now: datetime
) -> tuple[UnreachedRule, ...]:
    found = []
    for rule in rules:
        parties = (
            (f"rule {rule.name}", rule.recipients or directory.configured.named),
            (f"escalation of {rule.name}", rule.escalate_to),
        )
        for place, recipients in parties if rule.is_enabled and not rule.is_over(now) else ():
            reasons = [(each, _withheld(directory, each)) for each in recipients]
            if reasons and all(reason for _, reason in reasons):
                found.append(UnreachedRule(place, tuple(reasons)))
    return tuple(found)


def _withheld(directory: RecipientDirectory, recipient: Recipient) -> str:
    """Say why a recipient gets nothing, also if its channel has left the settings."""
    known, channel = directory.configured.channels, recipient.channel
    if known is not None and channel not in {MAIL, *known}:
        return f"no channel {channel} is configured"
    return directory.withheld(recipient)


def _note(
    connection: Connection,
    by: Actor,
    action: Action,
    recipient: Recipient,
    **details: str | Sequence[str],
) -> None:
    said = {"channel": recipient.channel, **details}
    note_action(connection, by, action, recipient.address, said)
