"""`linewatch keys` as people and scripts use it: shown once, refused clearly, told whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.installation import Installation, new_installation

CONFIGURED = '[networks.mine]\nnetwork_id = 5\n[serve.keys.wallets]\nkey = "canary-configured"\n'


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Plan an installation with a key in its settings, and one in its store."""
    home = tmp_path_factory.mktemp("keys")
    (home / "linewatch.toml").write_text(CONFIGURED, encoding="utf-8")
    installation = new_installation(home)
    assert installation.run("migrate").returncode == 0
    made = installation.run("keys", "create", "node", "--report", "--rate", "30/m")
    assert made.returncode == 0
    return installation


def test_key_and_secret_are_shown_once_and_kept_nowhere(installation: Installation) -> None:
    made = json.loads(installation.run("keys", "create", "once", "--json").stdout)
    lists = [installation.run("keys", "list", *how).stdout for how in ((), ("--json",))]

    assert made["key"].startswith("lw_")
    assert made["secret"].startswith("lws_")
    assert min(len(made["key"]), len(made["secret"])) >= len("lw_") + 32
    assert (made["mayReport"], made["networkIds"], made["methods"]) == (False, None, None)
    for text in (made["key"], made["secret"]):
        assert text not in f"{lists}"
        files = [path for path in installation.home.rglob("*") if path.is_file()]
        assert [path for path in files if text.encode() in path.read_bytes()] == []


def test_list_tells_keys_of_the_settings_and_of_the_store(installation: Installation) -> None:
    listed = installation.run("keys", "list", "--json").stdout

    by_name = {each["name"]: each for each in json.loads(listed)["keys"]}
    assert (by_name["wallets"]["source"], by_name["node"]["source"]) == ("settings", "store")
    assert (by_name["node"]["requestsPerSecond"], by_name["node"]["burst"]) == (0.5, 10)
    assert by_name["wallets"]["requestsPerSecond"] == 5000
    assert "canary" not in listed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("create", "node"), "a key is called node already"),
        (("create", "wallets"), "wallets is a key of the settings"),
        (("create", "a/b"), "'a/b' cannot name a key"),
        (("create", "x", "--network", "6"), "'6' is not a network of this installation: mine (5)"),
        (("create", "x", "--method", "eth_call"), "'eth_call' is not a method: choose from"),
        (("create", "x", "--rate", "fast"), "such as 50/s, or none"),
        (("create", "x", "--burst", "0"), "'0' is not a burst"),
        (("create", "x", "--report", "--method", "subscribe"), "leaves out saveRejected"),
        (("limit", "node"), "nothing to change"),
        (("limit", "nod", "--rate", "1/s"), "did you mean node?"),
        (("rename", "node", "wallets"), "wallets is a key of the settings"),
        (("revoke", "wallets"), "change [serve.keys.wallets] there"),
        (("rotate", "node", "--grace", "soon"), "such as 30s, 5 min or 1h 30m"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_value_and_the_way_out(
    installation: Installation, arguments: tuple[str, ...], said: str
) -> None:
    refused = installation.run("keys", *arguments)

    assert refused.returncode == 2
    assert said in " ".join(refused.stderr.split())


def test_name_of_a_revoked_key_is_told_as_such_and_free_again(tmp_path: Path) -> None:
    installation = new_installation(tmp_path)
    installation.run("migrate")
    installation.run("keys", "create", "old")

    statuses = [installation.run("keys", *each).returncode for each in (("revoke", "old"),) * 2]
    again = installation.run("keys", "create", "old")
    [first, second] = [
        each["state"]
        for each in json.loads(installation.run("keys", "list", "--json").stdout)["keys"]
        if each["name"] == "old"
    ]

    assert (statuses, again.returncode) == ([0, 2], 0)
    assert (first, second) == ("active", "revoked")
