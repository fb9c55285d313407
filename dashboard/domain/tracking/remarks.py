"""What people say of a transaction: its label, note, case, owner and tags."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dashboard.domain.markup import visible
from dashboard.errors import InputError

LONGEST_TAGS: Final = 200
"""Characters that somebody may type as the tags of a transaction."""

MOST_TAGS: Final = 300
"""Tags of one transaction; those of its label and note alone are always fewer."""

LONGEST_TAG: Final = 40
"""Characters of one tag."""

TAGS_LEFT_OUT: Final = f"without its tags, since it would have more than {MOST_TAGS}: remove some"
"""What became of tags that are too many with those that a transaction has."""

_TAG: Final = re.compile(rf"(?<![\w#])#(\w[\w-]{{0,{LONGEST_TAG - 1}}})")
_SEPARATORS: Final = re.compile(r"[\s,;]+")
_QUOTED: Final = 40


def tags_in(text: str) -> frozenset[str]:
    """Return the words of a text that begin with #, without that, in lower case."""
    return frozenset(tag.lower() for tag in _TAG.findall(text))


def typed_tags(text: str) -> frozenset[str]:
    """Read tags that are typed as such, with # or without; InputError names what is none.

    InputError also if there are more than `MOST_TAGS`.
    """
    found = set[str]()
    for word in filter(None, _SEPARATORS.split(text)):
        if len(found) >= MOST_TAGS:
            raise InputError(f"they are more than {MOST_TAGS}: keep those that people look for")
        tag = word.removeprefix("#").lower()
        if tags_in(f"#{tag}") != {tag}:
            raise InputError(
                f"“{visible(word, _QUOTED)}” is no tag: write letters, digits, - and _, "
                f"at most {LONGEST_TAG}, with blanks between tags"
            )
        found.add(tag)
    return frozenset(found)


def written_tags(tags: Iterable[str]) -> str:
    """Write tags as people read them: sorted, each behind #, with blanks between them."""
    return " ".join(f"#{tag}" for tag in sorted(tags))


LONGEST_LABEL: Final = 80
LONGEST_NOTE: Final = 300
LONGEST_CASE_ID: Final = 80
LONGEST_OWNER: Final = 80
"""Characters that people may write at a transaction, on pages, in commands and in lists."""


@dataclass(frozen=True, slots=True)
class Remarks:
    """What people say of a transaction, or of all of a list, as foreign text.

    `attempted_at` is when it was sent, if known. `tags` hold words with #, as the label and the
    note may as well.
    """

    attempted_at: datetime | None = None
    label: str = ""
    note: str = ""
    case_id: str = ""
    owner: str = ""
    tags: str = ""

    @property
    def all_tags(self) -> frozenset[str]:
        """Every tag: those given as such, and words with # of the label and the note."""
        return tags_in(f"{self.label} {self.note} {self.tags}")

    @property
    def own_tags(self) -> frozenset[str]:
        """The tags that do not come from the label or the note."""
        return tags_in(self.tags) - tags_in(f"{self.label} {self.note}")

    def completed_by(self, common: Remarks) -> Remarks:
        """Say what these leave open; tags come in addition."""
        return Remarks(
            self.attempted_at or common.attempted_at,
            self.label or common.label,
            self.note or common.note,
            self.case_id or common.case_id,
            self.owner or common.owner,
            written_tags(tags_in(f"{self.tags} {common.tags}")),
        )


NO_REMARKS: Final = Remarks()
