"""`linewatch alerts rehearse`: who would get how many messages in a storm, and when."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import click

from dashboard.application.incident_words import withheld_form, withheld_words
from dashboard.application.listing import Json, instant
from dashboard.cli import options
from dashboard.cli.installation import open_installation
from dashboard.cli.output import print_json, print_table, say
from dashboard.domain.formatting import counted, moment, span
from dashboard.errors import InputError
from dashboard.wiring.networks import networks_of
from dashboard.wiring.rehearsal import Rehearsal, RehearsedMessage, Storm
from dashboard.wiring.rehearsal import rehearse as play

_SHOWN = 20
_LONGEST = timedelta(days=1)
_FARTHEST = timedelta(days=3660)


@click.command()
@options.network
@click.option(
    "--rejections",
    type=click.IntRange(1, 20_000),
    default=120,
    show_default=True,
    help="How many transactions are rejected.",
)
@click.option(
    "--within",
    type=options.duration_up_to(_LONGEST),
    default="60s",
    show_default=True,
    help="Length of the storm.",
)
@click.option(
    "--at",
    "begins_at",
    type=options.TO_COME,
    help="When it begins, such as 2026-12-01T03:00Z; by default now.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="A new folder for the sandbox; by default a temporary one.",
)
@options.as_json
def rehearse(
    *,
    network_text: str | None,
    rejections: int,
    within: timedelta,
    begins_at: datetime | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Play a storm of rejections, and show who would get which message when.

    Rules, silences, maintenance and settings are the real ones. Nothing leaves this machine: the
    store is a new one, time is simulated, and the messages are files that stay in the sandbox.
    """
    with open_installation() as here:
        now = here.source.now()
        if abs((begins_at or now) - now) > _FARTHEST:
            raise InputError("a rehearsal begins within ten years from now: write a nearer --at")
        profile = options.chosen(network_text, here.source.networks)
        network = next(
            (
                each
                for each in networks_of(here.settings)
                if profile is None or each.network_id == profile.network_id
            ),
            None,
        )
        if network is None:
            raise InputError("no network is watched: add one under [networks] in linewatch.toml")
        storm = Storm(network, rejections, begins_at or now, within)
        sandbox = _sandbox(folder)
        found = play(here.settings, here.source.store, storm, sandbox)
    if as_json:
        print_json(_form(found))
    else:
        _print(found)


def _sandbox(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="linewatch-rehearsal-"))
    if folder.exists():
        raise InputError(f"{folder} exists: name a new folder")
    folder.mkdir(mode=0o700, parents=True)
    return folder


def _print(found: Rehearsal) -> None:
    storm = found.storm
    say(
        f"{storm.rejections:,} rejections on {storm.network.title} within {span(storm.length)}, "
        f"from {moment(storm.begins_at)} on:"
    )
    for (channel, address), messages in _by_recipient(found.messages).items():
        first, last = (span(each.at - storm.begins_at) for each in (messages[0], messages[-1]))
        many = counted(len(messages), "message")
        say(f"{address} over {channel}: {many}, the first after {first}, the last after {last}.")
    if not found.messages:
        say("Nobody would be notified.")
    for withheld in found.withheld:
        say(f"Not notified: {withheld_words(withheld)}.")
    if found.pending:
        pending = counted(found.pending, "notification")
        say(f"{pending} would still be pending after a day.")
    rows = [(moment(each.at), each.address, each.subject) for each in found.messages[:_SHOWN]]
    if rows:
        print_table(("AT", "TO", "SUBJECT"), rows)
    if len(found.messages) > _SHOWN:
        say(f"and {len(found.messages) - _SHOWN:,} more")
    say(f"The messages are in {found.folder / 'messages'}.")


def _by_recipient(
    messages: Sequence[RehearsedMessage],
) -> dict[tuple[str, str], list[RehearsedMessage]]:
    found: dict[tuple[str, str], list[RehearsedMessage]] = defaultdict(list)
    for each in messages:
        found[each.channel, each.address].append(each)
    return found


def _form(found: Rehearsal) -> Json:
    return {
        "network": found.storm.network.title,
        "rejections": found.storm.rejections,
        "beginsAt": instant(found.storm.begins_at),
        "withinSeconds": found.storm.length.total_seconds(),
        "pending": found.pending,
        "folder": str(found.folder),
        "withheld": [withheld_form(each) for each in found.withheld],
        "messages": [
            {
                "at": instant(each.at),
                "channel": each.channel,
                "address": each.address,
                "subject": each.subject,
            }
            for each in found.messages
        ],
    }
