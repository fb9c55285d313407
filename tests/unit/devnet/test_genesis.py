"""The stored genesis: written once, kept, and damaged ones are refused."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from dashboard.devnet.chain import Chain
from dashboard.devnet.genesis import open_genesis
from dashboard.errors import InputError, RoleError
from tests.unit.devnet.small_devnet import ManualClock


def test_first_start_has_twenty_thousand_blocks(tmp_path: Path) -> None:
    clock = ManualClock()

    chain = Chain(open_genesis(tmp_path / "devnet", 7, clock))

    assert chain.head(clock()) == 20_000


def test_later_start_finds_the_same_genesis(tmp_path: Path) -> None:
    clock = ManualClock()
    first = open_genesis(tmp_path, 7, clock)
    clock.pass_by(timedelta(days=30).total_seconds())

    assert open_genesis(tmp_path, 7, clock) == first


def test_other_seed_is_refused_with_both_and_the_remedy(tmp_path: Path) -> None:
    open_genesis(tmp_path, 7, ManualClock())

    with pytest.raises(InputError, match=r"seed 7, not 8: set devnet\.seed to 7"):
        open_genesis(tmp_path, 8, ManualClock())


@pytest.mark.parametrize("text", ["", "{", '{"seed": "x"}', "[]"])
def test_damaged_genesis_is_named_and_not_replaced(tmp_path: Path, text: str) -> None:
    path = tmp_path / "genesis.json"
    path.write_text(text)

    with pytest.raises(RoleError, match=r"genesis\.json is damaged .* remove"):
        open_genesis(tmp_path, 7, ManualClock())
    assert path.read_text() == text


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")

    with pytest.raises(RoleError, match="cannot keep its genesis in"):
        open_genesis(tmp_path / "file" / "devnet", 7, ManualClock())
