"""The forms in which exported values stand in a file, found from how the store keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    JSON,
    Boolean,
    ColumnElement,
    Float,
    Integer,
    LargeBinary,
    String,
    Text,
    Uuid,
    cast,
    type_coerce,
)

from dashboard.store.schema.columns import Duration, Exact, ForeignText, Moment, Unsigned
from dashboard.store.schema.fees import Total

Column: TypeAlias = Sequence[Any]
"""The values of one column of a batch, as the database gives them; None where there is none."""


class Form(Enum):
    """What a value is, whatever the file."""

    WHOLE = auto()  # a number within 64 bits: counts, ids, milliseconds, wei
    UNSIGNED = auto()  # octets of a number without sign, up to 64 bits
    LARGE = auto()  # octets of a number beyond 64 bits
    MOMENT = auto()  # milliseconds since the epoch
    HEX = auto()  # octets
    WORD = auto()  # text of our own, in which nothing foreign stands
    TEXT = auto()  # foreign text, escaped
    JSON = auto()
    FLAG = auto()
    NUMBER = auto()
    ID = auto()


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a file."""

    name: str
    value: ColumnElement[Any]
    form: Form


_EXACT: Final = {
    Moment: Form.MOMENT,
    ForeignText: Form.TEXT,
    Unsigned: Form.UNSIGNED,
    Total: Form.LARGE,
    Duration: Form.WHOLE,
}
_PLAIN: Final = (
    (Uuid, Form.ID),
    (Boolean, Form.FLAG),
    (Integer, Form.WHOLE),
    (Float, Form.NUMBER),
    (JSON, Form.JSON),
    (String, Form.WORD),
    (LargeBinary, Form.HEX),
)


def field(name: str, value: ColumnElement[Any], form: Form | None = None) -> Field:
    """Export a column as what its type says, or as `form`.

    Values come as the driver gives them: objects of the domain would take most of the time.
    """
    kind = value.type
    if isinstance(kind, Exact):
        form = form or _EXACT.get(kind, Form.HEX)
        value = type_coerce(value, kind.storage)
    elif isinstance(kind, JSON):
        form, value = form or Form.JSON, cast(value, Text)
    return Field(
        name, value, form or next(form for plain, form in _PLAIN if isinstance(kind, plain))
    )


def moment_field(name: str, milliseconds: ColumnElement[Any]) -> Field:
    """Export a column of bare milliseconds as moments."""
    return Field(name, milliseconds, Form.MOMENT)
