"""`linewatch fees`: what a network's fees are now, or were over a time."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import click

from dashboard.application.fee_timeline import FeeTimeline, busy_in_words
from dashboard.application.fees import read_fee_story
from dashboard.application.listing import Json, instant
from dashboard.application.network_status import (
    Activity,
    NetworkProfile,
    NetworkStatus,
    PolledValue,
    conclude_status,
    read_network_figures,
)
from dashboard.application.text import age, exact_fee, fee, moment, share
from dashboard.cli import options
from dashboard.cli.installation import Installation, open_installation
from dashboard.cli.output import FOUND, Output, output, print_csv, print_json, print_table, say
from dashboard.domain.fees.gas import FeeSuggestion, SuggestedGasFees
from dashboard.domain.fees.rollup import FeeSeries
from dashboard.domain.fees.spells import Spell
from dashboard.domain.health.coverage import WatchedTime
from dashboard.domain.quantity import Wei
from dashboard.errors import InputError
from dashboard.settings.values import parse_duration
from dashboard.store.engine.connection import Connection
from dashboard.store.fees.series import ChartRange
from dashboard.store.gas import latest_gas

_FIGURES: Final = ("FIGURE", "VALUE", "EXACTLY", "AGE")
_STEPS: Final = (
    "NETWORK",
    "FROM",
    "TO",
    "LOWEST",
    "MEDIAN",
    "90 % UP TO",
    "HIGHEST",
    "VALUES",
    "BUSY",
)


@dataclass(frozen=True, slots=True)
class CurrentFees:
    """The present figures of one network; `suggested` is None where there never were any."""

    status: NetworkStatus
    suggested: SuggestedGasFees | None


@click.command()
@options.network
@options.within
@click.option("--step", "step_text", help="Length of each row with --since; by default 1h.")
@options.exit_code
@output
def fees(
    *,
    network_text: str | None,
    since: datetime | None,
    until: datetime | None,
    step_text: str | None,
    sets_exit_status: bool,
    output: Output,
) -> None:
    """Show the fees of the networks: those of now, or with --since the base fee over a time.

    They are read from the store. With --exit-code the status is 3 where a network is busy now.
    """
    if since is None and (until is not None or step_text is not None):
        raise InputError("--until and --step need --since: say from when")
    with open_installation() as here:
        profile = options.chosen(network_text, here.source.networks)
        profiles = here.source.networks if profile is None else (profile,)
        now = here.source.now()
        with here.source.store.read() as connection:
            current = [_current(connection, each, now) for each in profiles]
            if since is None:
                _print_current(here, current, now, output)
            else:
                between = _between(since, until or now, "1h" if step_text is None else step_text)
                series = [
                    (
                        each.status.profile,
                        read_fee_story(
                            connection, each.status.figures, FeeSeries.ESTIMATED_BASE_FEE, between
                        ),
                    )
                    for each in current
                ]
                _print_series(here, series, output)
    is_busy = any(each.status.activity is Activity.BUSY for each in current)
    if sets_exit_status and is_busy:
        sys.exit(FOUND)


def _between(since: datetime, until: datetime, step_text: str) -> ChartRange:
    options.refuse_reversed(since, until)
    try:
        return ChartRange(since, until, parse_duration(step_text))
    except ValueError as error:
        raise InputError(f"--step: {error}") from error


def _current(connection: Connection, profile: NetworkProfile, now: datetime) -> CurrentFees:
    status = conclude_status(read_network_figures(connection, profile, now), now)
    suggested = latest_gas(connection, profile.network_id, now).suggested_gas_fees
    return CurrentFees(status, None if suggested is None else suggested.value)


def _print_current(
    here: Installation, current: Sequence[CurrentFees], now: datetime, output: Output
) -> None:
    if output is Output.JSON:
        print_json({"asOf": instant(now), "networks": [_form(each) for each in current]})
        return
    if output is Output.CSV:
        rows = [
            (here.source.label(each.status.profile.network_id), *row)
            for each in current
            for row in _rows(each, now)
        ]
        print_csv(("NETWORK", *_FIGURES), rows)
        return
    for number, each in enumerate(current):
        if number:
            say("")
        status = each.status
        name = here.source.label(status.profile.network_id)
        say(f"{name}: {status.activity}. {status.activity_reason}")
        rows = list(_rows(each, now))
        if rows:
            print_table(_FIGURES, rows)


def _rows(current: CurrentFees, now: datetime) -> Iterator[tuple[str, ...]]:
    figures = current.status.figures
    for name, datum in (
        ("base fee", figures.base_fee),
        ("median base fee", figures.base_fee_percentile),
        ("busy threshold", figures.busy_threshold),
    ):
        if datum is not None:
            yield name, " ".join(fee(datum.value)), exact_fee(datum.value), _age(datum, now)
    if figures.network_congestion is not None:
        congestion = figures.network_congestion
        yield "congestion", share(congestion.value), "", _age(congestion, now)
    for name, level in _levels(current.suggested):
        priority_fee = level.suggested_max_priority_fee_per_gas
        yield f"{name} priority fee", " ".join(fee(priority_fee)), exact_fee(priority_fee), ""
        most = level.suggested_max_fee_per_gas
        yield f"{name} fee at most", " ".join(fee(most)), exact_fee(most), ""


def _levels(suggested: SuggestedGasFees | None) -> Iterator[tuple[str, FeeSuggestion]]:
    if suggested is not None:
        yield "low", suggested.low
        yield "medium", suggested.medium
        yield "high", suggested.high


def _age(datum: PolledValue[Wei] | PolledValue[float], now: datetime) -> str:
    stale = ", stale" if datum.is_stale(now) else ""
    return f"{age(datum.asked_at, now)}{stale}"


def _form(current: CurrentFees) -> Json:
    status, suggested = current.status, current.suggested
    figures = status.figures
    return {
        "networkId": status.profile.network_id,
        "network": status.profile.name,
        "isSimulated": status.profile.is_simulated,
        "activity": str(status.activity),
        "activityReason": status.activity_reason,
        "source": str(figures.gas_source),
        "estimatedBaseFee": _datum_form(figures.base_fee),
        "baseFeePercentile": _datum_form(figures.base_fee_percentile),
        "busyThreshold": _datum_form(figures.busy_threshold),
        "networkCongestion": None
        if figures.network_congestion is None
        else figures.network_congestion.value,
        **dict.fromkeys(("low", "medium", "high")),
        **{name: _level_form(level) for name, level in _levels(suggested)},
    }


def _datum_form(datum: PolledValue[Wei] | None) -> Json:
    if datum is None:
        return None
    return {"wei": str(datum.value), "askedAt": instant(datum.asked_at)}


def _level_form(level: FeeSuggestion) -> Json:
    return {
        "suggestedMaxPriorityFeePerGas": str(level.suggested_max_priority_fee_per_gas),
        "suggestedMaxFeePerGas": str(level.suggested_max_fee_per_gas),
    }


def _print_series(
    here: Installation, series: Sequence[tuple[NetworkProfile, FeeTimeline | None]], output: Output
) -> None:
    if output is Output.JSON:
        print_json({"networks": [_series_form(profile, story) for profile, story in series]})
        return
    rows = [
        (
            here.source.label(profile.network_id),
            moment(step.first_at),
            moment(step.last_at),
            exact_fee(step.lowest),
            " ".join(fee(step.median)),
            " ".join(fee(step.p90)),
            exact_fee(step.highest),
            str(step.values),
            "" if math.isnan(part) else share(part),
        )
        for profile, story in series
        if story is not None
        for step, part in zip(story.steps, story.busy_parts.tolist(), strict=True)
    ]
    if output is Output.CSV:
        print_csv(_STEPS, rows)
        return
    if not rows:
        say("No base fee was seen in that time.")
        return
    print_table(_STEPS, rows)
    for profile, story in series:
        busy_sentence = None if story is None else busy_in_words(story)
        if busy_sentence is not None:
            say(f"{here.source.label(profile.network_id)}: {busy_sentence}")


def _series_form(profile: NetworkProfile, story: FeeTimeline | None) -> Json:
    return {
        "networkId": profile.network_id,
        "network": profile.name,
        "isSimulated": profile.is_simulated,
        "busyShare": None if story is None else story.busy.share,
        "watchedShare": None if story is None else _watched_share(story.busy.watched),
        "busySpells": [] if story is None else [_spell_form(each) for each in story.busy.spells],
        "baseFees": []
        if story is None
        else [
            {
                "from": instant(step.first_at),
                "to": instant(step.last_at),
                "lowest": str(step.lowest),
                "highest": str(step.highest),
                "median": str(step.median),
                "p90": str(step.p90),
                "values": step.values,
                "valuesWithEstimatedTime": step.estimated,
                "longestGap": step.longest_gap // timedelta(milliseconds=1),
                "busyShare": None if math.isnan(part) else part,
            }
            for step, part in zip(story.steps, story.busy_parts.tolist(), strict=True)
        ],
    }


def _watched_share(watched: WatchedTime | None) -> float:
    """Return how much of a time was watched; nothing where nobody ever did."""
    return 0.0 if watched is None else watched.watched / watched.length


def _spell_form(spell: Spell) -> Json:
    return {
        "from": instant(spell.begins_at),
        "to": instant(spell.ends_at),
        "isEndKnown": spell.is_end_known,
    }
