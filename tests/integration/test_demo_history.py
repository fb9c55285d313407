"""The demo history fills the store of a simulated network, and no other by accident."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from dashboard.domain.fees.gas import GasSource
from dashboard.domain.health.coverage import Watched
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.errors import InputError
from dashboard.settings import Settings, load_settings
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.fees.latest import latest_gas
from dashboard.store.monitoring.coverage import watched_time
from dashboard.store.rejections.search import search
from dashboard.wiring.clock import utc_now
from dashboard.wiring.devnet import fill_with_history
from dashboard.wiring.networks import networks_of, shown_networks
from dashboard.wiring.page_settings import profile_of
from dashboard.wiring.store import migrate_store, open_checked_store
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_record
from tests.installation import new_installation
from tests.one_by_one import newest_tracked
from tests.saved_record import save_record

A_WHILE = timedelta(hours=3)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"LINEWATCH_HOME": str(tmp_path / "home")})


def hold_real_data(settings: Settings) -> None:
    """Put a rejection of a network that is not simulated into the store."""
    migrate_store(settings)
    with closing(open_checked_store(settings)) as store, store.write() as connection:
        save_record(connection, ANOTHER_NETWORK, a_record(), A_MOMENT)


def test_history_fills_a_new_store_and_tells_nobody(settings: Settings) -> None:
    filled = fill_with_history(settings, A_WHILE, is_store_named=False)

    assert filled.fees == 210 + 2250  # each 30 s, and each 2 s of the last 75 minutes
    with closing(open_checked_store(settings)) as store, store.read() as connection:
        rejections = search(connection, RejectionFilter())
        latest = latest_gas(connection, A_NETWORK, utc_now()).suggested_gas_fees
        assert len(rejections) == filled.rejections > 0
        assert {each.network_id for each in rejections} == {A_NETWORK}
        assert latest is not None
        assert latest.source is GasSource.DEMO_HISTORY
        assert newest_tracked(connection, 1) == []
        assert pending_expansion(connection, 1) == []


def test_history_counts_as_watched(settings: Settings) -> None:
    fill_with_history(settings, A_WHILE, is_store_named=False)

    with closing(open_checked_store(settings)) as store, store.read() as connection:
        now = utc_now()
        for watched in Watched:
            time = watched_time(connection, [A_NETWORK], watched, now - A_WHILE / 2, now)
            assert time.is_whole


def test_history_put_in_twice_is_there_once(settings: Settings) -> None:
    fill_with_history(settings, A_WHILE, is_store_named=False)

    assert fill_with_history(settings, A_WHILE, is_store_named=False).rejections == 0


def test_history_refuses_a_store_of_real_networks(settings: Settings) -> None:
    hold_real_data(settings)

    with pytest.raises(InputError, match=r"another network \(59144\).*--into"):
        fill_with_history(settings, A_WHILE, is_store_named=False)


def test_history_goes_into_a_store_of_real_networks_that_was_named(settings: Settings) -> None:
    hold_real_data(settings)

    assert fill_with_history(settings, A_WHILE, is_store_named=True).fees > 0


def test_history_refuses_where_nothing_would_mark_it_as_simulated(tmp_path: Path) -> None:
    settings = load_settings({"LINEWATCH_HOME": str(tmp_path), "LINEWATCH_DEVNET_MODE": "off"})

    with pytest.raises(InputError, match=r"devnet\.mode"):
        fill_with_history(settings, A_WHILE, is_store_named=True)


def test_command_fills_the_folder_that_it_is_given_and_says_how_to_look(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    elsewhere = new_installation(tmp_path / "home")

    filled = elsewhere.run("demo-history", "--days=1", "--networks=2", "--into", str(folder))

    assert filled.returncode == 0
    assert "1 day of simulated history" in filled.stderr + filled.stdout
    assert "simulated rejections" in filled.stdout
    said = f"LINEWATCH_HOME={folder} LINEWATCH_DEVNET_NETWORKS=2 linewatch up"
    assert said in filled.stdout
    assert (folder / "linewatch.sqlite").exists()
    assert not elsewhere.home.exists()


def test_history_of_three_networks_is_shown_as_simulated(tmp_path: Path) -> None:
    installation = new_installation(tmp_path, LINEWATCH_DEVNET_NETWORKS="3")

    filled = installation.run("demo-history", "--days", "1")
    told = installation.run("fees", "--since", "18h", "--step", "6h")

    assert filled.returncode == 0, filled.stderr
    assert "the simulated past of devnet, devnet calm, devnet flat fee" in filled.stdout
    for title in ("devnet", "devnet calm", "devnet flat fee"):
        assert f"{title} (simulated)" in told.stdout


def test_networks_that_only_have_a_past_are_asked_nothing(tmp_path: Path) -> None:
    environment = {"LINEWATCH_HOME": str(tmp_path), "LINEWATCH_DEVNET_NETWORKS": "3"}
    settings = load_settings(environment)

    watched, shown = networks_of(settings), shown_networks(settings)

    assert [each.title for each in watched] == ["devnet"]
    assert [each.title for each in shown] == ["devnet", "devnet calm", "devnet flat fee"]
    assert all(each.is_simulated for each in shown)
    assert [profile_of(each, settings).has_exclusion for each in shown] == [True, False, False]
