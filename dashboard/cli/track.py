"""`linewatch track`: watch transactions, named one by one, piped in or listed in files."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

import click

from dashboard.cli import options
from dashboard.cli.output import WRONG_INPUT, Json, instant, print_json, print_table, say
from dashboard.cli.source import Opened, opened, standard_input
from dashboard.domain.quantity import NetworkId
from dashboard.domain.track_list import ListedTransaction, TrackList, read_track_list
from dashboard.errors import InputError
from dashboard.show.asking.tracked import TrackedQuestions
from dashboard.wiring.clock import utc_now

_ARGUMENTS = "arguments"
_STANDARD_INPUT = "standard input"


class Outcome(StrEnum):
    """What became of one line."""

    TRACKED = "tracked"
    TRACKED_ALREADY = "tracked already"
    REPEATED = "repeated"
    UNUSABLE = "unusable"


@dataclass(frozen=True, slots=True)
class Reported:
    """One line of what was given, with what became of it; `text` is foreign."""

    origin: str
    line: int
    outcome: Outcome
    text: str
    transaction: ListedTransaction | None = None
    why: str = ""


@click.command()
@click.argument("transactions", nargs=-1, metavar="[HASH|LINK]...")
@click.option(
    "--file",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Text with hashes, or CSV with columns hash, attempted_at, label, note. Repeatable.",
)
@options.network
@click.option("--attempted-at", type=options.ATTEMPT, help="When they were sent, if known; UTC.")
@click.option("--label", default="", help="A short label, such as a case number.")
@click.option("--note", default="", help="A longer note.")
@options.as_json
def track(  # noqa: PLR0913 - one for each option
    transactions: tuple[str, ...],
    *,
    paths: tuple[Path, ...],
    network_text: str | None,
    attempted_at: datetime | None,
    label: str,
    note: str,
    as_json: bool,
) -> None:
    """Watch transactions for rejections.

    They are asked about by themselves, and a rejection is mailed. They come from arguments,
    files, or standard input ("-", or where nothing else is named). Every line is reported.
    The status is 2 where some could not be used; the others are tracked.
    """
    given = list(_given(transactions, paths))
    with opened() as here:
        network_ids = _network_ids(here, network_text)
        ask = TrackedQuestions(here.source)
        reports = [
            each
            for origin, listed in given
            for each in _keep(
                ask, origin, listed.with_common(attempted_at, label, note), network_ids
            )
        ]
    _print(reports, as_json=as_json)
    if any(each.outcome is Outcome.UNUSABLE for each in reports):
        sys.exit(WRONG_INPUT)


def _given(transactions: Sequence[str], paths: Sequence[Path]) -> Iterator[tuple[str, TrackList]]:
    """Read everything that was given, each with the name of where it came from."""
    now = utc_now()
    named = [text for text in transactions if text != "-"]
    if named:
        yield _ARGUMENTS, read_track_list("\n".join(named), now)
    for path in paths:
        yield str(path), read_track_list(_text_of(path), now)
    if "-" in transactions or not (named or paths):
        if sys.stdin.isatty():
            raise InputError("track needs transaction hashes: name some, or pipe them in")
        yield _STANDARD_INPUT, read_track_list(standard_input(), now)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"the file {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the file {path} is no UTF-8 text: save it as CSV in UTF-8") from error


def _network_ids(here: Opened, text: str | None) -> tuple[NetworkId, ...]:
    """Return the networks to ask: the one that was named, or all that can be asked."""
    card = options.chosen(text, here.source.networks)
    cards = here.source.networks if card is None else (card,)
    network_ids = tuple(each.network_id for each in cards if each.has_exclusion)
    if not network_ids:
        raise InputError("no such network has an exclusion endpoint to ask: configure one")
    return network_ids


def _keep(
    ask: TrackedQuestions, origin: str, listed: TrackList, network_ids: Sequence[NetworkId]
) -> list[Reported]:
    """Track a list and report its lines in their order."""
    are_new = ask.track(listed.transactions, network_ids)
    tracked = (
        Reported(origin, each.line, _outcome(is_new=is_new), str(each.tx_hash), each)
        for each, is_new in zip(listed.transactions, are_new, strict=True)
    )
    repeated = (
        Reported(origin, each.line, Outcome.REPEATED, str(each.tx_hash), each)
        for each in listed.repeated
    )
    unusable = (
        Reported(origin, each.line, Outcome.UNUSABLE, each.text, why=each.why)
        for each in listed.wrong
    )
    return sorted([*tracked, *repeated, *unusable], key=lambda each: each.line)


def _outcome(*, is_new: bool) -> Outcome:
    return Outcome.TRACKED if is_new else Outcome.TRACKED_ALREADY


def _print(reports: Sequence[Reported], *, as_json: bool) -> None:
    counts = Counter(each.outcome for each in reports)
    if as_json:
        print_json(
            {
                "tracked": counts[Outcome.TRACKED],
                "trackedAlready": counts[Outcome.TRACKED_ALREADY],
                "repeated": counts[Outcome.REPEATED],
                "unusable": counts[Outcome.UNUSABLE],
                "lines": [_form(each) for each in reports],
            }
        )
        return
    if reports:
        columns = ("FROM", "LINE", "RESULT", "TRANSACTION")
        print_table(columns, [_row(each) for each in reports])
    told = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome])
    say(f"{told or 'nothing to track'}.")


def _row(each: Reported) -> tuple[str, ...]:
    text = f"“{each.text}” {each.why}" if each.why else each.text
    return each.origin, str(each.line), str(each.outcome), text


def _form(each: Reported) -> Json:
    listed = each.transaction
    return {
        "from": each.origin,
        "line": each.line,
        "result": str(each.outcome),
        "txHash": None if listed is None else str(listed.tx_hash),
        "attemptedAt": None if listed is None else instant(listed.attempted_at),
        "text": each.text,
        "why": each.why or None,
    }
