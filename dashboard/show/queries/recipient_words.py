"""Recipients in words, alike on the page and in commands: whether they get messages, and when."""

from __future__ import annotations

from typing import Final

from dashboard.domain.address_off import SuspectAddress
from dashboard.domain.audit import LONGEST_NAME
from dashboard.domain.foreign_text import visible
from dashboard.domain.formatting import moment
from dashboard.domain.recipients import RecipientProfile, RecipientStatus
from dashboard.domain.verification import Verification
from dashboard.show.queries.recipients import ListedRecipient, UnreachedRule

_LONGEST_ADDRESS: Final = 120
_LONGEST_ANSWER: Final = 200


def status_words(each: ListedRecipient) -> str:
    """Say whether a recipient gets messages, and if not, why and what happens about it."""
    if each.off is not None:
        by, note = visible(each.off.by, LONGEST_NAME), visible(each.off.note, _LONGEST_ANSWER)
        why = f": {note}" if note else ""
        return f"off since {moment(each.off.since)}, {each.off.cause} by {by}{why}"
    doubt = "" if each.suspect is None else f"; {suspect_words(each.suspect)}"
    return f"{_verified_words(each)}{doubt}"


def suspect_words(each: SuspectAddress) -> str:
    """Say that a message to an address came back, and with which answer."""
    why = f": {visible(each.note, _LONGEST_ANSWER)}" if each.note else ""
    return f"suspect since {moment(each.since)}, a message came back{why}"


def _verified_words(each: ListedRecipient) -> str:
    known = each.verification
    if each.status is RecipientStatus.TRUSTED or known is None:
        return str(each.status)
    if known.verified_at is not None:
        by = visible(known.verified_by, LONGEST_NAME)
        return f"verified since {moment(known.verified_at)} by {by}"
    return f"not verified; {_asked_words(known)}"


def hours_words(profile: RecipientProfile) -> str:
    """Say at which hours a recipient gets messages, when a digest, and in which zone."""
    hours = ", ".join(map(str, profile.active)) or "at any hour"
    digest = "" if profile.digest is None else f"; digest {profile.digest}"
    return f"{hours}{digest} ({profile.zone or 'time zone of [mail]'})"


def unreached_words(each: UnreachedRule) -> str:
    """Say that a rule reaches nobody, and why."""
    reasons = "; ".join(
        f"{visible(recipient.address, _LONGEST_ADDRESS)}: {visible(reason)}"
        for recipient, reason in each.reasons
    )
    return f"{each.place} reaches nobody ({reasons})"


def _asked_words(known: Verification) -> str:
    if known.requested_at is None:
        return "a verification mail follows"
    answer = f": {visible(known.outcome, _LONGEST_ANSWER)}" if known.outcome else ""
    if known.sent_at is not None:
        return f"a verification mail was sent at {moment(known.sent_at)}"
    if known.next_attempt_at is None:
        return f"its verification mail was not sent{answer}"
    return f"its verification mail is pending{answer}"
