"""A file of rules is read whole: every mistake is named with its line, value and remedy."""

from __future__ import annotations

import pytest

from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.rule_table import RuleNames
from dashboard.settings.own_files import read_rule_file

GOOD = """\
[rules.night-shift]
kind = "rejected"
modules = ["HUB"]

[rules.busy]
kind = "busy"
"""
BAD = """\
title = "ours"

[rules.night-shift]
kind = "rejected"
severty = "info"
recipients = [
    "ops@example.org",
    "nobody",
]

[rules.Busy]
kind = "busy"
group_wait = 5
"""


def test_rules_are_read_in_the_order_of_the_file() -> None:
    found = read_rule_file("rules.toml", GOOD, RuleNames())

    assert found.mistakes == ()
    assert [(each.name, each.kind) for each in found.rules] == [
        ("night-shift", RuleKind.REJECTED),
        ("busy", RuleKind.BUSY),
    ]


def test_text_that_nobody_writes_is_not_read() -> None:
    found = read_rule_file("rules.toml", "#" * 400_001, RuleNames())

    assert [str(each) for each in found.mistakes] == [
        "rules.toml has 400,001 characters: write 400,000 at most"
    ]


def test_every_mistake_is_named_with_its_line_and_remedy() -> None:
    found = read_rule_file("rules.toml", BAD, RuleNames(channels=()))

    assert [str(each) for each in found.mistakes] == [
        (
            "title (in rules.toml, line 1) is not a rule: write each as a table [rules.NAME], "
            "such as [rules.title]"
        ),
        (
            "rules.night-shift.severty (in rules.toml, line 5) is not a setting of a rule; "
            "did you mean severity?"
        ),
        (
            "rules.night-shift.recipients (in rules.toml, line 6) holds 'nobody': write an "
            "email address, or a name in [channels]; there are none"
        ),
        (
            "rules.Busy (in rules.toml, line 11) is not the name of a rule: write small letters, "
            "digits, - and _, at most 64, such as night-shift"
        ),
        (
            "rules.Busy.group_wait (in rules.toml, line 13) is '5': write a number and a unit, "
            "such as 30s, 5 min or 1h 30m"
        ),
    ]


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("rules = 5", "line 1) is '5': write each rule as a table"),
        ("[rules]\nbusy = 5", "line 2) is '5': write a table of settings"),
        ("", "rules.toml holds no rule"),
        ("[rules.a\n", "rules.toml is not valid TOML: Expected"),
        (  # what nobody writes, and what to say of each line would take half a minute
            "[rules.a]\n" + "".join(f"a{each}=1\n" for each in range(5_000)),
            "line 1) has 5,000 settings: write 100 at most",
        ),
        (
            "".join(f"[rules.a{each}]\n" for each in range(2_000)),
            "rules.toml holds 2,000 rules: write 200 at most",
        ),
        ("\n" * 390_000 + "[rules]\nbusy = 5", "line 390002) is '5'"),
    ],
)
def test_file_of_another_form_is_refused_with_the_form_to_write(text: str, remark: str) -> None:
    found = read_rule_file("rules.toml", text, RuleNames())

    assert found.rules == ()
    (only,) = found.mistakes
    assert remark in str(only)
