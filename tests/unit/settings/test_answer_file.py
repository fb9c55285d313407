"""The file of templates for answers: what it says, and every mistake with its line."""

from __future__ import annotations

import pytest

from dashboard.domain.rejections.answer_template import BUILT_IN, LONGEST_FILE, Voice, built_in_file
from dashboard.domain.tracking.verdict import VerdictKind
from dashboard.settings.own_files import read_answer_file


def test_built_in_file_says_the_built_in_templates() -> None:
    read = read_answer_file("answers.toml", built_in_file())

    assert (read.templates, read.mistakes) == (BUILT_IN, ())


def test_file_changes_what_it_names_and_nothing_else() -> None:
    text = "[customer]\ntext = 'Dear all'\nno-rejection-on-record = 'Sorry'\n"

    templates = read_answer_file("answers.toml", text).templates

    assert templates.choose(Voice.CUSTOMER, VerdictKind.REJECTED) == "Dear all"
    assert templates.choose(Voice.CUSTOMER, VerdictKind.NO_REJECTION_ON_RECORD) == "Sorry"
    assert templates.usual[Voice.ENGINEER] == BUILT_IN.usual[Voice.ENGINEER]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[customer]\ntext = '''\nHi\n{hsah}'''\n",
            "customer.text (in a.toml, line 4) names {hsah}",
        ),
        ("[customer]\ntext = '{x}'\n", "customer.text (in a.toml, line 2) names {x}"),
        ("[customer]\ntext = 7\n", "customer.text (in a.toml, line 2) is '7': write a text in"),
        ("[customer]\nrejcted = ''\n", "(in a.toml, line 2) means nothing: write one of text, r"),
        ("[client]\n", "client (in a.toml, line 1) is not a voice: write [customer] or [engineer]"),
        ("customer = 1\n", "customer (in a.toml, line 1) is '1': write a table [customer]"),
        ("[customer\n", "a.toml is not valid TOML"),
        ("#" * (LONGEST_FILE + 1), "a.toml has 60,001 characters: write 60,000 at most"),
    ],
)
def test_mistake_in_a_file_is_named_and_leaves_the_built_in_templates(text: str, said: str) -> None:
    read = read_answer_file("a.toml", text)

    assert said in str(read.mistakes[0])
    assert read.templates is BUILT_IN
