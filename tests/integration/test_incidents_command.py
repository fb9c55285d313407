"""Commands about incidents and recipients, each a process of its own."""

from __future__ import annotations

import json

import pytest

from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.people.verification import code_of
from dashboard.store.alerts.notifications import make_link_key
from dashboard.store.alerts.recipients import locked_verification
from tests.installation import Installation
from tests.integration.seeded_installation import HOSTILE, store_of


def test_incident_is_acknowledged_handed_over_and_resolved(installation: Installation) -> None:
    listed = json.loads(installation.run("alerts", "incidents", "--json").stdout)["incidents"]
    name = listed[0]["incidentId"][:8]

    held = installation.run("alerts", "acknowledge", name, "--by", "Ada", "--note", HOSTILE)
    again = installation.run("alerts", "acknowledge", name, "--by", "Bob", "--json")
    twice = (name, listed[0]["incidentId"])
    several = installation.run("alerts", "acknowledge", *twice, "--by", "Bob", "--json")
    given = installation.run("alerts", "hand-over", name, "--to", "Bob")
    resolved = installation.run("alerts", "resolve", name, "--by", "Cleo")
    refused = installation.run("alerts", "acknowledge", name)
    over = json.loads(installation.run("alerts", "incidents", "--resolved", "--json").stdout)

    assert "acknowledged by Ada." in held.stdout
    assert (json.loads(again.stdout)["owner"], json.loads(again.stdout)["isChanged"]) == (
        "Ada",
        False,
    )
    [found] = json.loads(several.stdout)["incidents"]
    assert (found["owner"], found["isChanged"]) == ("Ada", False)
    assert "acknowledged by Bob." in given.stdout
    assert "resolved by Cleo." in resolved.stdout
    assert (refused.returncode, "was resolved on" in refused.stderr) == (2, True)
    [story] = [each["story"] for each in over["incidents"] if each["incidentId"].startswith(name)]
    assert story[-1]["what"].startswith("resolved by Cleo")


def test_incident_that_nobody_knows_is_a_mistake(installation: Installation) -> None:
    refused = installation.run("alerts", "acknowledge", "zzzz")

    assert refused.returncode == 2
    assert "'zzzz' names no incident: take its id from the list" in refused.stderr


def test_address_is_turned_off_and_on_on_record(installation: Installation) -> None:
    off = installation.run("recipients", "off", "dev@example.org", "--note", "on leave")
    said = json.loads(installation.run("recipients", "list", "--json").stdout)
    listed = [each for each in said["recipients"] if each["off"]]
    on = installation.run("recipients", "on", "dev@example.org")
    again = installation.run("recipients", "on", "dev@example.org")

    assert (off.stdout, on.stdout) == (
        "dev@example.org: off now.\n",
        "dev@example.org: on again.\n",
    )
    assert [(each["address"], each["off"]["note"]) for each in listed] == [
        ("dev@example.org", "on leave")
    ]
    assert again.returncode == 2
    audit = json.loads(installation.run("audit", "--json").stdout)["entries"]
    assert [each["action"] for each in audit[:2]] == ["turn-on", "turn-off"]


def test_address_of_a_rule_is_unverified_until_its_code_is_given(
    installation: Installation,
) -> None:
    added = installation.run(
        *("rules", "add", "hub", "--set", "kind=rejected", "--set", "recipients=new@example.org")
    )
    asked = installation.run("recipients", "verify", "new@example.org", "--by", "Ada")
    with store_of(installation) as store:
        recipient = Recipient("mail", "new@example.org")
        with store.write() as connection:
            key = make_link_key(connection, b"k" * 32)
            known = locked_verification(connection, recipient)
    wrong = installation.run("recipients", "verify", "new@example.org", "AAAAAAAA")
    given = installation.run("recipients", "verify", "new@example.org", code_of(known, key))
    hours = ("--time-zone", "Europe/Zurich", "--active", "mon-fri 08:00-18:00")
    set_ = installation.run("recipients", "set", "new@example.org", *hours)
    digest = ("--digest", "weekly mon 08:00")
    asked_for = installation.run("recipients", "set", "new@example.org", *digest)
    said = json.loads(installation.run("recipients", "list", "--json").stdout)

    assert "rule 'hub' reaches nobody (new@example.org: address not verified)" in added.stderr
    assert "the worker sends a verification mail" in asked.stdout
    assert (wrong.returncode, "4 more tries" in wrong.stderr) == (2, True)
    assert given.stdout == "new@example.org: verified.\n"
    assert set_.stdout == "new@example.org: mon-fri 08:00-18:00 (Europe/Zurich).\n"
    [listed] = [each for each in said["recipients"] if each["address"] == "new@example.org"]
    assert (listed["status"], listed["namedIn"]) == ("verified", ["rule hub"])
    assert (listed["timeZone"], listed["active"]) == ("Europe/Zurich", ["mon-fri 08:00-18:00"])
    assert (listed["digest"], listed["suspect"]) == ("weekly mon 08:00", None)
    assert "18:00; digest weekly mon 08:00 (Europe/Zurich)." in asked_for.stdout
    ended = installation.run("recipients", "set", "new@example.org", "--no-digest")
    assert ended.stdout == set_.stdout
    assert said["unreached"] == []
    table = installation.run("recipients", "list").stdout
    assert "from the settings" in table


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (("set", "oncall@localhost"), "nothing to change"),
        (("set", "oncall@localhost", "--active", "x"), "is not a weekly span"),
        (("set", "oncall@localhost", "--time-zone", "Mars"), "is not a time zone"),
        (("set", "who@example.org", "--any-hour"), "is not a recipient"),
        (("set", "oncall@localhost", "--digest", "8:00"), "is not a digest time"),
        (("set", "hook", "--channel", "hook", "--digest", "daily 08:00"), "digests go by mail"),
        (("verify", "oncall@localhost"), "the settings name it"),
        (("verify", "no address"), "is not an email address"),
    ],
)
def test_wrong_recipient_is_a_mistake(
    installation: Installation, arguments: tuple[str, ...], remedy: str
) -> None:
    refused = installation.run("recipients", *arguments)

    assert refused.returncode == 2
    assert remedy in refused.stderr
