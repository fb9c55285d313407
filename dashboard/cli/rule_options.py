"""Rules on the command line: KEY=VALUE, where a list may be written with commas."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence

from dashboard.domain.quantity import shorten
from dashboard.domain.rule import Rule
from dashboard.domain.rule_keys import LISTS
from dashboard.domain.rule_table import RuleNames, RuleTable, read_rule
from dashboard.errors import InputError


def plain_table(settings: Sequence[str]) -> RuleTable:
    """Read KEY=VALUE, each value as in a file, or as bare text.

    InputError without an =, and for a key that is given twice.
    """
    table: RuleTable = {}
    for each in settings:
        key, equals, value = each.partition("=")
        if not equals:
            raise InputError(f"{shorten(each)} has no value: write KEY=VALUE")
        name = key.strip()
        if name in table:
            remedy = f", such as {name}=A,B" if name in LISTS else ""
            raise InputError(f"--set {shorten(name)} is given twice: give it once{remedy}")
        table[name] = _value(name, value.strip())
    return table


def given_rule(name: str, table: RuleTable, names: RuleNames) -> Rule:
    """Return the rule that a table says; InputError names everything that is wrong with it."""
    found = read_rule(name, table, names)
    if isinstance(found, Rule):
        return found
    raise InputError("; ".join(f"{key or name} {remark}" for key, remark in found))


def _value(key: str, text: str) -> object:
    plain = _plain(text)
    if key not in LISTS or isinstance(plain, list):
        return plain
    separator = ";" if key == "active" else ","
    return [_plain(part.strip()) for part in text.split(separator) if part.strip()]


def _plain(text: str) -> object:
    """Read a value as TOML has it, or else take the text as it stands; 0x… is an address."""
    if text.casefold().startswith("0x"):
        return text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
