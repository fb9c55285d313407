"""What a message about several changes says: counts, the first in its text, all in its table."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.alert.compose import Links, NetworkName
from dashboard.alert.gathered_text import compose_gathered
from dashboard.alert.message import Message
from dashboard.alert.message_writer import load_templates
from dashboard.domain.alerts.condition import INSTALLATION, State, Subject, SubjectKind
from dashboard.domain.alerts.grounds import InclusionGrounds
from dashboard.domain.alerts.incident import IncidentState, NotifiedChange
from dashboard.domain.alerts.notification import Notification
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import RejectionStage
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_notification,
    a_record,
    a_rejection,
    a_transition,
    an_incident,
    seconds,
)

NAMES = {A_NETWORK: NetworkName("devnet", is_simulated=True), ANOTHER_NETWORK: NetworkName("Linea")}
SILENT = load_templates(NAMES, Links())
LINKING = load_templates(NAMES, Links("https://watch.example/"))
MMU = "TX_MODULE_LINE_COUNT_OVERFLOW(MMU)"


def gathered(changes: list[NotifiedChange], **fields: Any) -> Notification:  # noqa: ANN401 - any field
    known = {"member_count": len(changes), "closed_at": A_MOMENT + seconds(30)}
    return a_notification(transition=changes[0].transition, **(known | fields))


def written(changes: list[NotifiedChange], **fields: Any) -> Message:  # noqa: ANN401 - any field
    return compose_gathered(gathered(changes, **fields), SILENT, iter(changes))


def rejected(
    number: int,
    reason: str | None = None,
    network: NetworkId = ANOTHER_NETWORK,
    **changes: Any,  # noqa: ANN401 - any field
) -> NotifiedChange:
    """Return the change that a transaction was rejected, so many seconds after the first."""
    before = changes.pop("before", None)
    subject = Subject.transaction(network, a_hash(number))
    at = A_MOMENT + seconds(number)
    record = a_record(tx_hash=a_hash(number), reason_message=reason or a_record().reason_message)
    transition = a_transition(number, subject=subject, at=at, before=before)
    return NotifiedChange(transition, **({"rejection": a_rejection(record=record)} | changes))


def of_network(
    kind: SubjectKind, before: State, after: State, network: NetworkId = ANOTHER_NETWORK
) -> NotifiedChange:
    transition = a_transition(2, subject=Subject(kind, network), before=before, after=after)
    return NotifiedChange(transition, opened_at=A_MOMENT - seconds(60))


BUSY = of_network(SubjectKind.BUSYNESS, State.CALM, State.BUSY)
ENOUGH_SPACE = of_network(SubjectKind.DISK, State.LOW_ON_SPACE, State.ENOUGH_SPACE, INSTALLATION)


def rows_of(message: Message) -> list[dict[str, str]]:
    (table,) = message.attachments
    return list(csv.DictReader(table.content.decode("utf-8-sig").splitlines()))


def test_first_twenty_are_named_and_all_stand_in_the_table() -> None:
    message = written([rejected(number) for number in range(1, 31)])

    for part in (message.text, message.html):
        assert "0x0000…0014" in part
        assert "0x0000…0015" not in part
        assert "… and 10 more." in part
    assert [row["transaction"] for row in rows_of(message)] == [
        str(a_hash(number)) for number in range(1, 31)
    ]


def test_subject_says_the_reason_first_then_how_many_and_where() -> None:
    message = written([rejected(number) for number in (1, 2, 3)])

    assert message.subject == "ADD over its limit · 3 rejections · Linea"
    assert message.text.splitlines()[:2] == [
        "3 rejections on Linea.",
        "2026-11-20 12:00:01 UTC to 2026-11-20 12:00:03 UTC",
    ]


def test_followers_are_said_to_be_more() -> None:
    message = written([rejected(1), rejected(2)], in_reply_to="<1@watch.example>")

    assert message.subject == "ADD over its limit · 2 more rejections · Linea"


@pytest.mark.parametrize(
    ("reasons", "subject"),
    [
        ([None, None, MMU], "ADD over its limit and 1 other reason · 3 rejections · Linea"),
        (
            [MMU, "out of luck", MMU, None],
            "MMU over its limit and 2 other reasons · 4 rejections · Linea",
        ),
    ],
)
def test_commonest_of_several_reasons_comes_first(reasons: list[str | None], subject: str) -> None:
    message = written([rejected(number, reason) for number, reason in enumerate(reasons)])

    assert message.subject == subject


@pytest.mark.parametrize(
    ("before", "counted"),
    [
        ([State.REJECTED, State.REJECTED], "2 changed records"),
        ([None, State.REJECTED], "2 new or changed rejections"),
    ],
)
def test_changed_records_are_no_new_rejections(before: list[State | None], counted: str) -> None:
    message = written([rejected(number, before=each) for number, each in enumerate(before)])

    assert message.subject == f"ADD over its limit · {counted} · Linea"
    assert rows_of(message)[1]["change"] == "record changed"


def test_rejections_are_counted_by_reason_and_stage() -> None:
    late = a_record(tx_rejection_stage=RejectionStage.SEQUENCER, reason_message=MMU)
    changes = [rejected(number) for number in range(1, 4)]
    changes.append(rejected(4, rejection=a_rejection(record=late)))

    message = written(changes)

    assert (
        "      3  ADD over its limit, RPC\n      1  MMU over its limit, SEQUENCER\n" in message.text
    )
    assert "3 ADD over its limit RPC · 1 MMU over its limit SEQUENCER" in message.html


def test_line_names_label_hash_and_what_is_another_now() -> None:
    change = rejected(1, MMU, before=State.REJECTED, label="Case 1742")
    change = replace(change, previous=rejected(1).rejection)

    message = written([change, rejected(2)])

    assert (
        "2026-11-20 12:00:01 UTC  Case 1742 (0x0000…0001): Now MMU over its limit, RPC\n"
    ) in message.text


def test_changes_of_networks_are_not_lost_among_many_rejections() -> None:
    changes = [*(rejected(number) for number in range(1, 31)), BUSY, ENOUGH_SPACE]

    message = written(changes)

    where = "Linea and Linewatch itself"
    assert message.subject == f"ADD over its limit · 30 rejections, busy, enough space · {where}"
    assert message.text.index("Linea: fees changed to busy") < message.text.index("0x0000…0001")
    assert rows_of(message)[-1] | {"noticed_at": ""} == dict.fromkeys(rows_of(message)[0], "") | {
        "network_id": "0",
        "network": "none: this is about Linewatch itself",
        "change": "enough space",
        "transaction": "disk",
    }


def test_changes_of_networks_alone_begin_with_the_first() -> None:
    message = written([BUSY, ENOUGH_SPACE])

    where = "Linea and Linewatch itself"
    assert message.subject == f"Linea: fees changed to busy · enough space · {where}"
    assert message.text.startswith(f"2 changes on {where}.\n2026-11-20 12:00:00 UTC\n")
    assert "What they have in common" not in message.text + message.html


def test_times_name_their_day_where_there_are_several() -> None:
    changes = [rejected(1), rejected(86_400)]

    assert ">12:00:01 UTC</th>" in written(changes[:1] * 2).html
    assert ">2026-11-20 12:00:01 UTC</th>" in written(changes).html


def test_transaction_that_is_included_is_named_with_its_label() -> None:
    subject = Subject(SubjectKind.INCLUSION, ANOTHER_NETWORK, a_hash(7))
    transition = a_transition(
        7, subject=subject, after=State.INCLUDED, grounds=InclusionGrounds(71, is_successful=True)
    )
    changes = [NotifiedChange(transition, label="Case 1742"), BUSY]

    message = compose_gathered(gathered(changes), LINKING, changes)

    assert message.subject == (
        "Included in block 71 after it was rejected · Case 1742 · busy · Linea"
    )
    assert f'href="https://watch.example/lookup?tx={a_hash(7)}"' in message.html


def test_only_the_first_changes_of_networks_are_named() -> None:
    message = written([BUSY] * 25)

    assert message.text.count("fees changed to busy") == 20
    assert "… and 5 more." in message.text


@pytest.mark.parametrize(
    ("changes", "tone"),
    [
        ([ENOUGH_SPACE, BUSY], "notable"),
        ([ENOUGH_SPACE, BUSY, rejected(1)], "alarm"),
        ([ENOUGH_SPACE, ENOUGH_SPACE], "relief"),
    ],
)
def test_message_looks_as_bad_as_its_worst_change(changes: list[NotifiedChange], tone: str) -> None:
    assert f'class="card {tone}"' in written(changes).html


def test_rejections_of_several_networks_name_theirs() -> None:
    message = written([rejected(1), rejected(2, network=A_NETWORK)])

    assert "1  ADD over its limit, RPC, devnet\n" in message.text
    assert message.subject.endswith(" · 2 networks (simulated data)")
    assert "This is simulated data" in message.text


def test_rejection_whose_record_is_not_kept_is_counted_too() -> None:
    message = written([rejected(1, rejection=None), rejected(2, rejection=None)])

    assert message.subject == "reason not kept · 2 rejections · Linea"
    assert rows_of(message)[0]["sender"] == ""


def test_rejection_without_hash_is_named_as_well_as_it_can_be() -> None:
    change = rejected(1)
    nameless = replace(change.transition, subject=Subject(SubjectKind.TRANSACTION, ANOTHER_NETWORK))

    message = written([replace(change, transition=nameless), change])

    assert " UTC  no hash: ADD over" in message.text
    assert rows_of(message)[0]["transaction"] == "transaction"


def test_links_lead_to_each_transaction_and_to_all() -> None:
    changes = [rejected(1), BUSY]

    message = compose_gathered(gathered(changes), LINKING, changes)

    assert f'href="https://watch.example/lookup?tx={a_hash(1)}"' in message.html
    assert 'href="https://watch.example/health?network=59144"' in message.html
    assert "See them all: https://watch.example/alerts?network=59144\n" in message.text


def test_rule_of_the_incident_is_named() -> None:
    message = written([rejected(1), rejected(2)], incident=an_incident(rule="night shift"))

    assert "Rule: night shift\n" in message.text
    assert "Rule: night shift" in message.html


def test_table_has_all_that_is_known_of_a_rejection() -> None:
    change = rejected(1, label="Case 1742", attempted_at=A_MOMENT)

    [row, _] = rows_of(written([change, rejected(2)]))

    assert row == {
        "noticed_at": "2026-11-20T12:00:01+00:00",
        "network_id": "59144",
        "network": "Linea",
        "change": "rejected",
        "transaction": str(a_hash(1)),
        "label": "Case 1742",
        "attempted_at": "2026-11-20T12:00:00+00:00",
        "sender": "0x0000000000000000000000000000000000000001",
        "nonce": "5",
        "stage": "RPC",
        "module": "ADD",
        "count": "600000",
        "limit": "524288",
        "overrun": "1.14",
        "block": "",
        "dated": "2026-11-20T12:00:00+00:00",
        "first_seen_at": "2026-11-20T12:00:03+00:00",
        "reason": a_record().reason_message,
    }


def test_table_is_named_after_the_message() -> None:
    [table] = written([rejected(1), rejected(2)]).attachments

    assert (table.name, table.media_type) == ("linewatch-20261120-120030.csv", "text/csv")


@given(st.text(alphabet=st.characters(), max_size=60))
def test_foreign_text_stays_text_in_every_part(text: str) -> None:
    calm = written([rejected(1, "out of luck", label="x"), rejected(2)])

    message = written([rejected(1, f"=HYPERLINK(1) {text}", label=f"x{text}"), rejected(2)])

    assert len(message.text.splitlines()) == len(calm.text.splitlines())
    assert message.html.count("<") == calm.html.count("<")
    [first, _] = rows_of(message)
    assert first["reason"].startswith("'=HYPERLINK(1)")
    assert len(rows_of(message)) == 2


def test_changes_are_read_once_and_not_kept() -> None:
    def some() -> Iterator[NotifiedChange]:
        for number in range(500):
            yield rejected(number)

    first = rejected(0)

    message = compose_gathered(gathered([first], member_count=500), SILENT, some())

    assert len(rows_of(message)) == 500
    assert "… and 480 more." in message.text


def test_summary_says_how_incidents_stand_of_which_nothing_changed() -> None:
    at = A_MOMENT - seconds(600)
    stand = [
        an_incident(opened_at=at),
        an_incident(opened_at=at, state=IncidentState.ACKNOWLEDGED, owner="Ada"),
        an_incident(opened_at=at, state=IncidentState.RESOLVED, resolved_at=A_MOMENT),
    ]

    told = compose_gathered(gathered([BUSY]), SILENT, iter([BUSY]), stand)

    assert "1 reminder, 2 other incidents" in told.subject
    assert "nobody has acknowledged it for" in told.text
    assert "acknowledged by Ada" in told.text
    assert "resolved after 10 min" in told.text
