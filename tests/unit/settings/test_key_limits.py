"""Limits of keys in the settings are those of keys in the store, in the words of a file."""

from __future__ import annotations

from pathlib import Path

from dashboard.domain.people.access import KeyLimits
from dashboard.domain.quantity import NetworkId
from dashboard.settings.key_limits import limits_of_key
from tests.unit.settings.configuration_files import loaded, read

MINE = "[networks.mine]\nnetwork_id = 31337\n[networks.other]\nnetwork_id = 59144\n"


def limits_of(folder: Path, text: str) -> KeyLimits:
    settings = loaded(folder, f"{MINE}[serve.keys.wallets]\nkey = 'w'\n{text}")
    return limits_of_key(settings.serve.keys["wallets"], settings)


def test_key_without_limits_may_do_everything(tmp_path: Path) -> None:
    assert limits_of(tmp_path, "") == KeyLimits()


def test_key_has_the_limits_that_stand_beside_it(tmp_path: Path) -> None:
    text = """
networks = ["mine", 59144]
methods = ["busyThreshold"]
rate = "30/m"
burst = 7
report = false
"""

    limits = limits_of(tmp_path, text)

    assert limits == KeyLimits(
        network_ids=frozenset({NetworkId(31337), NetworkId(59144)}),
        methods=frozenset({"busyThreshold"}),
        requests_per_second=0.5,
        burst=7,
        may_report=False,
    )


def test_key_without_networks_opens_none(tmp_path: Path) -> None:
    assert limits_of(tmp_path, "networks = []").network_ids == frozenset()


def test_key_that_the_store_may_know_is_taken_for_our_own_serve(tmp_path: Path) -> None:
    own = "exclusion = { url = 'own-serve', key = 'lw_made-by-command' }\n"

    settings = loaded(tmp_path, f"[networks.mine]\nnetwork_id = 31337\n{own}")

    assert settings.networks["mine"].exclusion is not None


def test_key_of_the_devnet_that_serve_would_not_accept_is_named(tmp_path: Path) -> None:
    text = "[devnet]\nkey = 'canary'\n"

    [mistake] = map(str, read(tmp_path, text).mistakes())

    assert "devnet.key" in mistake
    assert "is not dev, the only key that serve accepts" in mistake
    assert "canary" not in mistake
    assert read(tmp_path, f"{text}[serve.keys.nodes]\nkey = 'canary'\n").mistakes() == []
