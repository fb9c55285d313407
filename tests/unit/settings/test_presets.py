"""A preset gives a network what its person did not write, and nothing that they did."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from dashboard.errors import SettingsError
from dashboard.settings import NetworkSettings
from dashboard.settings.presets import preset_names
from tests.unit.settings.configuration_files import loaded

HOSTED = ("linea-mainnet", "linea-sepolia", "ethereum-mainnet")


def network(folder: Path, text: str, **variables: str) -> NetworkSettings:
    """Return the network that the file calls mine."""
    return loaded(folder, f"[networks.mine]\n{text}", **variables).networks["mine"]


def test_presets_are_those_of_the_documentation() -> None:
    assert set(preset_names()) == {*HOSTED, "node", "own-serve"}


@pytest.mark.parametrize("preset", HOSTED)
def test_hosted_network_needs_only_a_key(tmp_path: Path, preset: str) -> None:
    found = network(tmp_path, f"preset = '{preset}'\n", GATEWAY_KEY="canary")

    assert found.title
    assert found.gas is not None
    assert found.gas.key is not None
    assert found.gas.key.reveal() == "canary"


@pytest.mark.parametrize("preset", HOSTED)
def test_hosted_network_spares_credits(tmp_path: Path, preset: str) -> None:
    found = network(tmp_path, f"preset = '{preset}'\n", GATEWAY_KEY="k")

    assert not found.serve_fees
    assert found.gas_period is not None
    assert found.gas_period >= timedelta(seconds=12)


@pytest.mark.parametrize("preset", HOSTED)
def test_hosted_network_without_the_key_names_the_variable(tmp_path: Path, preset: str) -> None:
    with pytest.raises(SettingsError, match="variable GATEWAY_KEY is not set") as refused:
        network(tmp_path, f"preset = '{preset}'\n")

    assert f"{preset}.toml, line " in str(refused.value)


def test_preset_of_a_node_asks_for_the_network_and_its_address(tmp_path: Path) -> None:
    found = network(tmp_path, "preset = 'node'\nnetwork_id = 5\n", NODE_URL="http://node.example")

    assert found.node is not None
    assert found.node.url.reveal() == "http://node.example"
    assert found.exclusion is None


def test_preset_of_own_serve_has_all_three_endpoints(tmp_path: Path) -> None:
    text = "preset = 'own-serve'\nnetwork_id = 5\n[serve.keys.mine]\nkey = 'env:SERVE_KEY'\n"

    found = network(tmp_path, text, NODE_URL="http://node.example", SERVE_KEY="k")

    assert None not in {found.exclusion, found.gas, found.node}


def test_own_serve_is_not_asked_with_a_key_that_it_refuses(tmp_path: Path) -> None:
    text = "preset = 'own-serve'\nnetwork_id = 5\n[serve.keys.mine]\nkey = 'another'\n"

    with pytest.raises(SettingsError, match=r"networks.mine.exclusion.key .* would refuse it; 1 m"):
        network(tmp_path, text, NODE_URL="http://node.example", SERVE_KEY="k")


def test_own_value_beats_that_of_the_preset(tmp_path: Path) -> None:
    text = "preset = 'linea-mainnet'\ntitle = 'Ours'\ngas_period = '1m'\n"

    found = network(tmp_path, text, GATEWAY_KEY="k")

    assert (found.title, found.gas_period) == ("Ours", timedelta(minutes=1))


def test_own_key_goes_to_the_address_of_the_preset(tmp_path: Path) -> None:
    text = "preset = 'linea-mainnet'\ngas = { key = 'mine' }\n"

    found = network(tmp_path, text, GATEWAY_KEY="k")

    assert found.gas is not None
    assert found.gas.key is not None
    assert found.gas.key.reveal() == "mine"
    assert "gas" in found.gas.url.reveal()


def test_key_of_the_preset_never_goes_to_an_address_of_ones_own(tmp_path: Path) -> None:
    text = "preset = 'linea-mainnet'\nnode = { url = 'http://127.0.0.1:8545' }\n"

    found = network(tmp_path, text, GATEWAY_KEY="k")

    assert found.node is not None
    assert found.node.key is None


def test_unknown_preset_is_told_with_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        network(tmp_path, "preset = 'linea-mainet'\nnetwork_id = 1\n")

    assert "networks.mine.preset (in" in str(refused.value)
    assert "'linea-mainet': choose one of ethereum-mainnet, linea-mainnet" in str(refused.value)


def test_two_networks_may_use_one_preset(tmp_path: Path) -> None:
    text = "[networks.a]\npreset='node'\nnetwork_id=1\n[networks.b]\npreset='node'\nnetwork_id=2\n"

    assert set(loaded(tmp_path, text, NODE_URL="http://n").networks) == {"a", "b"}
