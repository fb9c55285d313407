"""`linewatch alerts`: what people were told, and what is still owed to them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import click

from dashboard.cli import options
from dashboard.cli.output import FOUND, Json, instant, print_json, print_table, say
from dashboard.cli.source import Opened, opened
from dashboard.domain.notice import Delivery, Notice, NoticeState
from dashboard.domain.quantity import TxHash
from dashboard.show.text import moment
from dashboard.store.notice_search import NoticeFilter, search_notices
from dashboard.store.outbox import deliveries_of


@dataclass(frozen=True, slots=True)
class Told:
    """A notice with every finished attempt to hand it over."""

    notice: Notice
    deliveries: Sequence[Delivery]


@click.command()
@options.network
@click.option(
    "--state",
    type=click.Choice([*NoticeState], case_sensitive=False),
    help="owed: not handed over yet; sent; dead: refused for good.",
)
@click.option("--tx", "tx_hash", type=options.HASH, help="Only those about this transaction.")
@options.within
@options.limit
@options.exit_code
@options.as_json
def alerts(  # noqa: PLR0913 - one for each option
    *,
    network_text: str | None,
    state: NoticeState | None,
    tx_hash: TxHash | None,
    since: datetime | None,
    until: datetime | None,
    limit: int,
    tells_by_status: bool,
    as_json: bool,
) -> None:
    """List what people were told, and what is owed.

    Each with who, when and the channel's answer, the latest first. With --exit-code the status
    is 3 where there are any, so that --state dead --exit-code watches the mail.
    """
    with opened() as here:
        wanted = NoticeFilter(
            network_id=options.chosen_id(network_text, here.source.networks),
            state=None if state is None else NoticeState(state),
            tx_hash=tx_hash,
            since=since,
            until=until,
        )
        with here.source.store.read() as connection:
            found = [
                Told(each, deliveries_of(connection, each.notice_id))
                for each in search_notices(connection, wanted, limit)
            ]
        if as_json:
            print_json({"alerts": [_form(here, each) for each in found]})
        else:
            _print(here, found)
    if tells_by_status and found:
        sys.exit(FOUND)


def _print(here: Opened, found: Sequence[Told]) -> None:
    if not found:
        say("No such alert is stored.")
        return
    columns = ("SINCE", "STATE", "NETWORK", "NEWS", "TRANSACTION", "TO", "ATTEMPTS", "ANSWER")
    print_table(columns, [_row(here, each.notice) for each in found])


def _row(here: Opened, notice: Notice) -> tuple[str, ...]:
    transition = notice.transition
    tx_hash = transition.subject.tx_hash
    return (
        moment(notice.created_at),
        str(notice.state),
        here.label(transition.subject.network_id),
        str(transition.after),
        "" if tx_hash is None else str(tx_hash),
        notice.recipient.address,
        str(notice.attempts),
        notice.outcome,
    )


def _form(here: Opened, told: Told) -> Json:
    notice = told.notice
    subject = notice.transition.subject
    before = notice.transition.before
    return {
        "noticeId": str(notice.notice_id),
        "messageId": notice.message_id,
        "state": str(notice.state),
        "networkId": subject.network_id,
        "network": here.source.network_name(subject.network_id),
        "isSimulated": here.is_simulated(subject.network_id),
        "txHash": None if subject.tx_hash is None else str(subject.tx_hash),
        "before": None if before is None else str(before),
        "after": str(notice.transition.after),
        "at": instant(notice.transition.at),
        "channel": notice.recipient.channel,
        "address": notice.recipient.address,
        "createdAt": instant(notice.created_at),
        "sentAt": instant(notice.sent_at),
        "nextAttemptAt": instant(notice.next_attempt_at),
        "attempts": notice.attempts,
        "outcome": notice.outcome,
        "deliveries": [
            {
                "attemptedAt": instant(each.attempted_at),
                "result": str(each.result),
                "outcome": each.outcome,
            }
            for each in told.deliveries
        ],
    }
