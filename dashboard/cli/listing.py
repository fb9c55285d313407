"""Lists: one way to print rows as a table, as CSV or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import wraps
from typing import Any, Generic, TypeVar, cast

import click

from dashboard.cli.options import as_json
from dashboard.cli.output import Json, print_json, print_table, say
from dashboard.domain.spreadsheet import write_csv
from dashboard.errors import InputError

Item = TypeVar("Item")
Command = TypeVar("Command", bound=Callable[..., Any])


class Output(Enum):
    """How a list is printed."""

    TABLE = auto()
    CSV = auto()
    JSON = auto()


@dataclass(frozen=True, slots=True)
class Listing(Generic[Item]):
    """What a command lists: `name` is the key of the items in JSON, `more` are further keys.

    `row` writes an item under the `columns` of table and CSV, `form` writes it for JSON. `before`
    and `after` are lines around the table; `nothing` stands in its place where there are no items.
    """

    name: str
    items: Sequence[Item]
    columns: Sequence[str]
    row: Callable[[Item], Sequence[str]]
    form: Callable[[Item], Json]
    nothing: str
    more: Mapping[str, Json] = field(default_factory=dict)
    before: Sequence[str] = ()
    after: Sequence[str] = ()


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


def print_list(listing: Listing[Item], output: Output) -> None:
    """Print the items."""
    if output is Output.JSON:
        print_json({**listing.more, listing.name: [listing.form(each) for each in listing.items]})
        return
    rows = [listing.row(each) for each in listing.items]
    if output is Output.CSV:
        print_csv(listing.columns, rows)
        return
    for line in listing.before:
        say(line)
    if rows:
        print_table(listing.columns, rows)
    else:
        say(listing.nothing)
    for line in listing.after:
        say(line)


def print_csv(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows as CSV (RFC 4180), inert, without cells that a spreadsheet would compute."""
    click.echo(write_csv([column.lower() for column in columns], rows), nl=False)
