"""The effective configuration: each setting, its origin, and what another text would change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, get_args

from msgspec import Struct

from dashboard.application.context import CheckedText, SettingChange
from dashboard.domain.secret import MASK, Secret, holds_login
from dashboard.settings.check_keys import holds_settings, kind_at
from dashboard.settings.layers import (
    Layer,
    SettingLocation,
    SettingPath,
    layer_of,
    lines_of,
    location_of,
    named,
)
from dashboard.settings.load import DEFAULTS, Configuration, is_ours, read_configuration
from dashboard.settings.presets import table_names
from dashboard.settings.schema import Settings

_REMARK: Final = re.compile(r"(?:^|\s)\s*# (?P<text>.*)$")
"""The comment after a value of default.toml, or indented below it where it continues."""


class EffectiveSetting(Struct, frozen=True):
    """One setting in force; a `value` that may be secret is masked.

    `default` is its value in default.toml and `meaning` the comment there; None and empty if it is
    not there.
    """

    setting: str
    value: object
    location: SettingLocation | None
    default: object = None
    meaning: str = ""

    @property
    def is_default(self) -> bool:
        """Whether nobody set it, not even to the same value."""
        return self.location is None or self.location.source == str(DEFAULTS)


def effective_settings(configuration: Configuration) -> Iterator[EffectiveSetting]:
    """Yield every setting that has a value, in the order of the sections."""
    defaults = dict(_values(configuration.layers[0].table))
    meanings = _meanings()
    for path, value in _values(configuration.merged):
        location = location_of(path, configuration.layers)
        yield EffectiveSetting(
            named(path),
            _shown(path, value, location),
            location,
            defaults.get(path),
            meanings.get(path, ""),
        )


def changed_settings(before: Configuration, after: Configuration) -> list[SettingChange]:
    """Return the names of the settings that the files would change, secret ones included."""
    old, new = dict(_values(before.merged)), dict(_values(after.merged))

    def told(path: SettingPath, of: Configuration, values: Mapping[SettingPath, object]) -> str:
        if path not in values:
            return ""
        return value_text(_shown(path, values[path], location_of(path, of.layers)))

    differ = [path for path in sorted(old.keys() | new.keys()) if old.get(path) != new.get(path)]
    fixed: set[SettingPath] = set(_FIXED)
    if bool(before.merged.get("networks")) is not bool(after.merged.get("networks")):
        fixed |= {path for path in differ if path[0] == "networks"}
    return [
        SettingChange(named(path), told(path, before, old), told(path, after, new), path in fixed)
        for path in differ
    ]


_FIXED: Final = (("store", "url"), ("devnet", "mode"))
"""What a reload refuses; it also refuses the first network, and the removal of the last one."""


def value_text(value: object) -> str:
    """Format a value for people; empty for None."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


@cache
def _meanings() -> Mapping[SettingPath, str]:
    """Return the comment at each default, with the lines on which it continues."""
    text = DEFAULTS.read_text(encoding="utf-8")
    lines = text.splitlines()
    found: dict[SettingPath, str] = {}
    for path, line in lines_of(text).items():
        remarks = list(_remarks(lines[line - 1 :]))
        if remarks and not lines[line - 1].startswith("["):
            found[path] = " ".join(remarks)
    return found


def _remarks(lines: Sequence[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        remark = _REMARK.search(line)
        if remark is None or (number > 0 and line.lstrip()[:1] != "#") or line.startswith("#"):
            return
        yield remark["text"].strip()


def _values(
    table: dict[str, object], above: SettingPath = ()
) -> Iterator[tuple[SettingPath, object]]:
    for key, value in table.items():
        path = (*above, key)
        if isinstance(value, dict):
            yield from _values(value, path)
        else:
            yield path, value


def _shown(path: SettingPath, value: object, location: SettingLocation | None) -> object:
    """Mask a value of the user unless it is not secret, or only refers to one."""
    if value == "" or _is_ours(location) or _is_harmless(path, value):
        return value
    is_reference = isinstance(value, str) and value.startswith(("env:", "file:"))
    return value if is_reference else MASK


def _is_harmless(path: SettingPath, value: object) -> bool:
    """Whether the schema has a setting there that is not secret, with no tables hidden in it.

    The value at a misspelt name, or in the place of a table, may be a key or an address with one.
    """
    kind = kind_at(path, Settings)
    if kind is None or Secret in {kind, *get_args(kind)} or holds_settings(kind):
        return False
    if holds_login(str(value)):
        return False
    return not (isinstance(value, list) and any(isinstance(each, dict | list) for each in value))


def _is_ours(location: SettingLocation | None) -> bool:
    return location is not None and is_ours(location.source)


PASTED: Final = "the text"
"""The name of a pasted text in mistakes."""

_FILES: Final = frozenset({"ca_file", "dkim_key_file", "module_limits"})
"""Settings that name a file; the last one, and the table of a period, may name a table of ours."""


def check_pasted(text: str, running: Configuration) -> CheckedText:
    """Check a text as if it were the person's own file; it is not stored.

    Whoever pastes a text must not learn of files and variables of this machine by its mistakes:
    only those are read that the configuration in force names as well.
    """
    known = {value for _, value in _texts(running.merged)}
    unread: list[str] = []

    def as_given() -> Layer:
        return layer_of(PASTED, text)

    def without_references() -> Layer:
        layer = as_given()
        for path, value in list(_texts(layer.table)):
            if _is_reference(path, value) and value not in known:
                unread.append(named(path))
                _withhold(layer.table, path, len(unread))
        return layer

    checked = read_configuration(running.variables, without_references)
    mistakes = tuple(str(each) for each in checked.mistakes() if each.setting not in unread)
    if not checked.is_whole:
        return CheckedText(mistakes)
    after = read_configuration(running.variables, as_given)
    return CheckedText(mistakes, tuple(changed_settings(running, after)), tuple(unread))


def _texts(value: object, above: SettingPath = ()) -> Iterator[tuple[SettingPath, str]]:
    """Yield every text with its path; an item of a list has its position as name."""
    if isinstance(value, str):
        yield above, value
        return
    pairs: Iterable[tuple[object, object]] = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, each in pairs:
        yield from _texts(each, (*above, str(key)))


def _is_reference(path: SettingPath, value: str) -> bool:
    if value.startswith(("env:", "file:")):
        return True
    if path[-1] == "module_limits" or _is_table_of_period(path):
        return "/" in value
    return path[-1] in _FILES and value != ""


def _is_table_of_period(path: SettingPath) -> bool:
    return path[-1] == "table" and "limit_periods" in path


def _withhold(table: Any, path: SettingPath, number: int) -> None:  # noqa: ANN401 - tables and lists in each other
    """Replace a reference by something harmless, which counts as valid as what it refers to."""
    *above, last = path
    for step in above:
        table = table[int(step)] if isinstance(table, list) else table[step]
    if isinstance(table, list):
        table[int(last)] = f"withheld-{number}"
    elif last in _FILES:
        del table[last]
        table.pop("dkim_selector", None)  # which has no effect without its file
    elif _is_table_of_period(path):
        table[last] = table_names()[0]
    else:
        table[last] = "https://withheld.invalid" if last.endswith("url") else f"withheld-{number}"
