"""The beginning of a hash, as people copy it, stands for all hashes that begin so."""

from __future__ import annotations

from collections.abc import Container

import pytest

from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.search import HashRange
from dashboard.errors import InputError

WHOLE = "0x" + "ab" * 32


@pytest.mark.parametrize("text", ["0xAB12", "0Xab12", "0xab12…", "0xab12..."])
def test_beginning_is_read_as_it_is_written(text: str) -> None:
    found = HashRange.parse(text)

    assert str(found.lowest) == "0xab12" + "0" * 60
    assert str(found.highest) == "0xab12" + "f" * 60


def test_whole_hash_is_a_range_of_one() -> None:
    assert HashRange.parse(WHOLE) == HashRange.of(TxHash.parse(WHOLE))
    assert HashRange.parse(WHOLE).only == TxHash.parse(WHOLE)


def test_beginning_with_an_end_stands_for_the_hashes_that_have_both() -> None:
    found = HashRange.parse(f"{WHOLE[:10]}…{WHOLE[-6:]}")

    assert found.only is None
    assert TxHash.parse(WHOLE) in found
    assert TxHash.parse(WHOLE[:-2] + "ff") not in found


@pytest.mark.parametrize("text", ["", "0x", "0xabc", "ab12", "0xab1g", WHOLE + "0", "0x²²²²"])
def test_what_is_no_beginning_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="give 0x and at least four"):
        HashRange.parse(text)


def test_what_is_no_hash_is_in_no_range() -> None:
    found: Container[object] = HashRange.parse(WHOLE)

    assert WHOLE not in found
