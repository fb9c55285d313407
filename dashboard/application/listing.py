"""How the items of a subject are listed: one declaration for tables, CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct, field

from dashboard.domain.csv_tables import write_csv
from dashboard.domain.formatting import moment
from dashboard.domain.quantity import NetworkId
from dashboard.wire.decoding import format_timestamp

Json: TypeAlias = dict[str, "Json"] | list["Json"] | str | int | float | bool | None
"""The values that JSON can express."""

Cell: TypeAlias = str | int | None
"""The value of a table cell; None is empty."""

Item = TypeVar("Item")
T = TypeVar("T", str, NetworkId)


def instant(at: datetime | None) -> str | None:
    """Format a moment for programs, as both APIs do."""
    return None if at is None else format_timestamp(at)


class Column(Struct, Generic[Item], frozen=True):
    """One column of a listing.

    People and CSV get `text` under `name`, followed by the `unit` if there is one; without `text`
    only programs get the column. Programs get `json` under `key`, by default the text; without
    `key` only people get it. Pages align numbers right.
    """

    name: str = ""
    text: Callable[[Item], Cell] | None = None
    key: str = ""
    json: Callable[[Item], Json] | None = None
    unit: str = ""
    is_number: bool = False

    @property
    def head(self) -> str:
        return f"{self.name}_{self.unit}" if self.unit else self.name

    def value(self, item: Item) -> Json:
        write = self.json or self.text
        return None if write is None else write(item)


def for_programs(key: str, json: Callable[[Item], Json]) -> Column[Item]:
    """Return a column for JSON only."""
    return Column(key=key, json=json)


def time_for_programs(key: str, at: Callable[[Item], datetime | None]) -> Column[Item]:
    """Return a column with a moment, for JSON only."""
    return Column(key=key, json=lambda each: instant(at(each)))


def time_column(
    name: str, key: str, at: Callable[[Item], datetime | None], never: str = ""
) -> Column[Item]:
    """Return a column with a moment; people read `never` if there is none."""

    def text(item: Item) -> str:
        found = at(item)
        return never if found is None else moment(found)

    return Column(name, text, key, lambda each: instant(at(each)))


def limit_column(
    name: str, key: str, allowed: Callable[[Item], Collection[T] | None], word: Callable[[T], str]
) -> Column[Item]:
    """Return a column with the only values allowed, sorted; None allows all."""

    def text(item: Item) -> str:
        found = allowed(item)
        return "all" if found is None else ", ".join(map(word, sorted(found))) or "none"

    def json(item: Item) -> Json:
        found = allowed(item)
        return None if found is None else list[Json](sorted(found))

    return Column(name, text, key, json)


class Listing(Struct, Generic[Item], frozen=True):
    """The columns of a subject. `key` holds the items in JSON, `nothing` is said if there are none.

    `fields` returns further keys of an item, if a codec writes several at once.
    """

    key: str
    columns: tuple[Column[Item], ...]
    nothing: str = ""
    fields: Callable[[Item], Mapping[str, Json]] | None = field(default=None)

    def names(self) -> tuple[str, ...]:
        return tuple(each.head for each in self.columns if each.text is not None)

    def rows(self, items: Iterable[Item]) -> list[tuple[Cell, ...]]:
        """Return the cells of each item."""
        written = [each.text for each in self.columns if each.text is not None]
        return [tuple(text(item) for text in written) for item in items]

    def form(self, item: Item) -> dict[str, Json]:
        found = {each.key: each.value(item) for each in self.columns if each.key}
        return found if self.fields is None else found | dict(self.fields(item))

    def forms(self, items: Iterable[Item]) -> list[Json]:
        return [self.form(each) for each in items]

    def csv(self, items: Iterable[Item]) -> str:
        """Return the items as CSV (RFC 4180), without cells that a spreadsheet would evaluate."""
        return write_csv(self.names(), self.rows(items))

    def json(self, items: Iterable[Item]) -> str:
        return json.dumps({self.key: self.forms(items)}, indent=2)

    def table(self, items: Iterable[Item]) -> list[Sequence[str]]:
        """Return the cells as text, empty for None."""
        return [["" if cell is None else str(cell) for cell in row] for row in self.rows(items)]
