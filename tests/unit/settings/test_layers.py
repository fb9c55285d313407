"""Every setting of a file is found on the line where a person wrote it."""

from __future__ import annotations

import time

import pytest

from dashboard.settings.layers import Unreadable, layer_of, lines_of

FILE = """\
# [networks.not] is a comment
title = "a = [b]"

[networks.mine]
network_id = 1  # network_id = 2
exclusion = { url = "https://h", key = "k" }
"quoted.name" = 3
node.url = "x"
recipients = [
    "a@example.org",
    "[table]",
]
note = '''
[serve]
port = 1
'''

[serve.keys."a.b"]
key = "last"
"""


def test_lines_are_those_of_tables_and_keys() -> None:
    lines = lines_of(FILE)

    assert lines["networks", "mine"] == 4
    assert lines["networks", "mine", "network_id"] == 5
    assert lines["serve", "keys", "a.b", "key"] == 19


def test_key_within_an_inline_table_stands_on_its_line() -> None:
    assert lines_of(FILE)["networks", "mine", "exclusion", "key"] == 6


def test_quoted_and_dotted_keys_are_told_apart() -> None:
    lines = lines_of(FILE)

    assert lines["networks", "mine", "quoted.name"] == 7
    assert lines["networks", "mine", "node", "url"] == 8


def test_value_over_several_lines_stands_where_it_begins() -> None:
    lines = lines_of(FILE)

    assert lines["networks", "mine", "recipients"] == 9
    assert lines["networks", "mine", "note"] == 13


def test_text_that_only_looks_like_settings_is_none() -> None:
    lines = lines_of(FILE)

    assert ("networks", "not") not in lines
    assert ("serve", "port") not in lines
    assert lines["serve",] == 18


def test_empty_file_has_no_lines() -> None:
    assert lines_of("\n# nothing\n") == {}


def test_strings_and_lists_hide_what_looks_like_an_end() -> None:
    text = 'a = """\n\\"""\n]"""""\nb = [ # ]"\n["]#", \'"\'],\n]\r\nc = "\u2028"\nd = 1'

    assert lines_of(text) == {("a",): 1, ("b",): 4, ("c",): 7, ("d",): 8}


def test_long_list_is_read_once() -> None:
    begun = time.process_time()

    layer = layer_of("x", "a = [\n" + '"b",\n' * 20_000 + "]\nc = 1\n")

    assert layer.line_of(("c",)) == 20_003
    assert time.process_time() - begun < 3


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x = " + "[" * 1_500 + "]" * 1_500, "more than 20 deep"),
        ("x = " + "[" * 30 + "]" * 30, "more than 20 deep"),
        ("a" + ".a" * 1_500 + " = 1", "more than 32 parts"),
        ("[a" + ".a" * 1_500 + "]", "more than 32 parts"),
        ("x = " + "1" * 5_000, "not valid TOML"),
        ("x = [{ y = 0x" + "f" * 1_500 + " }]", "a number of more than 256 bits"),
    ],
)
def test_what_nobody_writes_is_refused_in_words(text: str, complaint: str) -> None:
    with pytest.raises(Unreadable, match=complaint):
        layer_of("x", text)
