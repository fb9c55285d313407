"""What commands print is aligned, whole and inert, whatever upstream sent."""

from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner, Result

from dashboard.application.listing import Column, Listing, for_programs, instant
from dashboard.cli.output import Output, output, print_json, print_list, print_table, say, warn
from dashboard.errors import InputError
from tests.builders import A_MOMENT, seconds

HOSTILE = "\x1b[2J\u202egnp.exe\r\nBcc: everybody\x00\x9b31m"
CODES = {*map(chr, range(32)), *map(chr, range(127, 160)), "\u202e"} - {"\n"}


def test_table_aligns_its_columns_and_pads_nothing_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(("A", "LONG NAME", "C"), [("first", "x", ""), ("b", "", "last")])

    assert capsys.readouterr().out == ("A      LONG NAME  C\nfirst  x\nb                 last\n")


def test_table_aligns_letters_that_are_two_columns_wide(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(("LABEL", "B"), [("\u5ba2\u6237\u670d\u52a1", "1"), ("e\u0301", "2")])

    assert capsys.readouterr().out.splitlines() == [
        "LABEL     B",
        "\u5ba2\u6237\u670d\u52a1  1",
        "e\u0301         2",
    ]


def test_table_without_rows_is_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("A", "B"), [])

    assert capsys.readouterr().out == "A  B\n"


def test_cell_is_printed_whole_however_long(capsys: pytest.CaptureFixture[str]) -> None:
    names = ",".join(str(number) for number in range(1000))

    print_table(("NETWORKS", "B"), [(names, "last")])

    assert capsys.readouterr().out.splitlines()[1] == f"{names}  last"


def test_hostile_text_reaches_no_terminal_and_starts_no_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(("REASON",), [(HOSTILE,)])
    say(HOSTILE)
    warn(HOSTILE)
    print_json({"reason": HOSTILE})

    printed = capsys.readouterr()
    assert CODES & {*printed.out, *printed.err} == set()
    assert len(printed.out.splitlines()) == 2 + 1 + 3
    assert len(printed.err.splitlines()) == 1


def test_json_gives_hostile_text_back_exactly(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"reason": HOSTILE, "wei": str(2**70)})

    assert json.loads(capsys.readouterr().out) == {"reason": HOSTILE, "wei": str(2**70)}


def test_moment_is_written_as_both_apis_do() -> None:
    assert instant(A_MOMENT + seconds(0.25)) == "2026-11-20T12:00:00.250Z"
    assert instant(None) is None


TEXTS: Listing[str] = Listing(
    "texts",
    (
        Column("text", lambda each: each, "text"),
        Column("length", len, "length"),
        Column("first", lambda each: None if each == "a" else each[0]),
        for_programs("isShort", lambda each: len(each) == 1),
    ),
    "There is no text.",
    lambda each: {"twice": 2 * each},
)


def run(*arguments: str, items: tuple[str, ...] = ("a", "=1+1")) -> Result:
    """Run a command that lists texts."""

    @click.command()
    @output
    def texts(*, output: Output) -> None:
        print_list(TEXTS, items, output, more={"total": 9}, before=["Before."], after=["After."])

    return CliRunner().invoke(texts, arguments)


def test_table_stands_between_its_lines() -> None:
    assert run().stdout == ("Before.\nTEXT  LENGTH  FIRST\na     1\n=1+1  4       =\nAfter.\n")


def test_empty_list_says_so() -> None:
    assert run(items=()).stdout == "Before.\nThere is no text.\nAfter.\n"


def test_json_holds_items_and_further_keys() -> None:
    texts = [
        {"text": "a", "length": 1, "isShort": True, "twice": "aa"},
        {"text": "=1+1", "length": 4, "isShort": False, "twice": "=1+1=1+1"},
    ]
    assert json.loads(run("--json").stdout) == {"total": 9, "texts": texts}


def test_csv_holds_rows_alone_and_no_formula() -> None:
    assert run("--csv").stdout == "text,length,first\na,1,\n'=1+1,4,'=\n"


def test_empty_csv_has_its_header() -> None:
    assert run("--csv", items=()).stdout == "text,length,first\n"


def test_two_forms_at_once_are_refused() -> None:
    refused = run("--csv", "--json").exception

    assert isinstance(refused, InputError)
    with pytest.raises(InputError, match="choose one"):
        raise refused
