"""Files of rules: read whole, with every mistake named by file, line, value and remedy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dashboard.domain.quantity import shorten
from dashboard.domain.rule import Rule
from dashboard.domain.rule_table import RuleNames, read_rule
from dashboard.settings.layers import (
    Layer,
    Mistake,
    SettingPath,
    Unreadable,
    layer_of,
    location_of,
    named,
)

TABLE: Final = "rules"
"""The table of a file that holds a table for each rule."""


@dataclass(frozen=True, slots=True)
class RuleFile:
    """What a file says: the rules that can be read, and everything that is wrong."""

    rules: tuple[Rule, ...]
    mistakes: tuple[Mistake, ...]


def read_rule_file(source: str, text: str, names: RuleNames) -> RuleFile:
    """Read a file of rules; `source` names it in mistakes."""
    try:
        layer = layer_of(source, text)
    except Unreadable as error:
        return RuleFile((), (error.mistake,))
    mistakes = [*_strangers(layer)]
    rules = []
    tables = layer.table.get(TABLE)
    for name, table in tables.items() if isinstance(tables, dict) else ():
        found = read_rule(name, table, names)
        if isinstance(found, Rule):
            rules.append(found)
        else:
            paths = (((TABLE, name, key) if key else (TABLE, name), what) for key, what in found)
            mistakes.extend(_mistake(layer, path, what) for path, what in paths)
    if not tables and not mistakes:
        remark = "holds no rule: write a table such as [rules.rejections] for each"
        mistakes.append(Mistake(source, remark))
    return RuleFile(tuple(rules), tuple(mistakes))


def _strangers(layer: Layer) -> Iterator[Mistake]:
    """Yield what stands beside the rules."""
    for key, value in layer.table.items():
        if key != TABLE:
            remark = f"is no rule: write each as a table [rules.NAME], such as [rules.{key}]"
            yield _mistake(layer, (key,), remark)
        elif not isinstance(value, dict):
            remark = f"is {shorten(str(value))}: write each rule as a table [rules.NAME]"
            yield _mistake(layer, (key,), remark)


def _mistake(layer: Layer, path: SettingPath, remark: str) -> Mistake:
    return Mistake(named(path), remark, location_of(path, [layer]))
