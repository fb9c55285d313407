"""`linewatch audit`: every command that changes something is on record, and no secret is."""

from __future__ import annotations

import json
import os
import pwd

from tests.builders import a_hash, an_address
from tests.installation import Installation
from tests.integration.seeded_installation import HOSTILE


def test_every_change_is_on_record_without_any_secret(installation: Installation) -> None:
    made = [
        json.loads(installation.run("keys", *arguments, "--json").stdout)
        for arguments in (("create", "purse", "--rate", "5/s"), ("rotate", "purse"))
    ]
    for arguments in (
        ("keys", "limit", "purse", "--report"),
        ("keys", "rename", "purse", "wallet"),
        ("keys", "revoke", "wallet"),
        ("senders", "watch", str(an_address(9)), "--label", HOSTILE),
        ("senders", "unwatch", str(an_address(9))),
        ("track", str(a_hash(8)), str(a_hash(9))),
    ):
        assert installation.run(*arguments).returncode == 0

    told = installation.run("audit", "--json").stdout

    entries = json.loads(told)["entries"]
    assert [each["action"] for each in reversed(entries)][-8:] == [
        *("create-key", "rotate-key", "limit-key", "rename-key", "revoke-key"),
        *("watch-sender", "unwatch-sender", "track"),
    ]
    assert {each["actor"] for each in entries[:8]} == {pwd.getpwuid(os.getuid()).pw_name}
    assert entries[0]["details"] == {"new": 2, "first": str(a_hash(8)), "last": str(a_hash(9))}
    assert [each for key in made for each in (key["key"], key["secret"]) if each in told] == []
