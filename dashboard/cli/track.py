"""`linewatch track` and `senders`: watch transactions, and every rejection of an address."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final

import click
from msgspec import Struct

from dashboard.application.listing import Json, instant
from dashboard.application.senders import RANKED, WatchedSenders
from dashboard.application.tracked import TrackedTransactions
from dashboard.cli import options
from dashboard.cli.installation import Installation, octets_of, open_installation, standard_input
from dashboard.cli.output import (
    WRONG_INPUT,
    Output,
    output,
    print_json,
    print_list,
    print_rows,
    print_table,
    say,
    warn,
    write,
)
from dashboard.cli.place import read_by_command, waits_for_input
from dashboard.domain.csv_tables import read_spreadsheet
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import Address, NetworkId
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.domain.tracking.remarks import TAGS_LEFT_OUT, Remarks
from dashboard.domain.tracking.track_csv import ListedTransaction, TrackList, TrackResult, in_words
from dashboard.domain.tracking.track_file import track_files
from dashboard.errors import InputError
from dashboard.wiring.clock import utc_now

_ARGUMENTS = "arguments"
_STANDARD_INPUT = "standard input"
_COLUMNS = ("FROM", "LINE", "RESULT", "TRANSACTION")
_LONGEST_LIST = 40_000_000
"""How many characters one list may have: half a million hashes, one on each line."""

_AT_ONCE = 5000
"""How many lines are read, tracked and reported at once: a long list takes little more memory."""


class LineResult(StrEnum):
    TRACKED = "tracked"
    FILLED_IN = "filled in"
    TRACKED_ALREADY = "tracked already"
    REPEATED = "repeated"
    UNUSABLE = "unusable"

    @property
    def key(self) -> str:
        """The key of the count in the output for programs."""
        first, *others = self.value.split()
        return first + "".join(map(str.capitalize, others))


_OUTCOMES: Final = {
    TrackResult.NEW: LineResult.TRACKED,
    TrackResult.FILLED_IN: LineResult.FILLED_IN,
    TrackResult.KNOWN: LineResult.TRACKED_ALREADY,
    TrackResult.WITHOUT_TAGS: LineResult.TRACKED_ALREADY,
}


class ReportedLine(Struct, frozen=True):
    """One line of the input, with its result; `text` is foreign.

    `why` says why it cannot be used, or which part of it cannot.
    """

    origin: str
    line: int
    outcome: LineResult
    text: str
    transaction: ListedTransaction | None = None
    why: str = ""


@click.command()
@click.argument("transactions", nargs=-1, metavar="[HASH|LINK]...")
@click.option(
    "--file",
    "paths",
    multiple=True,
    type=options.FILE,
    help="Text with hashes, JSON, or CSV with a column hash; attempted_at, label, note, case_id, "
    "owner, tags and networks are optional. Repeatable.",
)
@options.networks
@click.option("--attempted-at", type=options.ATTEMPT, help="When they were sent, if known; UTC.")
@options.label(help="A short label, such as a customer.")
@click.option("--note", type=options.NOTE, default="", help="A longer note.")
@options.case_id(help="The case it belongs to.")
@click.option("--owner", type=options.OWNER, default="", help="Who looks after it.")
@click.option(
    "--tags", type=options.TAGS, default="", help="Words to filter and write rules by: vip payout."
)
@options.by
@options.as_json
def track(  # noqa: PLR0913 - one for each option
    transactions: tuple[str, ...],
    *,
    paths: tuple[Path, ...],
    network_texts: tuple[str, ...],
    attempted_at: datetime | None,
    label: str,
    note: str,
    case_id: str,
    owner: str,
    tags: str,
    name: str | None,
    as_json: bool,
) -> None:
    """Watch transactions for rejections.

    They are asked about for seven days, and your rules notify of a rejection. They come from
    arguments, files, or standard input ("-", or if nothing else is named). Every line is reported.
    The status is 2 if some could not be used; the others are tracked.
    """
    given = list(_given(transactions, paths))
    texts = (each.strip() for each in (label, note, case_id, owner, tags))
    common = Remarks(attempted_at, *texts)
    with open_installation() as here:
        network_ids = _network_ids(here, network_texts)
        parts = filter(None, _kept(here, given, common, network_ids, name))
        counts = (_print_json if as_json else _print_text)(parts)
    if counts[LineResult.UNUSABLE]:
        sys.exit(WRONG_INPUT)


def _kept(
    here: Installation,
    given: Sequence[tuple[str, str]],
    common: Remarks,
    network_ids: Sequence[NetworkId],
    name: str | None,
) -> Iterator[list[ReportedLine]]:
    """Track the input, so many lines at once; yield the result of each line."""
    ask = TrackedTransactions(here.source)
    for origin, text in given:
        for part in track_files(text, utc_now(), _AT_ONCE):
            if part.unused_columns:
                warn(f"{origin}: unused columns: {in_words(part.unused_columns)}")
            listed = part.with_common(common).where_known(network_ids)
            yield _keep(ask, origin, listed, network_ids, here.user(name))


def _given(transactions: Sequence[str], paths: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Return every given text with the name of its source."""
    named = [text for text in transactions if text != "-"]
    if named:
        yield _ARGUMENTS, "\n".join(named)
    for path in dict.fromkeys(paths):
        yield str(path), read_by_command(str(path), partial(_text_of, path))
    if "-" in transactions or not (named or paths):
        if waits_for_input():
            raise InputError("track needs transaction hashes: name some, or pipe them in")
        yield _STANDARD_INPUT, standard_input(_LONGEST_LIST)


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return read_spreadsheet(octets_of(file, _LONGEST_LIST))
    except OSError as error:
        raise InputError(f"the file {path} cannot be read: {error.strerror}") from error
    except InputError as error:
        raise InputError(f"the file {path} cannot be read: {error}") from error


def _network_ids(here: Installation, texts: Sequence[str]) -> tuple[NetworkId, ...]:
    """Return the networks to ask: those named, or all that can be asked."""
    profiles = options.chosen_ones(texts, here.source.networks)
    network_ids = tuple(each.network_id for each in profiles if each.has_exclusion)
    if not network_ids:
        raise InputError("no such network has an exclusion endpoint to ask: configure one")
    return network_ids


def _keep(
    ask: TrackedTransactions,
    origin: str,
    listed: TrackList,
    network_ids: Sequence[NetworkId],
    who: Actor,
) -> list[ReportedLine]:
    became = ask.track(listed.transactions, network_ids, who)
    tracked = (
        ReportedLine(origin, each.line, _OUTCOMES[what], str(each.tx_hash), each, _why(each, what))
        for each, what in zip(listed.transactions, became, strict=True)
    )
    repeated = (
        ReportedLine(origin, each.line, LineResult.REPEATED, str(each.tx_hash), each)
        for each in listed.repeated
    )
    unusable = (
        ReportedLine(origin, each.line, LineResult.UNUSABLE, each.text, why=each.why)
        for each in listed.wrong
    )
    return sorted([*tracked, *repeated, *unusable], key=lambda each: each.line)


def _why(listed: ListedTransaction, result: TrackResult) -> str:
    """Say what in a line could not be used."""
    of_tags = TAGS_LEFT_OUT if result is TrackResult.WITHOUT_TAGS else ""
    return "; ".join(filter(None, (listed.remark, of_tags)))


def _print_text(parts: Iterable[Sequence[ReportedLine]]) -> Counter[LineResult]:
    """Print the result of every line, part by part; return how often each result occurred."""
    counts = Counter[LineResult]()
    widths: Sequence[int] = ()
    for part in parts:
        counts.update(each.outcome for each in part)
        rows = [_row(each) for each in part]
        widths = print_rows(rows if widths else [_COLUMNS, *rows], widths)
    said = [f"{counts[each]} {each}" for each in LineResult if counts[each]]
    say(f"{', '.join(said) or 'nothing to track'}.")
    return counts


def _print_json(parts: Iterable[Sequence[ReportedLine]]) -> Counter[LineResult]:
    """Print the same as one object, line by line; the counts are at its end."""
    counts, before = Counter[LineResult](), '{"lines": ['
    for part in parts:
        counts.update(each.outcome for each in part)
        for each in part:
            write(f"{before}\n{json.dumps(_form(each))}", nl=False)
            before = ","
    begun = "" if counts else before
    last = {each.key: counts[each] for each in LineResult}
    write(f"{begun}],\n{json.dumps(last)[1:]}")
    return counts


def _row(each: ReportedLine) -> tuple[str, ...]:
    text = f"“{each.text}” {each.why}" if each.why else each.text
    return each.origin, str(each.line), str(each.outcome), text


def _form(each: ReportedLine) -> Json:
    listed = each.transaction
    return {
        "from": each.origin,
        "line": each.line,
        "result": str(each.outcome),
        "txHash": None if listed is None else str(listed.tx_hash),
        "attemptedAt": None if listed is None else instant(listed.remarks.attempted_at),
        "text": each.text,
        "why": each.why or None,
    }


_addresses = click.argument("senders", nargs=-1, required=True, type=options.ADDRESS)


@click.group()
def senders() -> None:
    """Watch every rejection of an address that nodes report to our own serve."""


@senders.command()
@_addresses
@options.networks
@options.label(help="A label for the sender; its transactions get it as well.")
@options.by
@options.as_json
def watch(
    *,
    senders: tuple[Address, ...],
    network_texts: tuple[str, ...],
    label: str,
    name: str | None,
    as_json: bool,
) -> None:
    """Track each transaction of these addresses that is rejected from now on, and mail it."""
    with open_installation() as here:
        chosen = options.chosen_ones(network_texts, here.source.networks)
        ids = [each.network_id for each in chosen]
        who = here.user(name)
        are_new = WatchedSenders(here.source).watch(senders, ids, label.strip(), who)
    results = ["watched" if is_new else "watched already" for is_new in are_new]
    _print_results(senders, results, as_json=as_json)


@senders.command()
@_addresses
@options.by
@options.as_json
def unwatch(*, senders: tuple[Address, ...], name: str | None, as_json: bool) -> None:
    """Stop watching these addresses; transactions of theirs that are tracked stay tracked.

    The status is 2 if one was not watched; the others are no longer watched.
    """
    with open_installation() as here:
        ask, who = WatchedSenders(here.source), here.user(name)
        were_watched = [ask.unwatch(each, who) for each in senders]
    results = ["no longer watched" if was else "was not watched" for was in were_watched]
    _print_results(senders, results, as_json=as_json)
    if not all(were_watched):
        sys.exit(WRONG_INPUT)


@senders.command("list")
@options.network
@output
def listed(*, network_text: str | None, output: Output) -> None:
    """List the watched addresses, the latest first."""
    with open_installation() as here:
        known = WatchedSenders(here.source)
        found = known.watched(here.chosen_id(network_text))
        print_list(known.listing(), found, output)


@senders.command()
@options.network
@options.within
@options.limit
@output
def rank(
    *,
    network_text: str | None,
    since: datetime | None,
    until: datetime | None,
    limit: int,
    output: Output,
) -> None:
    """Rank senders by the number of their rejections, the largest first."""
    with open_installation() as here:
        network_id = here.chosen_id(network_text)
        wanted = RejectionFilter(network_id=network_id, since=since, until=until)
        found = WatchedSenders(here.source).rank(wanted, limit)
    more: dict[str, Json] = {"sendersInAll": found.of, "rejectionsInAll": found.total}
    shown = f"{len(found.groups):,} of {found.of:,} senders: --limit shows more."
    print_list(RANKED, found.groups, output, more=more, after=[shown] if found.of > limit else [])


def _print_results(senders: Sequence[Address], results: Sequence[str], *, as_json: bool) -> None:
    pairs = list(zip(map(str, senders), results, strict=True))
    if as_json:
        print_json({"senders": [{"from": each, "result": result} for each, result in pairs]})
    else:
        print_table(("SENDER", "RESULT"), pairs)
