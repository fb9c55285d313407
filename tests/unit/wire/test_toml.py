"""TOML of people and of whoever has a token: what no person writes is refused."""

from __future__ import annotations

from contextlib import suppress

import pytest

from dashboard.wire.decoding import read_toml


@pytest.mark.parametrize(
    "text",
    [
        "x." * 8000 + "x = 1",
        "a = {" + "x . " * 40 + "x = 1}",
        "[" + '"x".' * 40 + '"x"]',
        "b = 1\n" + "'x' .\t" * 40 + "'x' = 1",
    ],
)
def test_key_of_many_parts_is_refused_before_it_is_read(text: str) -> None:
    with pytest.raises(ValueError, match="a key has more than 32 parts"):
        read_toml(text)


@pytest.mark.parametrize("depth", [20, 100_000])
def test_values_that_are_nested_too_deeply_are_refused(depth: int) -> None:
    with pytest.raises(ValueError, match="more than 20 deep"):
        read_toml("x = " + "[" * depth + "]" * depth)


def test_number_that_cannot_be_written_out_is_refused() -> None:
    with pytest.raises(ValueError, match="a number of more than 256 bits"):
        read_toml(f"a = [{{x = 0x{'f' * 5000}}}]")


@pytest.mark.parametrize(
    "text",
    [
        "a" * 400_000,
        '"' * 400_000,
        "a." * 31 + "a = 1",
        "x " * 200_000,
        "a = '" + '\\"' * 200_000 + "'",
    ],
    ids=["one key", "quotes", "many parts", "keys", "escaped quotes"],
)
def test_long_text_takes_no_longer_than_its_length(text: str) -> None:
    with suppress(ValueError):
        assert read_toml(text)
