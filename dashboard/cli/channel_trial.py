"""`linewatch alerts test-send`: a test message now, with the server's answer at each step."""

from __future__ import annotations

import sys
from contextlib import suppress

import click

from dashboard.alert.channels.stage import Stage
from dashboard.cli import options
from dashboard.cli.installation import Installation, open_installation
from dashboard.cli.output import FAILED, Json, print_json, say, warn
from dashboard.domain.audit import Actor
from dashboard.domain.notification import Recipient
from dashboard.errors import InputError
from dashboard.wiring.actor import os_user
from dashboard.wiring.channel_trial import TriedRecipient, recipients_to_try, try_recipient
from dashboard.wiring.clock import utc_now


@click.command()
@click.option("--to", "address", default="", help="Only to this mail address.")
@click.option("--channel", default="", metavar="NAME", help="Only to this table of [channels].")
@options.as_json
def test_send(*, address: str, channel: str, as_json: bool) -> None:
    """Send a test message now, and show what the server answers, step by step.

    Without an option it goes to all who get alerts by default: the recipients of [mail] and the
    channels. It passes the same way as an alert, and waits for none. The status is 1 where a
    message was not accepted. The audit log says who sent one, to whom, and what was answered.
    """
    if address and channel:
        raise InputError("--to and --channel exclude each other: choose one")
    with open_installation() as here:
        recipients = recipients_to_try(address, channel, here.settings)
        tried = [_try(here, each, as_json=as_json) for each in recipients]
    if as_json:
        print_json({"sent": [form for _, form in tried]})
    if not all(each.was_sent for each, _ in tried):
        sys.exit(FAILED)


def _try(here: Installation, recipient: Recipient, *, as_json: bool) -> tuple[TriedRecipient, Json]:
    """Send to one recipient; without JSON, print each step as soon as it is over."""
    stages: list[Stage] = []

    def watch(stage: Stage) -> None:
        stages.append(stage)
        if not as_json:
            with suppress(BrokenPipeError):  # else it would pass for a failure of the server
                say(f"  {stage.name}: {stage.answer}")

    if not as_json:
        say(f"To {recipient.address} over {recipient.channel}:")
    actor = Actor(os_user(), utc_now())
    tried = try_recipient(recipient, here.settings, here.source.store, actor, watch)
    if not as_json and tried.was_sent:
        say(f"  sent: {tried.answer}")
    elif not as_json:
        warn(f"not sent to {recipient.address}: {tried.answer}")
    return tried, _form(tried, stages)


def _form(tried: TriedRecipient, stages: list[Stage]) -> Json:
    steps: list[Json] = [{"step": each.name, "answer": each.answer} for each in stages]
    return {
        "channel": tried.recipient.channel,
        "address": tried.recipient.address,
        "wasSent": tried.was_sent,
        "answer": tried.answer,
        "steps": steps,
    }
