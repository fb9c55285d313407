"""What commands print is aligned, whole and inert, whatever upstream sent."""

from __future__ import annotations

import json

import pytest

from dashboard.cli.output import instant, print_json, print_table, say, warn
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
