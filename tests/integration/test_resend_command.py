"""`linewatch resend` as people call it: on one message, on an address, and on what is not dead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dashboard.store.alerts.notification_claims import mark_dead
from tests.builders import A_MOMENT
from tests.delivery_checks import claim_for_all, make_pending, take_lease
from tests.installation import Installation, new_installation
from tests.integration.seeded_installation import store_of
from tests.recording_channel import ONCALL


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    """Plan an installation in which three messages were given up."""
    planned = new_installation(tmp_path / "home")
    assert planned.run("migrate").returncode == 0
    with store_of(planned) as store:
        make_pending(store, 3)
        token = take_lease(store)
        with store.write() as connection:
            for notification in claim_for_all(connection, token, A_MOMENT, 10):
                mark_dead(connection, notification, "550 by mistake", A_MOMENT)
    return planned


def test_one_message_and_then_all_of_an_address_are_pending_again(
    installation: Installation,
) -> None:
    listed = json.loads(installation.run("alerts", "--state", "dead", "--json").stdout)["alerts"]

    one = installation.run("resend", listed[0]["notificationId"])
    rest = installation.run("resend", "--to", ONCALL.address, "--json")

    assert one.stdout == "1 notification is pending again.\n"
    assert json.loads(rest.stdout) == {"notifications": 2}
    audit = json.loads(installation.run("audit", "--json").stdout)
    assert [each["action"] for each in audit["entries"][:2]] == ["resend", "resend"]


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ((), "name one notification, or an address"),
        (("--to", "nobody@example.org"), "linewatch alerts --state dead"),
    ],
)
def test_nothing_to_send_again_is_a_mistake_with_its_remedy(
    installation: Installation, arguments: tuple[str, ...], remedy: str
) -> None:
    ended = installation.run("resend", *arguments)

    assert ended.returncode == 2
    assert remedy in ended.stderr
