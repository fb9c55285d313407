"""What a message about several changes says: the first in its text, all of them in its table."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import Any

from dashboard.alert.compose import Links, NetworkName
from dashboard.alert.gathered_text import compose_gathered
from dashboard.alert.message import Message
from dashboard.alert.template_loader import load_templates
from dashboard.domain.condition import INSTALLATION, Opening, State, Subject, SubjectKind
from dashboard.domain.notification import Notification, NotificationMember
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_notification,
    a_record,
    a_rejection,
    a_transition,
    an_id,
    seconds,
)

NAMES = {A_NETWORK: NetworkName("devnet", is_simulated=True), ANOTHER_NETWORK: NetworkName("Linea")}
SILENT = load_templates(NAMES, Links())
LINKING = load_templates(NAMES, Links("https://watch.example/"))


def gathered(*members: NotificationMember) -> Notification:
    return a_notification(
        transition=members[0].transition,
        members=members[:20],
        member_count=len(members),
        closed_at=A_MOMENT + seconds(30),
    )


def rejected(number: int, **changes: Any) -> NotificationMember:  # noqa: ANN401 - any field
    subject = Subject.transaction(ANOTHER_NETWORK, a_hash(number))
    record = a_record(tx_hash=a_hash(number))
    return NotificationMember(
        a_transition(number, subject=subject, **changes), a_rejection(record=record)
    )


def of_network(kind: SubjectKind, before: State, after: State) -> NotificationMember:
    network = INSTALLATION if kind is SubjectKind.DISK else A_NETWORK
    transition = a_transition(2, subject=Subject(kind, network), before=before, after=after)
    return NotificationMember(transition, opening=Opening(an_id(1), A_MOMENT - seconds(60)))


def rows_of(message: Message) -> list[list[str]]:
    (table,) = message.attachments
    return list(csv.reader(table.content.decode("utf-8-sig").splitlines()))


def test_many_rejections_are_one_message_that_names_all_of_them_in_a_table() -> None:
    members = [rejected(number) for number in range(1, 31)]

    message = compose_gathered(gathered(*members), SILENT, members)

    assert message.subject == "30 rejections on Linea"
    assert f"{a_hash(20)} rejected on Linea: ADD" in message.text
    assert str(a_hash(21)) not in message.text
    assert "… and 10 more." in message.text
    assert "and 10 more" in message.html
    header, *rows = rows_of(message)
    assert header[:5] == ["noticed_at", "network_id", "network", "change", "transaction"]
    assert [row[4] for row in rows] == [str(a_hash(number)) for number in range(1, 31)]
    assert rows[0][7:11] == ["RPC", "ADD", "600000", "524288"]


def test_different_changes_on_several_networks_are_one_message_as_well() -> None:
    members = (
        rejected(1),
        of_network(SubjectKind.BUSYNESS, State.CALM, State.BUSY),
        rejected(3, before=State.REJECTED),
        replace(rejected(4), rejection=None),
        replace(of_network(SubjectKind.DISK, State.LOW_ON_SPACE, State.ROOMY), opening=None),
    )

    message = compose_gathered(gathered(*members), LINKING, members)

    assert message.subject == "5 changes on 3 networks (simulated data)"
    assert "record changed on Linea: ADD" in message.text
    assert "See them all: https://watch.example/alerts" in message.text
    assert [row[3:5] for row in rows_of(message)[2:4]] == [
        ["busy", "busyness"],
        ["record changed", str(a_hash(3))],
    ]


def test_reason_stays_text_in_the_table() -> None:
    hostile = rejected(1)
    record = a_record(reason_message='=HYPERLINK("http://x")\r\n\u202e')
    hostile = replace(hostile, rejection=a_rejection(record=record))

    message = compose_gathered(gathered(hostile, hostile), SILENT, [hostile])

    assert rows_of(message)[1][-1] == '\'=HYPERLINK("http://x")\\u000d\\u000a\\u202e'
