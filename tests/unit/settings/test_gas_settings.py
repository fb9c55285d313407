"""Settings of gas numbers and nodes: exact, per network, and contradictions are found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dashboard.domain.fees.suggestion import FeePolicy
from dashboard.errors import SettingsError
from dashboard.settings.listing import effective_settings
from dashboard.wiring.networks import networks_of
from tests.processes import PROJECT
from tests.unit.settings.configuration_files import loaded, read

MINE = "[networks.mine]\nnetwork_id = 5\n"
NODES = "nodes = [{ url = 'ws://b' }, { url = 'https://c', key = 'env:SECOND' }]\n"


def policy(folder: Path, text: str) -> FeePolicy:
    settings = loaded(folder, text)
    [network] = networks_of(settings)
    return network.fees(settings.fees)


def test_defaults_are_the_published_numbers(tmp_path: Path) -> None:
    assert policy(tmp_path, MINE) == FeePolicy()


def test_network_has_numbers_of_its_own_and_for_the_rest_those_of_all(tmp_path: Path) -> None:
    text = "[fees.high]\nbase_fee_share = 230\n"
    own = "[networks.mine.fees.low]\npriority_fee_floor = '7wei'\n"

    found = policy(tmp_path, text + MINE + own)

    assert (found.low.priority_fee_floor, found.low.base_fee_share) == (7, 110)
    assert found.high.base_fee_share == 230


def test_preset_of_linea_has_what_is_known_of_its_numbers(tmp_path: Path) -> None:
    settings = loaded(tmp_path, "[networks.l]\npreset = 'linea-mainnet'\n", GATEWAY_KEY="k")
    [network] = networks_of(settings)

    found = network.fees(settings.fees)

    levels = (found.low, found.medium, found.high)
    assert [each.base_fee_share for each in levels] == [100, 135, 170]
    assert {each.priority_fee_floor for each in levels} == {30_000_000}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[fees]\nbusy_percentile = 101\n", r"fees.busy_percentile .* is '101'"),
        ("[fees]\nwindow_blocks = 100\n", r"fees.history_blocks .* is 500, more than window_b"),
        ("[fees]\nrange_percentiles = [95, 10]\n", r"range_percentiles .* smaller .* first"),
        ("[fees]\nusual_percentile = 95\n", r"usual_percentile .* more than busy_percentile"),
        ("[fees.low]\nmin_wait = '5m'\n", r"fees.low.min_wait .* longer than max_wait"),
        ("[fees.high]\npriority_fee_floor = '2'\n", "1.5gwei or 7wei"),
        ("[fees.high]\npriority_fee_floor = '1.5wei'\n", "1.5gwei or 7wei"),
        ("[fees.high]\npriority_fee_floor = '1gwei'\n", "is below that of medium"),
        (MINE + "fees = { trend_blocks = 300 }\n", r"networks.mine.fees.trend_blocks .* is 300"),
        (MINE + "node_lag = 0\n", "networks.mine.node_lag"),
        (MINE + "nodes = [{ url = 'c4nary' }]\n", r"networks.mine.nodes.0.url .* does not begin"),
        (MINE + "nodes = [{ ulr = 'x' }]\n", r"networks.mine.nodes.0.ulr .* did you mean url"),
        (
            MINE + "node = { url = 'ws://b' }\nnodes = [{ url = 'ws://b' }]\n",
            r"networks.mine.nodes.0 .* is configured twice",
        ),
        (
            MINE + "exclusions = [{ name = 'a', url = 'ws://b' }, { name = 'a', url = 'ws://c' }]",
            r"networks.mine.exclusions .*hold two endpoints of one name",
        ),
        (MINE + "exclusions = [{ name = '<b>', url = 'ws://b' }]", r"exclusions.0.name"),
        (MINE + "exclusions = [{ url = 'c4nary' }]", r"exclusions.0.url .* does not begin"),
        (MINE + "ask_exclusions = 'both'", r"networks.mine.ask_exclusions .*"),
        (
            MINE + "exclusions = [{ url = 'own-serve' }]",
            r"networks.mine.exclusions.0.key .*is not one of your",
        ),
    ],
)
def test_contradiction_is_found_and_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as refused:
        loaded(tmp_path, text)

    assert "c4nary" not in str(refused.value)


def test_mistake_in_the_numbers_of_all_is_said_once(tmp_path: Path) -> None:
    common = "[fees]\ntrend_percentile = 101\nfoo = 1\n[fees.low]\nmin_wait = 'soon'\n"
    own = "fees = { busy_percentile = 'x', low = 3, bar = 1 }\n"

    found = [each.setting for each in read(tmp_path, common + MINE + own).mistakes()]

    assert sorted(found) == [
        "fees.foo",
        "fees.low.min_wait",
        "fees.trend_percentile",
        "networks.mine.fees.bar",
        "networks.mine.fees.busy_percentile",
        "networks.mine.fees.low",
    ]


def test_exclusion_endpoints_have_names_unless_one_is_alone(tmp_path: Path) -> None:
    exclusion = "exclusion = { url = 'https://a' }\n"
    more = "exclusions = [{ url = 'wss://b' }, { name = 'second', url = 'https://c' }]\n"

    alone = loaded(tmp_path, MINE + exclusion).networks["mine"]
    several = loaded(tmp_path, f"{MINE}{exclusion}{more}ask_exclusions = 'all'").networks["mine"]

    assert (list(alone.all_exclusions), alone.asks_all) == ([""], False)
    assert list(several.all_exclusions) == ["endpoint 1", "endpoint 2", "second"]
    assert several.all_exclusions["second"].url.reveal() == "https://c"
    assert several.asks_all


def test_nodes_follow_the_preferred_one_in_their_order(tmp_path: Path) -> None:
    text = MINE + "node = { url = 'http://a' }\n" + NODES

    nodes = loaded(tmp_path, text, SECOND="k").networks["mine"].all_nodes

    assert [each.url.reveal() for each in nodes] == ["http://a", "ws://b", "https://c"]
    assert nodes[2].key is not None


def test_addresses_of_nodes_are_never_shown(tmp_path: Path) -> None:
    configuration = read(tmp_path, MINE + "nodes = [{ url = 'ws://c4nary' }, 'ws://c4nary']\n")

    assert "c4nary" not in repr(list(effective_settings(configuration)))
    assert "c4nary" not in " ".join(map(str, configuration.mistakes()))


def test_levels_are_no_variables(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="LINEWATCH_FEES_LOW is not a setting"):
        loaded(tmp_path, LINEWATCH_FEES_LOW="x")
    assert loaded(tmp_path, LINEWATCH_FEES_BUSY_PERCENTILE="95").fees.busy_percentile == 95


PAGE = (PROJECT / "docs" / "gas.md").read_text(encoding="utf-8")


def test_settings_of_the_page_load_and_hold_for_their_network(tmp_path: Path) -> None:
    [table] = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)

    settings = loaded(tmp_path, table, NODE_URL="http://node.example")
    [network] = networks_of(settings)
    policy = network.fees(settings.fees)

    assert policy.window_blocks == 5000
    assert (policy.busy_percentile, policy.low.priority_fee_floor) == (95, 7)
    assert policy.high.base_fee_share == 125


def test_numbers_of_the_page_are_the_defaults(tmp_path: Path) -> None:
    fees = loaded(tmp_path).fees

    told = dict(re.findall(r"`(\w+_blocks)` \((\d+)\)", PAGE))

    assert {name: int(number) for name, number in told.items()} == {
        name: getattr(fees, name)
        for name in ("recent_blocks", "historical_blocks", "trend_blocks", "history_blocks")
    }
    assert f"the window ({fees.window_blocks:,})" in PAGE
