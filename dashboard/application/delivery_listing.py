"""How notifications, verification mails and open conditions are listed."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from dashboard.application.context import ApplicationContext
from dashboard.application.deliveries import (
    NotificationHistory,
    Notifications,
    VerificationMail,
    further_words,
    reported_states,
    reported_words,
    verification_words,
)
from dashboard.application.incident_words import withheld_form, withheld_words
from dashboard.application.incidents import Incidents
from dashboard.application.listing import (
    Column,
    Json,
    Listing,
    for_programs,
    instant,
    time_column,
    time_for_programs,
)
from dashboard.application.text import since_when
from dashboard.domain.alerts.condition import Subject, SubjectKind
from dashboard.domain.alerts.notification import DeliveryAttempt, Notification, NotificationState
from dashboard.store.alerts.alert_status import OpenIncident
from dashboard.store.alerts.incident_list import WithheldChanges
from dashboard.store.alerts.notification_search import NotificationFilter


def notification_listing(context: ApplicationContext) -> Listing[NotificationHistory]:
    """Return the columns of notifications; networks are named."""
    return Listing(
        "alerts",
        (
            time_column("created", "createdAt", lambda each: each.notification.created_at),
            Column("state", _state, "state", lambda each: str(each.notification.state)),
            Column(
                "network",
                lambda each: context.label(_subject(each).network_id),
                "network",
                lambda each: context.network_name(_subject(each).network_id),
            ),
            for_programs("networkId", lambda each: _subject(each).network_id),
            for_programs(
                "isSimulated", lambda each: context.is_simulated(_subject(each).network_id)
            ),
            Column("what", _what),
            Column("transaction", _tx_hash, "txHash"),
            Column("to", lambda each: each.notification.recipient.address, "address"),
            Column("attempts", lambda each: each.notification.attempts, "attempts"),
            Column("answer", lambda each: each.notification.outcome, "outcome"),
            time_for_programs("at", lambda each: each.notification.transition.began_at),
            time_for_programs("sentAt", lambda each: each.notification.sent_at),
            time_for_programs("nextAttemptAt", lambda each: each.notification.next_attempt_at),
            for_programs("standing", lambda each: each.progress),
            for_programs("states", lambda each: list[Json](reported_states(each))),
            for_programs("deliveries", lambda each: _delivery_forms(each.attempts)),
        ),
        "No such notification is stored.",
        lambda each: _notification_form(each.notification),
    )


def _subject(each: NotificationHistory) -> Subject:
    return each.notification.transition.subject


def _state(each: NotificationHistory) -> str:
    state = each.notification.state
    waits = state is NotificationState.PENDING and each.progress
    return f"{state}: {each.progress}" if waits else str(state)


def _tx_hash(each: NotificationHistory) -> str | None:
    tx_hash = _subject(each).tx_hash
    return None if tx_hash is None else str(tx_hash)


def _what(each: NotificationHistory) -> str:
    return f"{reported_words(each.notification)} {further_words(each)}".rstrip()


def _notification_form(notification: Notification) -> dict[str, Json]:
    before = notification.transition.before
    return {
        "notificationId": str(notification.notification_id),
        "messageId": notification.message_id,
        "kind": str(notification.kind),
        "before": None if before is None else str(before),
        "after": str(notification.transition.after),
        "changes": notification.member_count,
        "channel": notification.recipient.channel,
    }


def _delivery_forms(attempts: Sequence[DeliveryAttempt]) -> list[Json]:
    return [
        {
            "attemptedAt": instant(each.attempted_at),
            "result": str(each.result),
            "outcome": each.outcome,
        }
        for each in attempts
    ]


class BesideNotifications(Struct, frozen=True):
    """What is listed beside notifications.

    `incidents` are open conditions of networks, `withheld` says who was not notified and why.
    """

    incidents: Sequence[OpenIncident]
    withheld: Sequence[WithheldChanges]
    mails: Sequence[VerificationMail]

    def form(self, context: ApplicationContext) -> dict[str, Json]:
        return {
            "open": [_open_form(each, context) for each in self.incidents],
            "withheld": [withheld_form(each) for each in self.withheld],
            "verificationMails": [_verification_form(each) for each in self.mails],
        }

    def open_sentences(self, context: ApplicationContext) -> list[str]:
        return [_open_sentence(each, context) for each in self.incidents]

    def sentences(self, context: ApplicationContext) -> list[str]:
        return [
            *(f"Not notified: {withheld_words(each)}." for each in self.withheld),
            *(_verification_sentence(each, context) for each in self.mails),
        ]


def read_beside(context: ApplicationContext, wanted: NotificationFilter) -> BesideNotifications:
    """Read what is listed beside the matching notifications.

    Who was not notified is only read if the filter selects one transaction.
    """
    known, network_id = Notifications(context), wanted.network_id
    one = None if wanted.tx_hashes is None else wanted.tx_hashes.only
    return BesideNotifications(
        [each for each in known.open() if network_id in {None, each.subject.network_id}],
        () if one is None else Incidents(context).withheld_about(one),
        known.verification_mails(wanted),
    )


def _verification_sentence(mail: VerificationMail, context: ApplicationContext) -> str:
    """Say what became of the latest verification mail to an address."""
    known = mail.verification
    answer = f": {known.outcome}" if known.outcome else ""
    words = verification_words(known, context.now())
    return f"Verification mail to {known.recipient.address}: {mail.state}, {words}{answer}."


def _verification_form(mail: VerificationMail) -> Json:
    known = mail.verification
    return {
        "channel": known.recipient.channel,
        "address": known.recipient.address,
        "state": str(mail.state),
        "askedAt": instant(mail.asked_at),
        "sentAt": instant(known.sent_at),
        "nextAttemptAt": instant(known.next_attempt_at),
        "attempts": known.attempts,
        "outcome": known.outcome,
        "deliveries": _delivery_forms(known.deliveries),
    }


def _open_sentence(each: OpenIncident, context: ApplicationContext) -> str:
    network = context.label(each.subject.network_id)
    since = since_when(each.as_condition(), context.rule_of(each.subject), context.now())
    kind = "fee source" if each.subject.kind is SubjectKind.GAS_API else each.subject.kind
    return f"{network}, {kind}: {each.state.word} {since}."


def _open_form(each: OpenIncident, context: ApplicationContext) -> Json:
    network_id = each.subject.network_id
    return {
        "subject": str(each.subject.kind),
        "networkId": network_id,
        "network": context.network_name(network_id),
        "isSimulated": context.is_simulated(network_id),
        "state": str(each.state),
        "openedAt": instant(each.opened_at),
        "turningSince": instant(each.turning_since),
    }
