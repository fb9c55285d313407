"""The commands of people and scripts, each a process of its own on a store with a story."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import plain_http
from tests.builders import A_NETWORK, a_hash, an_address
from tests.installation import Installation, free_ports, new_installation
from tests.integration.running_server import (
    KEY,
    a_call,
    a_report_of,
    a_signed_transaction,
    a_store,
    services_of,
    serving,
)
from tests.integration.seeded_installation import HOSTILE, HUB, LARGEST, store_of, tell_story
from tests.one_by_one import newest_tracked


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Plan an installation whose store holds two rejections, fees, and a mail that was sent."""
    installation = new_installation(tmp_path_factory.mktemp("cli") / "home")
    tell_story(installation)
    return installation


def _json(finished: subprocess.CompletedProcess[str]) -> Any:  # noqa: ANN401 - whatever was printed
    assert finished.stdout.isascii()
    return json.loads(finished.stdout)


@pytest.mark.parametrize(
    "arguments",
    [
        ("lookup", "--stored", str(a_hash(1)), str(a_hash(2))),
        ("rejections",),
        ("alerts",),
        ("fees",),
        ("fees", "--since", "1h"),
    ],
)
def test_table_is_plain_aligned_and_inert(
    installation: Installation, arguments: tuple[str, ...]
) -> None:
    printed = installation.run(*arguments)

    assert printed.returncode == 0
    assert printed.stderr == ""
    lines = printed.stdout.split("\n")
    assert [line for line in lines if not (line.isprintable() and line == line.rstrip())] == []
    assert "(simulated" in printed.stdout


def test_rejections_are_told_in_the_words_of_the_wire(installation: Installation) -> None:
    answer = _json(installation.run("rejections", "--json", "--stage", "sequencer"))

    (rejection,) = answer["rejections"]
    assert rejection["txHash"] == str(a_hash(1))
    assert rejection["from"] == str(an_address())
    assert rejection["nonce"] == "0x5"
    assert rejection["txRejectionStage"] == "SEQUENCER"
    assert rejection["reasonMessage"] == HUB
    assert rejection["blockNumber"] == "0x1a"
    assert rejection["reason"]["module"] == "HUB"
    assert rejection["isSimulated"] is True


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ((), [2, 1]),
        (("--module", "hub"), [1]),
        (("--sender", str(an_address(9))), [2]),
        (("--tx", str(a_hash(1))), [1]),
        (("--since", "30m"), [2]),
        (("--until", "30 moons"), None),
        (("--limit", "1"), [2]),
        (("--network", "59144"), None),
        (("--network", str(A_NETWORK)), [2, 1]),
    ],
)
def test_rejections_are_chosen_by_options(
    installation: Installation, options: tuple[str, ...], found: list[int] | None
) -> None:
    finished = installation.run("rejections", "--json", *options)

    if found is None:
        assert finished.returncode == 2
    else:
        hashes = [each["txHash"] for each in _json(finished)["rejections"]]
        assert hashes == [str(a_hash(number)) for number in found]


def test_rejections_are_searched_as_on_the_page(tmp_path: Path) -> None:
    made = new_installation(tmp_path / "home")
    tell_story(made)
    assert made.run("track", "--label", "Bot", str(a_hash(1))).returncode == 0
    assert made.run("track", "--label", "Bot 2", str(a_hash(2))).returncode == 0

    found = [
        [each["txHash"] for each in _json(made.run("rejections", "--json", *options))["rejections"]]
        for options in (("--search", "label:Bot"), ("--label", "Bot"), ("--search", "Devnet"))
    ]

    assert found == [[str(a_hash(1))]] * 2 + [[str(a_hash(2)), str(a_hash(1))]]


def test_network_that_left_the_configuration_still_tells_what_is_stored(tmp_path: Path) -> None:
    home = tmp_path / "home"
    tell_story(new_installation(home))
    without = new_installation(home, LINEWATCH_DEVNET_MODE="off")

    told = [without.run(each, "--network", str(A_NETWORK)) for each in ("rejections", "alerts")]

    assert [each.returncode for each in told] == [0, 0]
    assert all(f"network {A_NETWORK}" in each.stdout for each in told)


def test_list_and_look_up_say_that_line_limits_ended(tmp_path: Path) -> None:
    ended = new_installation(
        tmp_path / "home", LINEWATCH_DEVNET_LINE_LIMITS_END="2026-01-02 03:04Z"
    )
    tell_story(ended)

    listed = ended.run("rejections", "--module", "NONE")
    looked_up = ended.run("lookup", "--stored", str(a_hash(99)))

    said = ["No such rejection is stored.", "No line limits since 2026-01-02 03:04:00 UTC."]
    assert listed.stdout.splitlines() == said
    assert said[1] in looked_up.stdout


def test_fees_are_whole_wei_in_texts(installation: Installation) -> None:
    (network,) = _json(installation.run("fees", "--json"))["networks"]

    assert network["estimatedBaseFee"]["wei"] == str(LARGEST)
    assert network["busyThreshold"]["wei"] == "8"
    assert network["high"]["suggestedMaxFeePerGas"] == "16000000000"
    assert network["high"].keys() == {"suggestedMaxPriorityFeePerGas", "suggestedMaxFeePerGas"}
    assert network["isSimulated"] is True


def test_fees_over_a_time_are_told_step_by_step(installation: Installation) -> None:
    (network,) = _json(installation.run("fees", "--json", "--since", "2h"))["networks"]

    (step,) = network["baseFees"]
    assert (step["lowest"], step["highest"], step["values"]) == (str(LARGEST), str(LARGEST), 1)
    assert (step["median"], step["p90"], step["longestGap"]) == (str(LARGEST), str(LARGEST), 0)
    assert (step["busyShare"], network["busyShare"], network["watchedShare"]) == (None, None, 0.0)
    assert network["busySpells"] == []


def test_alerts_tell_whom_when_and_with_which_answer(installation: Installation) -> None:
    answer = _json(installation.run("alerts", "--json", "--state", "sent"))

    (alert,) = answer["alerts"]
    assert (alert["address"], alert["after"]) == ("ops@example.org", "rejected")
    assert alert["outcome"] == f"250 {HOSTILE}"
    assert [each["result"] for each in alert["deliveries"]] == ["sent"]
    assert [(each["subject"], each["state"]) for each in answer["open"]] == [("busyness", "busy")]


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("rejections",), 3),
        (("rejections", "--module", "ADD"), 0),
        (("lookup", "--stored", str(a_hash(1))), 3),
        (("lookup", "--stored", str(a_hash(3)), str(a_hash(99))), 1),
        (("alerts", "--state", "dead"), 0),
        (("alerts",), 3),
    ],
)
def test_exit_code_tells_a_script_whether_something_was_found(
    installation: Installation, arguments: tuple[str, ...], status: int
) -> None:
    assert installation.run(*arguments, "--exit-code").returncode == status


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (("lookup",), "needs a transaction hash"),
        (("lookup", ""), "the input holds no transaction hash"),
        (("lookup", "0x12\x1b"), "to ask the networks, give a whole hash"),
        (("lookup", str(a_hash()), "--network", "nope"), "devnet (424242)"),
        (("fees", "--network", "devnet", "--network", "x"), "'x' is the second one: give one only"),
        (("track", "--file", "/nowhere"), "cannot be read"),
        (("track", str(a_hash()), "--attempted-at", "soon"), "write it as 2026-11-20T12:00:00Z"),
        (("track", str(a_hash()), "--label", "x" * 81), "it has 81 characters: write at most 80"),
        (("track", str(a_hash()), "--note", "x" * 301), "write at most 300"),
        (("rejections", "--since", "soon"), "24h or 7d"),
        (("rejections", "--module", "HUB;"), "such as HUB"),
        (("rejections", "--limit", "100001"), "1<=x<=100000"),
        (("fees", "--since", "1h", "--step", "0s"), "250ms or 4s"),
        (("rejections", "--network", "59144"), "devnet (424242)"),
        (("fees", "--until", "1h"), "need --since"),
        (("fees", "--since", "1h", "--until", "2h"), "is not before"),
        (("alerts", "--state", "lost"), "'pending', 'sent', 'dead'"),
    ],
)
def test_mistake_is_told_with_its_remedy_and_status_two(
    installation: Installation, arguments: tuple[str, ...], remedy: str
) -> None:
    refused = installation.run(*arguments)

    assert refused.returncode == 2
    assert remedy in refused.stderr
    assert "Traceback" not in refused.stderr
    assert refused.stdout == ""


def test_command_without_a_store_names_the_way_to_one(tmp_path: Path) -> None:
    refused = new_installation(tmp_path / "none").run("rejections", "--json")

    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert "linewatch migrate" in refused.stderr


def test_track_reports_every_line_and_keeps_the_good_ones(tmp_path: Path) -> None:
    installation = new_installation(tmp_path / "home")
    lines = [
        "hash,attempted_at,label,amount",
        f"{a_hash(1)},2026-11-20T10:00:00Z,case 1",
        "0x12,,",
        f"{a_hash(1)},,again",
        f"{a_hash(2)},05/06/2026 9:00,\x1b[31m",
    ]
    csv = tmp_path / "list.csv"
    csv.write_text("\n".join(lines), encoding="utf-16")

    with store_of(installation) as store:
        finished = installation.run("track", str(a_hash(3)), "--file", str(csv), "--label", "all")
        again = installation.run("track", "--json", str(a_hash(3)))
        with store.read() as connection:
            labels = {each.tx_hash: each.remarks.label for each in newest_tracked(connection, 10)}

    assert finished.returncode == 2
    told = [line.split()[1:3] for line in finished.stdout.splitlines() if ".csv" in line]
    assert told == [["2", "tracked"], ["3", "unusable"], ["4", "repeated"], ["5", "tracked"]]
    assert "without a time, since “05/06/2026 9:00” has two meanings" in finished.stdout
    assert "unused columns: “amount”" in finished.stderr
    assert finished.stdout.splitlines()[-1] == "3 tracked, 1 repeated, 1 unusable."
    assert labels == {a_hash(1): "case 1", a_hash(2): "\x1b[31m", a_hash(3): "all"}
    assert (again.returncode, _json(again)["trackedAlready"]) == (0, 1)


def test_track_reads_standard_input(tmp_path: Path) -> None:
    installation = new_installation(tmp_path / "home")

    with store_of(installation):
        finished = installation.run("track", "--json", given=f"see {a_hash(1)}, {a_hash(2)}\n")

    assert finished.returncode == 0
    assert [each["txHash"] for each in _json(finished)["lines"]] == [str(a_hash(1)), str(a_hash(2))]


def test_lookup_answers_the_rest_of_a_list_and_names_what_is_no_hash(
    installation: Installation,
) -> None:
    listed = f"{a_hash(1)}\n0x12\n{a_hash(3)}\n"

    printed = installation.run("lookup", "--stored", "-", given=listed)

    assert str(a_hash(1)) in printed.stdout
    assert str(a_hash(3)) in printed.stdout
    assert "“0x12” has 2 hexadecimal digits" in printed.stderr
    assert printed.returncode == 2


def test_lookup_asks_live_and_stores_what_was_said(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    rejected = a_signed_transaction(1)
    with a_store(tmp_path / "served") as served, serving(services_of(served)) as address:
        call = a_call("chain_saveRejectedTransactionV1", [a_report_of(rejected)])
        plain_http.post(f"http://{address}/v3/{KEY}", json=call).raise_for_status()
        installation = _watching(tmp_path, f"http://{address}")
        with store_of(installation):
            asked = installation.run("lookup", rejected.tx_hash, "--json", "--exit-code")
            unknown = installation.run("lookup", "-", given=str(a_hash(7)))

    stored = installation.run("lookup", "--stored", rejected.tx_hash, "--json")
    assert asked.returncode == 3
    assert _json(asked)["transactions"] == _json(stored)["transactions"]
    assert _json(asked)["transactions"][0]["verdict"] == "rejected"
    assert _json(asked)["transactions"][0]["networks"][0]["verdict"] == "rejected"
    assert unknown.returncode == 0
    assert "no rejection on record" in unknown.stdout


def test_lookup_that_nobody_answers_fails_and_says_so(tmp_path: Path) -> None:
    installation = new_installation(tmp_path, LINEWATCH_PAGES_LOOKUP_DEADLINE="500ms")

    with store_of(installation):
        unanswered = installation.run("lookup", str(a_hash()), "--json")

    assert unanswered.returncode == 1
    assert "no answer about 1 of 1 transactions from devnet" in unanswered.stderr
    assert _json(unanswered)["transactions"][0]["networks"][0]["verdict"] == "cannot check"


def test_lookup_fails_where_one_of_two_networks_is_silent(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    port = free_ports(1)[0]
    silent = (
        f"[networks.silent]\nnetwork_id = 5\n"
        f'exclusion = {{ url = "http://127.0.0.1:{port}", key = "{KEY}" }}\n'
        f'[networks.unasked]\nnetwork_id = 6\nnode = {{ url = "http://127.0.0.1:{port}" }}\n'
    )
    with a_store(tmp_path / "served") as served, serving(services_of(served)) as address:
        installation = _watching(tmp_path, f"http://{address}", silent)
        with store_of(installation):
            both = installation.run("lookup", str(a_hash(7)), "--exit-code")
            one = installation.run("lookup", str(a_hash(8)), "--exit-code", "--network", "served")

    assert both.returncode == 1
    assert both.stderr == "linewatch: no answer about 1 of 1 transactions from silent\n"
    assert (one.returncode, one.stderr) == (0, "")


def _watching(folder: Path, address: str, more: str = "") -> Installation:
    """Plan an installation that asks this address about the devnet's transactions."""
    config = folder / "linewatch.toml"
    config.write_text(
        f"[networks.served]\nnetwork_id = {A_NETWORK}\n"
        f'exclusion = {{ url = "{address}", key = "{KEY}" }}\n{more}',
        encoding="utf-8",
    )
    return new_installation(folder / "home", LINEWATCH_CONFIG=str(config))
