"""`linewatch fees`: a network's fees now, or over a period."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import chain, starmap
from typing import Final

import click

from dashboard.application.fee_listing import (
    FIGURES,
    FIGURES_OF_ALL,
    STEPS,
    fee_figures,
    fees_form,
    listed_steps,
    timeline_form,
)
from dashboard.application.fee_timeline import FeeTimeline, busy_in_words
from dashboard.application.fees import Fees
from dashboard.application.listing import instant
from dashboard.application.network_status import Activity, NetworkProfile, NetworkStatus
from dashboard.cli import options
from dashboard.cli.installation import Installation, open_installation
from dashboard.cli.output import FOUND, Output, output, print_json, print_list, say
from dashboard.errors import InputError

_STEP: Final = timedelta(hours=1)


@click.command()
@options.network
@options.within
@click.option(
    "--step", type=options.DURATION, help="Length of each row with --since; by default 1h."
)
@options.exit_code
@output
def fees(
    *,
    network_text: str | None,
    since: datetime | None,
    until: datetime | None,
    step: timedelta | None,
    sets_exit_status: bool,
    output: Output,
) -> None:
    """Show the current fees of the networks, or with --since the base fee over time.

    They are read from the store. With --exit-code the status is 3 if a network is busy now.
    """
    if since is None and (until is not None or step is not None):
        raise InputError("--until and --step need --since: say from when")
    with open_installation() as here:
        profile = options.chosen(network_text, here.source.networks)
        fees, now = Fees(here.source), here.source.now()
        current = fees.current(here.source.networks if profile is None else (profile,))
        if since is None:
            _print_current(here, current, now, output)
        else:
            options.refuse_reversed(since, until or now)
            found = fees.timelines(current, since, until or now, step or _STEP)
            profiles = [each.profile for each in current]
            _print_series(here, list(zip(profiles, found, strict=True)), output)
    is_busy = any(each.activity is Activity.BUSY for each in current)
    if sets_exit_status and is_busy:
        sys.exit(FOUND)


def _print_current(
    here: Installation, current: Sequence[NetworkStatus], now: datetime, output: Output
) -> None:
    if output is Output.JSON:
        print_json({"asOf": instant(now), "networks": [fees_form(each) for each in current]})
        return
    figures = [list(fee_figures(each, here.source, now)) for each in current]
    if output is Output.CSV:
        print_list(FIGURES_OF_ALL, list(chain.from_iterable(figures)), output)
        return
    for number, (each, rows) in enumerate(zip(current, figures, strict=True)):
        if number:
            say("")
        name = here.source.label(each.profile.network_id)
        say(f"{name}: {each.activity}. {each.activity_reason}")
        if rows:
            print_list(FIGURES, rows, output)


def _print_series(
    here: Installation,
    series: Sequence[tuple[NetworkProfile, FeeTimeline | None]],
    output: Output,
) -> None:
    if output is Output.JSON:
        print_json({"networks": [timeline_form(*each) for each in series]})
        return
    label = here.source.label
    named = [(label(profile.network_id), timeline) for profile, timeline in series]
    steps = chain.from_iterable(starmap(listed_steps, named))
    sentences = [
        f"{name}: {words}"
        for name, timeline in named
        if timeline is not None and (words := busy_in_words(timeline)) is not None
    ]
    print_list(STEPS, list(steps), output, after=sentences)
