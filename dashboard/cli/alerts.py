"""`linewatch alerts` and `linewatch resend`: notifications pending, sent, dead and held."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

import click

from dashboard.cli import options
from dashboard.cli.installation import Installation, open_installation
from dashboard.cli.output import FOUND, Json, instant, print_json, print_table, say
from dashboard.domain.notification import Notification, NotificationState
from dashboard.domain.quantity import shorten
from dashboard.domain.rejection_filter import HashRange
from dashboard.errors import InputError
from dashboard.show.queries.alerts import AlertQueries, NotificationHistory, notification_filter
from dashboard.show.text import moment, since_when
from dashboard.store.alerts.alert_status import OpenIncident


@click.command()
@options.network
@click.option(
    "--state",
    type=click.Choice([*NotificationState], case_sensitive=False),
    help="pending: not sent yet; sent; dead: given up; held: since a restore.",
)
@click.option(
    "--tx",
    "tx_hashes",
    type=options.HASH_RANGE,
    help="Only those about this transaction, or about those whose hash begins so.",
)
@click.option(
    "--search", default="", help="Only those in which this stands, as the page Alerts finds them."
)
@options.within
@options.limit
@options.exit_code
@options.as_json
def alerts(  # noqa: PLR0913 - one for each option
    *,
    network_text: str | None,
    state: NotificationState | None,
    tx_hashes: HashRange | None,
    search: str,
    since: datetime | None,
    until: datetime | None,
    limit: int,
    tells_by_status: bool,
    as_json: bool,
) -> None:
    """List what people were told, and what is pending.

    First what lasts now on networks, then each notification with who, when and the channel's
    answer, the latest first. With --exit-code the status is 3 where there are notifications, so
    that
    --state dead --exit-code watches the mail.
    """
    with open_installation() as here:
        searched = notification_filter(here.source, here.chosen_id(network_text), search)
        wanted = replace(
            searched,
            state=None if state is None else NotificationState(state),
            tx_hashes=tx_hashes or searched.tx_hashes,
            since=since,
            until=until,
        )
        ask = AlertQueries(here.source)
        found = ask.page(wanted, 1, limit)
        lasting = [
            each for each in ask.open() if wanted.network_id in {None, each.subject.network_id}
        ]
        if as_json:
            print_json(
                {
                    "open": [_open_form(here, each) for each in lasting],
                    "alerts": [_form(here, each) for each in found],
                }
            )
        else:
            _print(here, lasting, found)
    if tells_by_status and found:
        sys.exit(FOUND)


@click.command()
@click.argument("notification_id", type=click.UUID, required=False)
@click.option("--to", "address", help="All messages to this address that were given up.")
@options.as_json
def resend(*, notification_id: UUID | None, address: str | None, as_json: bool) -> None:
    """Send again the message NOTIFICATION_ID that was given up, or all to an address.

    `linewatch alerts --state dead --json` names each. The worker sends them, usually within
    seconds, with the Message-ID that they had.
    """
    which = address if notification_id is None else notification_id
    if which is None or None not in {notification_id, address}:
        raise InputError("name one notification, or an address with --to")
    with open_installation() as here:
        many = AlertQueries(here.source).send_again(which)
    if not many:
        raise InputError(
            f"{shorten(str(which))}: no such message was given up; "
            "`linewatch alerts --state dead --json` lists those that were"
        )
    if as_json:
        print_json({"notifications": many})
    else:
        say(
            "1 notification is pending again."
            if many == 1
            else f"{many:,} notifications are pending again."
        )


def _print(
    here: Installation, lasting: Sequence[OpenIncident], found: Sequence[NotificationHistory]
) -> None:
    now = here.source.now()
    for each in lasting:
        network = here.label(each.subject.network_id)
        since = since_when(each.as_condition(), here.source.rule_of(each.subject), now)
        say(f"{network}, {each.subject.kind}: {each.state} {since}.")
    if not found:
        say("No such alert is stored.")
        return
    columns = ("SINCE", "STATE", "NETWORK", "NEWS", "TRANSACTION", "TO", "ATTEMPTS", "ANSWER")
    print_table(columns, [_row(here, each.notification) for each in found])


def _row(here: Installation, notification: Notification) -> tuple[str, ...]:
    transition = notification.transition
    tx_hash = transition.subject.tx_hash
    return (
        moment(notification.created_at),
        str(notification.state),
        here.label(transition.subject.network_id),
        str(transition.after),
        "" if tx_hash is None else str(tx_hash),
        notification.recipient.address,
        str(notification.attempts),
        notification.outcome,
    )


def _open_form(here: Installation, lasting: OpenIncident) -> Json:
    return {
        "subject": str(lasting.subject.kind),
        "networkId": lasting.subject.network_id,
        "network": here.source.network_name(lasting.subject.network_id),
        "isSimulated": here.is_simulated(lasting.subject.network_id),
        "state": str(lasting.state),
        "openedAt": instant(lasting.opened_at),
        "turningSince": instant(lasting.turning_since),
    }


def _form(here: Installation, posted: NotificationHistory) -> Json:
    notification = posted.notification
    subject = notification.transition.subject
    before = notification.transition.before
    return {
        "notificationId": str(notification.notification_id),
        "messageId": notification.message_id,
        "state": str(notification.state),
        "networkId": subject.network_id,
        "network": here.source.network_name(subject.network_id),
        "isSimulated": here.is_simulated(subject.network_id),
        "txHash": None if subject.tx_hash is None else str(subject.tx_hash),
        "before": None if before is None else str(before),
        "after": str(notification.transition.after),
        "at": instant(notification.transition.at),
        "channel": notification.recipient.channel,
        "address": notification.recipient.address,
        "createdAt": instant(notification.created_at),
        "sentAt": instant(notification.sent_at),
        "nextAttemptAt": instant(notification.next_attempt_at),
        "attempts": notification.attempts,
        "outcome": notification.outcome,
        "deliveries": [
            {
                "attemptedAt": instant(each.attempted_at),
                "result": str(each.result),
                "outcome": each.outcome,
            }
            for each in posted.attempts
        ],
    }
