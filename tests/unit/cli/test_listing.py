"""Lists are printed in one way: as a table, as CSV, as JSON."""

from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner, Result

from dashboard.cli.output import Listing, Output, output, print_list
from dashboard.errors import InputError


def listing(*items: str) -> Listing[str]:
    """Return a list of texts with their lengths."""
    return Listing(
        "texts",
        items,
        ("TEXT", "LENGTH"),
        row=lambda each: (each, str(len(each))),
        form=lambda each: {"text": each, "length": len(each)},
        nothing="There is no text.",
        more={"total": 9},
        before=["Before."],
        after=["After."],
    )


def run(*arguments: str, items: tuple[str, ...] = ("a", "=1+1")) -> Result:
    """Run a command that lists texts."""

    @click.command()
    @output
    def texts(*, output: Output) -> None:
        print_list(listing(*items), output)

    return CliRunner().invoke(texts, arguments)


def test_table_stands_between_its_lines() -> None:
    assert run().stdout == "Before.\nTEXT  LENGTH\na     1\n=1+1  4\nAfter.\n"


def test_empty_list_says_so() -> None:
    assert run(items=()).stdout == "Before.\nThere is no text.\nAfter.\n"


def test_json_holds_items_and_further_keys() -> None:
    texts = [{"text": "a", "length": 1}, {"text": "=1+1", "length": 4}]
    assert json.loads(run("--json").stdout) == {"total": 9, "texts": texts}


def test_csv_holds_rows_alone_and_no_formula() -> None:
    assert run("--csv").stdout == "text,length\na,1\n'=1+1,4\n"


def test_empty_csv_has_its_header() -> None:
    assert run("--csv", items=()).stdout == "text,length\n"


def test_two_forms_at_once_are_refused() -> None:
    refused = run("--csv", "--json").exception

    assert isinstance(refused, InputError)
    with pytest.raises(InputError, match="choose one"):
        raise refused
