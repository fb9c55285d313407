"""What is written as TOML is read back exactly, with nothing in it that cannot be seen."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.tables import write_toml

texts = st.text(st.characters(codec="utf-8"), max_size=30)
plain = st.one_of(texts, st.booleans(), st.integers(-(2**63), 2**63 - 1))
values = st.one_of(plain, st.lists(plain, max_size=4))


@given(st.dictionaries(texts, st.dictionaries(texts, values, max_size=4), max_size=3))
def test_tables_are_read_back_as_they_were_written(tables: dict[str, dict[str, object]]) -> None:
    assert tomllib.loads(write_toml("rules", tables)).get("rules", {}) == tables


def test_text_that_hides_or_turns_is_written_as_codes() -> None:
    text = write_toml("rules", {"a": {"label": "x\u202e\x7f\U000e0041"}})

    assert text == '[rules.a]\nlabel = "x\\u202e\\u007f\\U000e0041"\n'
