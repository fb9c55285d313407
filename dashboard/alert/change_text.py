"""The parts of the text about a change, whatever it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Rows: TypeAlias = tuple[tuple[str, str], ...]
"""Labelled lines."""


@dataclass(frozen=True, slots=True)
class IncidentText:
    """The text about a change of a condition.

    `headline` is what changed in a few words, `opening` the same as a sentence. `page` is the
    one that shows more; `quote` is foreign text, made visible, below its title. `changed` are the
    fields of a record that is another now: label, before and now. Where `subject` is empty the
    headline is the subject; `kicker` stands above it, `preheader` beside it in lists of mails.
    """

    headline: str
    opening: str
    page: str
    rows: Rows = ()
    explanation: str = ""
    next_steps: tuple[str, ...] = ()
    quote: str = ""
    quote_title: str = "Why there is no answer"
    kicker: str = ""
    subject: str = ""
    preheader: str = ""
    changed: tuple[tuple[str, str, str], ...] = ()
    remark: str = ""
