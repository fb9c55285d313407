"""Column types: exact values of the domain in forms that SQLite and PostgreSQL both keep."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import BigInteger, Dialect, Integer, LargeBinary, Text
from sqlalchemy.types import TypeDecorator

from dashboard.domain.quantity import Address, NetworkId, TxHash, Wei

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LARGEST_UNSIGNED: Final = 2**64 - 1

RowId = BigInteger().with_variant(Integer, "sqlite")
"""Numbers given by the database; SQLite counts up only in a column that is called INTEGER."""

_UNSTORABLE: Final = re.compile("[\\\\\0\ud800-\udfff]")
_ESCAPED: Final = re.compile(r"\\u([0-9a-f]{4})")


class Moment(TypeDecorator[datetime]):
    """An aware datetime as whole milliseconds since the epoch; what is finer is cut off."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:  # noqa: ARG002 - named by SQLAlchemy
        """Refuse a naive datetime: nobody knows which moment it means."""
        if value is None:
            return None
        if value.utcoffset() is None:
            msg = f"{value!r} has no time zone and cannot be stored"
            raise ValueError(msg)
        return (value - EPOCH) // timedelta(milliseconds=1)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - named by SQLAlchemy
        """Return the moment in UTC."""
        return None if value is None else EPOCH + timedelta(milliseconds=value)


class Duration(TypeDecorator[timedelta]):
    """A duration as whole milliseconds."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: timedelta | None, dialect: Dialect) -> int | None:  # noqa: ARG002 - named by SQLAlchemy
        return None if value is None else value // timedelta(milliseconds=1)

    def process_result_value(self, value: int | None, dialect: Dialect) -> timedelta | None:  # noqa: ARG002 - named by SQLAlchemy
        return None if value is None else timedelta(milliseconds=value)


class WeiAmount(TypeDecorator[Wei]):
    """Wei as the database's 64-bit integer; the wire refuses larger fees."""

    impl = BigInteger
    cache_ok = True


class Network(TypeDecorator[NetworkId]):
    """A chain id."""

    impl = BigInteger
    cache_ok = True


class Hash(TypeDecorator[TxHash]):
    """A transaction hash as its 32 bytes."""

    impl = LargeBinary(TxHash.LENGTH)
    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> TxHash | None:  # noqa: ANN401, ARG002 - whatever bytes the driver gives
        return None if value is None else TxHash(bytes(value))


class Account(TypeDecorator[Address]):
    """An address as its 20 bytes."""

    impl = LargeBinary(Address.LENGTH)
    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> Address | None:  # noqa: ANN401, ARG002 - whatever bytes the driver gives
        return None if value is None else Address(bytes(value))


class Unsigned(TypeDecorator[int]):
    """A 64-bit number without sign as 8 bytes, so that it sorts; nonces go up to 2^64 - 2."""

    impl = LargeBinary(8)
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> bytes | None:  # noqa: ARG002 - named by SQLAlchemy
        return None if value is None else value.to_bytes(8, "big")

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:  # noqa: ANN401, ARG002 - whatever bytes the driver gives
        return None if value is None else int.from_bytes(bytes(value), "big")


class ForeignText(TypeDecorator[str]):
    r"""Text from outside, exactly as sent.

    PostgreSQL keeps no U+0000 and neither database lone surrogates: those, and the backslash
    that marks them, are kept as ``\u0000``.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - named by SQLAlchemy
        if value is None:
            return None
        return _UNSTORABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - named by SQLAlchemy
        if value is None:
            return None
        return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value)
