"""What people say of a transaction: its label, note, case, owner and tags."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

from dashboard.domain.markup import visible
from dashboard.errors import InputError

LONGEST_TAGS: Final = 200
"""Characters of the tags that somebody may type for a transaction."""

MOST_TAGS: Final = 300
"""Tags of one transaction; those in its label and note alone are always fewer."""

LONGEST_TAG: Final = 40
"""Characters of one tag."""

TAGS_LEFT_OUT: Final = f"without its tags, since it would have more than {MOST_TAGS}: remove some"
"""The remark when tags are left out because the transaction would have too many."""

_TAG: Final = re.compile(rf"(?<![\w#])#(\w[\w-]{{0,{LONGEST_TAG - 1}}})")
_SEPARATORS: Final = re.compile(r"[\s,;]+")
_QUOTED: Final = 40


def tags_in(text: str) -> frozenset[str]:
    """Return the words of a text that begin with #, without the #, in lower case."""
    return frozenset(map(_small, _TAG.findall(text)))


def _small(tag: str) -> str:
    """Return a tag in lower case; the small İ has a dot of its own, which is in no tag."""
    return tag.lower().replace("\u0307", "")


def typed_tags(text: str) -> frozenset[str]:
    """Parse a list of tags, with # or without; InputError names a word that is not a tag.

    InputError also if there are more than `MOST_TAGS`.
    """
    found = set[str]()
    for word in filter(None, _SEPARATORS.split(text)):
        if len(found) >= MOST_TAGS:
            raise InputError(f"they are more than {MOST_TAGS}: keep those that people look for")
        tag = _small(word.removeprefix("#"))
        if tags_in(f"#{tag}") != {tag}:
            raise InputError(
                f"“{visible(word, _QUOTED)}” is not a tag: write letters, digits, - and _, "
                f"at most {LONGEST_TAG}, with blanks between tags"
            )
        found.add(tag)
    return frozenset(found)


def written_tags(tags: Iterable[str]) -> str:
    """Format tags for people: sorted, each with #, with blanks between them."""
    return " ".join(f"#{tag}" for tag in sorted(tags))


def tidy_tags(text: str) -> str:
    """Read tags as `typed_tags` does, and format them for people."""
    return written_tags(typed_tags(text))


LONGEST_LABEL: Final = 80
LONGEST_NOTE: Final = 300
LONGEST_CASE_ID: Final = 80
LONGEST_OWNER: Final = 80
"""The four limits count characters, on pages, in commands and in lists."""

Label: TypeAlias = Annotated[str, Meta(max_length=LONGEST_LABEL)]
Note: TypeAlias = Annotated[str, Meta(max_length=LONGEST_NOTE)]
CaseId: TypeAlias = Annotated[str, Meta(max_length=LONGEST_CASE_ID)]
Owner: TypeAlias = Annotated[str, Meta(max_length=LONGEST_OWNER)]


class Remarks(Struct, frozen=True):
    """What people wrote about a transaction, or about a whole list: foreign text.

    `attempted_at` is when it was sent, if known. `tags` are words with #, which the label and the
    note may contain too.
    """

    attempted_at: datetime | None = None
    label: str = ""
    note: str = ""
    case_id: str = ""
    owner: str = ""
    tags: str = ""

    @property
    def all_tags(self) -> frozenset[str]:
        """All tags, including those in the label and the note."""
        return tags_in(f"{self.label} {self.note} {self.tags}")

    @property
    def own_tags(self) -> frozenset[str]:
        """The tags that are not in the label or the note."""
        return tags_in(self.tags) - tags_in(f"{self.label} {self.note}")

    def completed_by(self, common: Remarks) -> Remarks:
        """Fill in empty fields from `common`, and add its tags."""
        return Remarks(
            self.attempted_at or common.attempted_at,
            self.label or common.label,
            self.note or common.note,
            self.case_id or common.case_id,
            self.owner or common.owner,
            written_tags(tags_in(f"{self.tags} {common.tags}")),
        )


NO_REMARKS: Final = Remarks()
