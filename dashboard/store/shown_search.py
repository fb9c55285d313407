"""Search for rejections by what pages show: words of a reason, stage, label, or a hash."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import (
    ColumnElement,
    LargeBinary,
    Select,
    and_,
    false,
    func,
    literal_column,
    or_,
    select,
    type_coerce,
)

from dashboard.domain.quantity import Address, TxHash
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.rejections.search import (
    HashRange,
    ReasonForm,
    bare_beginning,
    forms_shown_with,
    words_of_search,
)
from dashboard.store.engine.upsert import holds_text
from dashboard.store.schema import rejections, tracked_hashes, tracked_labels


def matches_search(text: str) -> ColumnElement[bool]:
    """Require that pages show the words at a rejection, in any order, or the text in its label."""
    hashes = bare_beginning(text)
    column = rejections.c.tx_hash
    by_name = false() if hashes is None else rejection_in_range(hashes)
    return or_(shows_words(text), column.in_(hashes_with_label_containing(text)), by_name)


def shows_words(text: str) -> ColumnElement[bool]:
    """Require that each word is in the stage or the reason, as sent or as pages show it."""
    words = words_of_search(text)
    return and_(*(or_(*_shows_word(word)) for word in words)) if words else false()


def rejection_in_range(hashes: HashRange) -> ColumnElement[bool]:
    """Require that the hash or the sender of a rejection begins and ends as a range says."""
    return or_(hash_in_range(rejections.c.tx_hash, hashes), _sender_in_range(hashes))


def hash_or_sender_in_range(
    column: ColumnElement[TxHash], hashes: HashRange
) -> ColumnElement[bool]:
    """Require that a hash, or a sender that one of its rejections names, is in a range."""
    if hashes.senders is None:
        return hash_in_range(column, hashes)
    sent = select(rejections.c.tx_hash).where(_sender_in_range(hashes))
    return or_(hash_in_range(column, hashes), column.in_(sent))


def _sender_in_range(hashes: HashRange) -> ColumnElement[bool]:
    if hashes.senders is None:
        return false()
    among = rejections.c.sender.between(*hashes.senders)
    return _ends_with(among, rejections.c.sender, Address.LENGTH, hashes.end)


def hash_in_range(column: ColumnElement[TxHash], hashes: HashRange) -> ColumnElement[bool]:
    """Require that a hash is in a range and ends as that says."""
    among = column.between(hashes.lowest, hashes.highest)
    return _ends_with(among, column, TxHash.LENGTH, hashes.end)


def _ends_with(
    among: ColumnElement[bool], column: ColumnElement[Any], length: int, end: bytes
) -> ColumnElement[bool]:
    if not end:
        return among
    octets = func.substr(type_coerce(column, LargeBinary), length - len(end) + 1)
    return and_(among, type_coerce(octets, LargeBinary) == end)


def hashes_with_label_containing(text: str) -> Select[Any]:
    """Select the tracked hashes whose label contains the text."""
    return select(tracked_hashes.c.tx_hash).where(*has_label_containing(text))


def has_label_containing(text: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Require that the label of a tracked hash contains the text, by the index of labels."""
    label, column = tracked_labels.c.label, tracked_hashes.c.label
    labels = select(label).where(label.icontains(text, autoescape=True))
    return column.in_(labels), column != literal_column("''")


def _shows_word(word: str) -> Iterator[ColumnElement[bool]]:
    column = rejections.c
    stages = [stage for stage in RejectionStage if word in stage.lower()]
    if stages:
        yield column.tx_rejection_stage.in_(stages)
    yield from map(_has_form, forms_shown_with(word))
    yield holds_text(column.reason_message, word)


def _has_form(form: ReasonForm) -> ColumnElement[bool]:
    column = rejections.c
    of_form = [column.reason_kind == form.kind]
    of_form.append(column.module.is_not(None) if form.has_module else column.module.is_(None))
    if form.beginnings:
        begun = (
            column.reason_message.startswith(each, autoescape=True) for each in form.beginnings
        )
        of_form.append(or_(*begun))
    if form.ending:
        ends = column.reason_message.endswith(form.ending, autoescape=True)
        of_form.append(~ends if form.is_barred else ends)
    return and_(*of_form)
