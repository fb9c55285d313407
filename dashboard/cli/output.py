"""How commands answer: tables for people, JSON with fixed keys for programs, CSV."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from functools import wraps
from io import TextIOWrapper
from itertools import zip_longest
from typing import Any, Final, NoReturn, TypeVar, cast

import click

from dashboard.application.listing import Item, Json, Listing
from dashboard.cli.options import as_json
from dashboard.cli.place import place
from dashboard.domain.markup import visible
from dashboard.errors import InputError, LinewatchError

FOUND: Final = 3
"""The status with --exit-code if something was found."""

WRONG_INPUT: Final = 2
"""The status if an argument, an option or a setting cannot be used."""

FAILED: Final = 1
"""The status if the request could not be carried out."""

_GAP: Final = "  "
_WIDE: Final = frozenset("WF")


def write(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Print a text as it is, where the command prints."""
    here = place()
    click.echo(text, None if here is None else here.stream(err=err), nl, err)


def say(text: str) -> None:
    write(visible(text))


def warn(text: str) -> None:
    """Print one line to standard error, apart from the answer."""
    write(f"linewatch: {visible(text)}", err=True)


def fail(error: LinewatchError | OSError) -> NoReturn:
    """End with one line about a person's mistake, or a failure that an operator can correct."""
    if isinstance(error, OSError):
        _drop_output()
    sys.exit(told(error))


def told(error: LinewatchError | OSError) -> int:
    """Print one line about a person's mistake, or what failed; return the status."""
    warn(f"cannot go on: {error}" if isinstance(error, OSError) else str(error))
    return WRONG_INPUT if isinstance(error, InputError) else FAILED


def _drop_output() -> None:
    """Discard what was not written, or the interpreter tries once more and complains."""
    if isinstance(sys.stdout, TextIOWrapper):
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a device, not a file
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


def print_json(value: Json) -> None:
    """Print a value as indented ASCII, without control or direction characters."""
    write(json.dumps(value, indent=2, ensure_ascii=True))


def answer(form: Json, *lines: str, as_json: bool) -> None:
    """Print the result: as JSON for programs, as lines for people."""
    if as_json:
        print_json(form)
        return
    for line in lines:
        say(line)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under their columns; nothing is cut off, since a program may read it."""
    print_rows([columns, *rows])


def print_rows(rows: Sequence[Sequence[str]], widths: Sequence[int] = ()) -> Sequence[int]:
    """Print further rows of a table whose columns had these `widths`; return the new widths."""
    cells = [[visible(cell, len(cell)) for cell in row] for row in rows]
    taken = [[_width(cell) for cell in line] for line in cells]
    needed = [max(column) for column in zip(*taken, strict=True)]
    widths = [max(pair) for pair in zip_longest(needed, widths, fillvalue=0)]
    here = place()
    if here is not None:  # before one long cell is padded to in each line
        here.make_room(len(rows) * (sum(widths) + len(_GAP) * len(widths)))
    lines = [
        _GAP.join(
            cell + " " * (width - has)
            for cell, width, has in zip(line, widths, of_line, strict=True)
        ).rstrip()
        for line, of_line in zip(cells, taken, strict=True)
    ]
    if lines:
        write("\n".join(lines))  # one call: a call for each line doubles the time
    return widths


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 1 + (unicodedata.east_asian_width(each) in _WIDE)
        for each in text
    )


Command = TypeVar("Command", bound=Callable[..., Any])


class Output(Enum):
    TABLE = auto()
    CSV = auto()
    JSON = auto()


def output(command: Command) -> Command:
    """Add --json and --csv, handed to the command as one value `output`."""

    @wraps(command)
    def chosen(*, as_json: bool, as_csv: bool, **given: Any) -> object:  # noqa: ANN401 - whatever the command takes
        if as_json and as_csv:
            raise InputError("--json and --csv exclude each other: choose one")
        form = Output.JSON if as_json else Output.CSV if as_csv else Output.TABLE
        return command(output=form, **given)

    csv_option = click.option(
        "--csv", "as_csv", is_flag=True, help="Answer in CSV, for spreadsheets."
    )
    return cast("Command", as_json(csv_option(chosen)))


def print_list(
    listing: Listing[Item],
    items: Sequence[Item],
    output: Output,
    *,
    more: Mapping[str, Json] | None = None,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> None:
    """Print the items; `more` are further keys of JSON, `before` and `after` lines for people."""
    if output is Output.JSON:
        print_json({**(more or {}), listing.key: listing.forms(items)})
    elif output is Output.CSV:
        write(listing.csv(items), nl=False)
    else:
        for line in before:
            say(line)
        if items:
            print_table([each.upper() for each in listing.names()], listing.table(items))
        else:
            say(listing.nothing)
        for line in after:
            say(line)
