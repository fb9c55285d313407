"""One transaction of a list, and what people say of it there; what cannot be used is remarked."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from dashboard.domain.foreign_text import visible
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.submission_time import read_attempt
from dashboard.domain.tags import MOST_TAGS, TAGS_LEFT_OUT, tags_in, typed_tags, written_tags
from dashboard.errors import InputError

_CHAIN_ID: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
_QUOTED: Final = 40

LONGEST_LABEL: Final = 80
LONGEST_NOTE: Final = 300
LONGEST_CASE_ID: Final = 80
LONGEST_OWNER: Final = 80
"""Characters that people may write at a transaction, on pages, in commands and in lists."""

_TEXTS: Final = {
    "label": ("label", LONGEST_LABEL),
    "note": ("note", LONGEST_NOTE),
    "case_id": ("case id", LONGEST_CASE_ID),
    "owner": ("owner", LONGEST_OWNER),
}


@dataclass(frozen=True, slots=True)
class ListedTransaction:
    """One transaction of a list; `line` counts from 1, what people wrote is foreign text.

    `tags` are written with #, `network_ids` where it is to be watched, if its line says so.
    `remark` says what of its line could not be used, foreign text included; empty where all could.
    """

    line: int
    tx_hash: TxHash
    attempted_at: datetime | None = None
    label: str = ""
    note: str = ""
    remark: str = ""
    case_id: str = ""
    owner: str = ""
    tags: str = ""
    network_ids: tuple[NetworkId, ...] = ()

    def with_common(self, common: CommonRemarks) -> ListedTransaction:
        """Say of it what its own line leaves open; tags come in addition."""
        completed = replace(
            self,
            attempted_at=self.attempted_at or common.attempted_at,
            label=self.label or common.label,
            note=self.note or common.note,
            case_id=self.case_id or common.case_id,
            owner=self.owner or common.owner,
            tags=written_tags(tags_in(f"{self.tags} {common.tags}")),
        )
        return _with_few_tags(completed)

    def where_known(self, known: Collection[NetworkId]) -> ListedTransaction:
        """Leave out networks that cannot be asked here; the remark names one."""
        unknown = [each for each in self.network_ids if each not in known]
        if not unknown:
            return self
        remark = f"without the network {unknown[0]}, which has no exclusion endpoint here"
        left = tuple(each for each in self.network_ids if each in known)
        return replace(self, network_ids=left, remark=_joined(self.remark, remark))


@dataclass(frozen=True, slots=True)
class CommonRemarks:
    """What somebody says of all transactions of a list; `tags` are written with #."""

    attempted_at: datetime | None = None
    label: str = ""
    note: str = ""
    case_id: str = ""
    owner: str = ""
    tags: str = ""


def with_attempt(listed: ListedTransaction, text: str, now: datetime) -> ListedTransaction:
    """Add when a transaction was sent; what is no such time goes into the remark."""
    moment = read_attempt(text, now) if text else None
    if not isinstance(moment, str):
        return replace(listed, attempted_at=moment)
    remark = f"without a time, since “{visible(text, _QUOTED)}” {moment}"
    return replace(listed, remark=_joined(listed.remark, remark))


def with_texts(listed: ListedTransaction, texts: Mapping[str, str]) -> ListedTransaction:
    """Add what a line says of a transaction; what cannot be used of it goes into the remark."""
    remarks = [listed.remark]
    kept: dict[str, str] = {}
    for name, (what, most) in _TEXTS.items():
        kept[name], remark = _cut(what, texts.get(name, "").strip(), most)
        remarks.append(remark)
    tags = frozenset[str]()
    try:
        tags = typed_tags(texts.get("tags", ""))
    except InputError as mistake:
        remarks.append(f"without its tags, since {mistake}")
    network_ids, of_networks = _networks(texts.get("networks", ""))
    remark = _joined(*remarks, of_networks)
    listed = replace(listed, label=kept["label"], note=kept["note"], case_id=kept["case_id"])
    listed = replace(listed, owner=kept["owner"], tags=written_tags(tags), remark=remark)
    return _with_few_tags(replace(listed, network_ids=network_ids))


def _networks(text: str) -> tuple[tuple[NetworkId, ...], str]:
    """Read chain ids: two installations may name a network differently."""
    words = text.replace(",", " ").split()
    wrong = [each for each in words if not _CHAIN_ID.fullmatch(each)]
    remark = f"its network “{visible(wrong[0], _QUOTED)}” is no chain id" if wrong else ""
    return (() if wrong else tuple(NetworkId(int(each)) for each in words)), remark


def _cut(what: str, text: str, most: int) -> tuple[str, str]:
    if len(text) <= most:
        return text, ""
    return text[:most], f"its {what} has {len(text):,} characters, of which {most} are kept"


def _with_few_tags(listed: ListedTransaction) -> ListedTransaction:
    """Leave the tags out where they are too many with those of the label and the note."""
    if len(tags_in(f"{listed.label} {listed.note} {listed.tags}")) <= MOST_TAGS:
        return listed
    return replace(listed, tags="", remark=_joined(listed.remark, TAGS_LEFT_OUT))


def _joined(*remarks: str) -> str:
    return "; ".join(filter(None, remarks))
