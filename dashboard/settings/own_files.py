"""The files of rules and of templates for answers: read whole, with every mistake named."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from msgspec import Struct

from dashboard.domain.alerts.rule import MOST_RULES, Rule
from dashboard.domain.alerts.rule_table import RuleNames, read_rule
from dashboard.domain.quantity import shorten
from dashboard.domain.rejections.answer_template import (
    BUILT_IN,
    LONGEST_FILE,
    USUAL_KEY,
    VERDICT_KEYS,
    AnswerTemplates,
    Voice,
    template_mistakes,
)
from dashboard.settings.layers import (
    Layer,
    Mistake,
    SettingLocation,
    SettingPath,
    Unreadable,
    layer_of,
    location_of,
    named,
)

TABLE: Final = "rules"
"""The table of a file that holds a table for each rule."""

_LONGEST_RULES: Final = 400_000
"""How many characters a file of rules may have: programs with a viewer's token may have one read.
"""


class RuleFile(Struct, frozen=True):
    """The content of a file: the rules that can be read, and all mistakes."""

    rules: tuple[Rule, ...]
    mistakes: tuple[Mistake, ...]


def read_rule_file(source: str, text: str, names: RuleNames) -> RuleFile:
    """Read a file of rules; `source` is its name in mistakes."""
    if len(text) > _LONGEST_RULES:
        remark = f"has {len(text):,} characters: write {_LONGEST_RULES:,} at most"
        return RuleFile((), (Mistake(source, remark),))
    try:
        layer = layer_of(source, text)
    except Unreadable as error:
        return RuleFile((), (error.mistake,))
    mistakes = [*islice(_strangers(layer), MOST_RULES)]
    rules = []
    tables = layer.table.get(TABLE)
    if isinstance(tables, dict) and len(tables) > MOST_RULES:
        remark = f"holds {len(tables):,} rules: write {MOST_RULES} at most"
        return RuleFile((), (Mistake(source, remark),))
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
    """Yield what is in the file besides the rules."""
    for key, value in layer.table.items():
        if key != TABLE:
            remark = f"is not a rule: write each as a table [rules.NAME], such as [rules.{key}]"
            yield _mistake(layer, (key,), remark)
        elif not isinstance(value, dict):
            remark = f"is {shorten(str(value))}: write each rule as a table [rules.NAME]"
            yield _mistake(layer, (key,), remark)


def _mistake(layer: Layer, path: SettingPath, remark: str) -> Mistake:
    return Mistake(named(path), remark, location_of(path, [layer]))


ANSWER_FILE: Final = "answers.toml"
"""Its name, beside the settings or in the state folder."""

_VOICES: Final = tuple(voice.value for voice in Voice)
_KEYS: Final = (USUAL_KEY, *VERDICT_KEYS)
_OPENINGS: Final = ("'''", '"""')


class AnswerFileContent(Struct, frozen=True):
    """The content of a file: its templates, with built-in ones for those it lacks, and mistakes."""

    templates: AnswerTemplates
    mistakes: tuple[Mistake, ...] = ()


def read_answer_file(source: str, text: str) -> AnswerFileContent:
    """Read a file of templates; `source` is its name in mistakes."""
    if len(text) > LONGEST_FILE:
        remark = f"has {len(text):,} characters: write {LONGEST_FILE:,} at most"
        return AnswerFileContent(BUILT_IN, (Mistake(source, remark),))
    try:
        layer = layer_of(source, text)
    except Unreadable as error:
        return AnswerFileContent(BUILT_IN, (error.mistake,))
    mistakes = tuple(_mistakes(layer, text.splitlines()))
    return AnswerFileContent(BUILT_IN if mistakes else _templates(layer), mistakes)


def _templates(layer: Layer) -> AnswerTemplates:
    usual, of_verdict = dict(BUILT_IN.usual), {}
    for voice in Voice:
        table = layer.table.get(voice.value, {})
        usual[voice] = table.get(USUAL_KEY, usual[voice])
        for key, kind in VERDICT_KEYS.items():
            if key in table:
                of_verdict[voice, kind] = table[key]
    return AnswerTemplates(usual, of_verdict)


def _mistakes(layer: Layer, lines: list[str]) -> Iterator[Mistake]:
    for name, table in layer.table.items():
        if name not in _VOICES:
            yield _mistake(layer, (name,), f"is not a voice: write [{'] or ['.join(_VOICES)}]")
        elif not isinstance(table, dict):
            yield _mistake(layer, (name,), f"is {shorten(str(table))}: write a table [{name}]")
        else:
            for key, template in table.items():
                yield from _template_mistakes(layer, lines, (name, key), template)


def _template_mistakes(
    layer: Layer, lines: list[str], path: SettingPath, template: object
) -> Iterator[Mistake]:
    if path[-1] not in _KEYS:
        yield _mistake(layer, path, f"means nothing: write one of {', '.join(_KEYS)}")
    elif not isinstance(template, str):
        yield _mistake(layer, path, f"is {shorten(str(template))}: write a text in quotes")
    else:
        first = _first_line(layer, lines, path)
        for number, remark in template_mistakes(template):
            yield Mistake(named(path), remark, SettingLocation(layer.source, first + number - 1))


def _first_line(layer: Layer, lines: list[str], path: SettingPath) -> int:
    """Return the line on which a text begins: below its key if the quotes end that line."""
    line = layer.line_of(path) or 1
    return line + 1 if lines[line - 1].rstrip().endswith(_OPENINGS) else line
