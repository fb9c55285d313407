"""Settings as people read them: each with its value, its meaning and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """One setting in force, as text; a value that may be secret is masked.

    `source` says where it stands. `default` is empty where the value is the default, or there is
    none; so is `meaning` where nothing is said of it.
    """

    name: str
    value: str
    source: str
    is_default: bool
    default: str = ""
    meaning: str = ""

    @property
    def section(self) -> str:
        """The table that it stands in."""
        return self.name.partition(".")[0]

    def holds(self, words: str) -> bool:
        """Whether all these words occur in it, in either case."""
        text = f"{self.name} {self.value} {self.source} {self.meaning}".lower()
        return all(word in text for word in words.lower().split())


@dataclass(frozen=True, slots=True)
class ConfigurationState:
    """The settings with which this process started, and what became of their files since.

    `own_file` is where a person sets them, which may not exist. `changed` names the settings that
    the files now say otherwise, `mistakes` what is wrong in them now.
    """

    settings: tuple[ShownSetting, ...]
    own_file: str
    started_at: datetime
    changed: tuple[str, ...] = ()
    mistakes: tuple[str, ...] = ()
