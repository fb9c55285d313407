"""`linewatch senders`: watching addresses, each command a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

from tests.builders import an_address
from tests.installation import Installation, new_installation
from tests.integration.seeded_installation import HOSTILE


def test_senders_are_watched_listed_and_let_go(installation: Installation) -> None:
    sender = str(an_address(9))

    watched = installation.run("senders", "watch", sender, "--label", HOSTILE)
    again = installation.run("senders", "watch", sender)
    listed = json.loads(installation.run("senders", "list", "--json").stdout)
    gone = installation.run("senders", "unwatch", sender)
    nobody = installation.run("senders", "unwatch", sender)

    assert [each.returncode for each in (watched, again, gone, nobody)] == [0, 0, 0, 2]
    assert "watched already" in again.stdout
    (entry,) = [each for each in listed["senders"] if each["from"] == sender]
    assert entry["label"] == HOSTILE.strip()
    assert "was not watched" in nobody.stdout


def test_sender_on_a_network_that_tells_of_hashes_only_is_refused(tmp_path: Path) -> None:
    hosted = new_installation(
        tmp_path / "home",
        LINEWATCH_CONFIG=str(tmp_path / "hosted.toml"),
        GATEWAY_KEY="k3y",
    )
    (tmp_path / "hosted.toml").write_text('[networks.linea]\npreset = "linea-mainnet"\n', "utf-8")
    assert hosted.run("migrate").returncode == 0

    refused = hosted.run("senders", "watch", str(an_address(9)), "--network", "linea")

    assert refused.returncode == 2
    assert "only where nodes report to our own serve" in refused.stderr


def test_rank_says_how_many_senders_it_leaves_out(installation: Installation) -> None:
    whole = installation.run("senders", "rank")
    first = installation.run("senders", "rank", "--limit", "1")

    many = len(whole.stdout.splitlines()) - 1
    assert many > 1
    assert first.stdout.splitlines()[-1] == f"1 of {many} senders: --limit shows more."
