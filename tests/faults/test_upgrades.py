"""Short runs: a migration is killed on its way, and a backup is restored."""

from __future__ import annotations

from pathlib import Path

from tests.faults.restore_drill import RESTORE_DRILL
from tests.faults.rows import play_short
from tests.faults.upgrades import UPGRADES


def test_store_survives_a_kill_of_its_upgrade_from_each_older_schema(tmp_path: Path) -> None:
    play_short(UPGRADES, tmp_path)


def test_restored_backup_has_everything_and_tells_nobody_again(tmp_path: Path) -> None:
    play_short(RESTORE_DRILL, tmp_path)
