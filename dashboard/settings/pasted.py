"""Check a text before it is the file of settings: what is wrong, and what it would change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from dashboard.application.context import CheckedText
from dashboard.settings.layers import Layer, SettingPath, layer_of, named
from dashboard.settings.listing import changed_settings
from dashboard.settings.load import Configuration, read_configuration

PASTED: Final = "the text"
"""What mistakes call it."""

_FILES: Final = frozenset({"ca_file", "dkim_key_file", "module_limits"})
"""Settings that name a file; the last one may also name a table of ours."""


def check_pasted(text: str, running: Configuration) -> CheckedText:
    """Check a text as if it was the person's own file; it is kept nowhere.

    Who pastes a text must not learn of files and variables of this machine by its mistakes: only
    those are read that the configuration in force names as well.
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
    """Yield every text with its path; what stands in a list has its place for a name."""
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
    is_file = path[-1] in _FILES and (path[-1] != "module_limits" or "/" in value)
    return is_file and value != ""


def _withhold(table: Any, path: SettingPath, number: int) -> None:  # noqa: ANN401 - tables and lists in each other
    """Let something harmless stand for a reference, which is as good as what it refers to."""
    *above, last = path
    for step in above:
        table = table[int(step)] if isinstance(table, list) else table[step]
    if isinstance(table, list):
        table[int(last)] = f"withheld-{number}"
    elif last in _FILES:
        del table[last]
        table.pop("dkim_selector", None)  # which has no effect without its file
    else:
        table[last] = "https://withheld.invalid" if last == "url" else f"withheld-{number}"
