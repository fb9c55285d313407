"""Recipients in words: whether they get messages and at which hours; and their listing."""

from __future__ import annotations

from typing import Final

from dashboard.application.listing import Column, Json, Listing, for_programs, instant, time_column
from dashboard.application.recipients import ListedRecipient, UnreachedRule
from dashboard.domain.formatting import moment
from dashboard.domain.markup import visible
from dashboard.domain.people.access import LONGEST_NAME
from dashboard.domain.people.recipients import RecipientProfile, RecipientStatus, SuspectAddress
from dashboard.domain.people.verification import Verification

_LONGEST_ADDRESS: Final = 120
_LONGEST_ANSWER: Final = 200


def status_words(each: ListedRecipient) -> str:
    """Say whether a recipient gets messages, and if not, why."""
    if each.off is not None:
        by, note = visible(each.off.by, LONGEST_NAME), visible(each.off.note, _LONGEST_ANSWER)
        why = f": {note}" if note else ""
        return f"off since {moment(each.off.since)}, {each.off.cause} by {by}{why}"
    doubt = "" if each.suspect is None else f"; {suspect_words(each.suspect)}"
    return f"{_verified_words(each)}{doubt}"


def suspect_words(each: SuspectAddress) -> str:
    """Say that a message to an address bounced, and with which answer."""
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
    """Say at which hours a recipient gets messages, when a digest, and in which zone if any."""
    if not profile.active and profile.digest is None:
        return "at any hour"
    hours = ", ".join(map(str, profile.active)) or "at any hour"
    digest = "" if profile.digest is None else f"; digest {profile.digest}"
    return f"{hours}{digest} ({profile.zone or 'time zone of [mail]'})"


def unreached_words(each: UnreachedRule) -> str:
    """Say that a rule reaches nobody, and why."""
    reasons = "; ".join(
        f"{visible(recipient.address, _LONGEST_ADDRESS)}: {visible(reason)}"
        for recipient, reason in each.reasons
    )
    is_of_rule = each.place.startswith("rule ")
    rule = each.place.removeprefix("rule " if is_of_rule else "escalation of ")
    return f"rule '{rule}' {'reaches' if is_of_rule else 'escalates to'} nobody ({reasons})"


def _asked_words(known: Verification) -> str:
    if known.requested_at is None:
        return "a verification mail follows"
    answer = f": {visible(known.outcome, _LONGEST_ANSWER)}" if known.outcome else ""
    if known.sent_at is not None:
        return f"a verification mail was sent at {moment(known.sent_at)}"
    if known.next_attempt_at is None:
        return f"its verification mail was not sent{answer}"
    return f"its verification mail is pending{answer}"


def _verification(each: ListedRecipient) -> dict[str, Json]:
    known = each.verification
    return {
        "verifiedAt": None if known is None else instant(known.verified_at),
        "verifiedBy": None if known is None else known.verified_by or None,
        "askedAt": None if known is None else instant(known.requested_at),
        "askedSentAt": None if known is None else instant(known.sent_at),
        "askedAnswer": None if known is None else known.outcome or None,
    }


def _off(each: ListedRecipient) -> Json:
    off = each.off
    if off is None:
        return None
    return {
        "cause": str(off.cause),
        "since": instant(off.since),
        "by": off.by,
        "note": off.note,
    }


def _suspect(each: ListedRecipient) -> Json:
    if each.suspect is None:
        return None
    return {"since": instant(each.suspect.since), "note": each.suspect.note}


def _digest(each: ListedRecipient) -> Json:
    return None if each.profile.digest is None else str(each.profile.digest)


RECIPIENTS: Final[Listing[ListedRecipient]] = Listing(
    "recipients",
    (
        Column("channel", lambda each: each.recipient.channel, "channel"),
        Column("address", lambda each: each.recipient.address, "address"),
        Column("state", status_words, "status", lambda each: str(each.status)),
        Column(
            "named in",
            lambda each: ", ".join(each.named_in) or "nowhere now",
            "namedIn",
            lambda each: list(each.named_in),
        ),
        for_programs("off", _off),
        for_programs("suspect", _suspect),
        for_programs("timeZone", lambda each: each.profile.zone or None),
        Column(
            "hours",
            lambda each: hours_words(each.profile),
            "active",
            lambda each: [str(span) for span in each.profile.active],
        ),
        for_programs("digest", _digest),
        for_programs("isFixed", lambda each: each.is_fixed),
        time_column("last sent", "lastSentAt", lambda each: each.last_sent, "never"),
    ),
    "There is no recipient.",
    _verification,
)
