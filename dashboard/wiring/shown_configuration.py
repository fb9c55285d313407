"""The configuration as the page Settings shows it, and whether its files changed since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dashboard.domain.clock import Clock
from dashboard.settings.listing import (
    EffectiveSetting,
    changed_settings,
    effective_settings,
    value_text,
)
from dashboard.settings.load import own_file, read_configuration
from dashboard.settings.presets import FOLDER
from dashboard.show.queries.settings import ConfigurationState, ShownSetting


class ShownConfiguration:
    """The settings of this process; one, made when it starts."""

    def __init__(self, clock: Clock, variables: Mapping[str, str] | None = None) -> None:
        """Keep what the files and variables say now; by default those of the environment."""
        self._variables = variables
        self._read = read_configuration(variables)
        settings = tuple(map(_shown, effective_settings(self._read)))
        self._state = ConfigurationState(settings, str(own_file(variables)), clock())

    def state(self) -> ConfigurationState:
        """Return the settings, with what is different or wrong in the files as they are now."""
        now = read_configuration(self._variables)
        return replace(
            self._state,
            changed=tuple(changed_settings(self._read, now)) if now.is_whole else (),
            mistakes=tuple(map(str, now.mistakes())),
        )


def _shown(each: EffectiveSetting) -> ShownSetting:
    value, default = value_text(each.value), value_text(each.default)
    return ShownSetting(
        each.setting,
        value,
        _source(each),
        each.is_default,
        "" if value == default else default,
        each.meaning,
    )


def _source(each: EffectiveSetting) -> str:
    if each.is_default or each.location is None:
        return "default"
    source = Path(each.location.source)
    if source.parent == FOLDER:
        return f"preset {source.stem}"
    return str(replace(each.location, source=source.name))
