"""What a message about several changes says: counts, the first in its text, all in its table."""

from __future__ import annotations

import csv
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dashboard.alert.compose import Links, NetworkName
from dashboard.alert.grouped_text import compose_grouped
from dashboard.alert.message import Message
from dashboard.alert.message_writer import load_templates
from dashboard.domain.alerts.condition import INSTALLATION, State, Subject, SubjectKind
from dashboard.domain.alerts.incident import IncidentState, NotifiedChange
from dashboard.domain.alerts.kinds.rejections import InclusionGrounds
from dashboard.domain.alerts.notification import Notification
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.tracking.statements import Statement
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_disputed_answer,
    a_hash,
    a_notification,
    a_record,
    a_rejection,
    a_transition,
    an_incident,
    seconds,
)
from tests.golden_texts import GoldenTexts
from tests.read_messages import as_read

NAMES = {A_NETWORK: NetworkName("devnet", is_simulated=True), ANOTHER_NETWORK: NetworkName("Linea")}
SILENT = load_templates(NAMES, Links())
LINKING = load_templates(NAMES, Links("https://watch.example/"))
MMU = "TX_MODULE_LINE_COUNT_OVERFLOW(MMU)"


def grouped(changes: list[NotifiedChange], **fields: Any) -> Notification:  # noqa: ANN401 - any field
    known = {"member_count": len(changes), "closed_at": A_MOMENT + seconds(30)}
    return a_notification(transition=changes[0].transition, **(known | fields))


def written(changes: list[NotifiedChange], **fields: Any) -> Message:  # noqa: ANN401 - any field
    return compose_grouped(grouped(changes, **fields), SILENT, iter(changes))


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


def whole(message: Message) -> str:
    """Return a message as people read it, and its table."""
    [table] = message.attachments
    return f"{as_read(message)}\n{table.content.decode('utf-8-sig')}"


def of_reasons(*reasons: str | None) -> Message:
    return written([rejected(number, reason) for number, reason in enumerate(reasons)])


def of_records(*before: State | None) -> Message:
    return written([rejected(number, before=each) for number, each in enumerate(before)])


def with_another_record() -> Message:
    """Return the message in which one record is another now, at another stage."""
    change = rejected(1, MMU, before=State.REJECTED, label="Case 1742", attempted_at=A_MOMENT)
    answer = a_disputed_answer(a_hash(3))
    disputed = tuple(Statement.of(each, A_MOMENT) for each in (answer, *answer.beside))
    late = a_record(tx_rejection_stage=RejectionStage.SEQUENCER, reason_message=MMU)
    changes = [
        replace(change, previous=rejected(1).rejection),
        rejected(2, rejection=a_rejection(record=late)),
        rejected(3, statements=disputed),
    ]
    return written(changes)


def with_an_included_one() -> Message:
    subject = Subject(SubjectKind.INCLUSION, ANOTHER_NETWORK, a_hash(7))
    transition = a_transition(
        7, subject=subject, after=State.INCLUDED, grounds=InclusionGrounds(71, is_successful=True)
    )
    changes = [NotifiedChange(transition, label="Case 1742"), BUSY, rejected(1)]
    return compose_grouped(grouped(changes), LINKING, changes)


def without_hash() -> Message:
    change = rejected(1)
    subject = Subject(SubjectKind.TRANSACTION, ANOTHER_NETWORK)
    return written(
        [replace(change, transition=replace(change.transition, subject=subject)), change]
    )


def with_incidents_as_they_stand() -> Message:
    at = A_MOMENT - seconds(600)
    stand = [
        an_incident(opened_at=at),
        an_incident(opened_at=at, state=IncidentState.ACKNOWLEDGED, owner="Ada"),
        an_incident(opened_at=at, state=IncidentState.RESOLVED, resolved_at=A_MOMENT),
    ]
    return compose_grouped(grouped([BUSY]), SILENT, iter([BUSY]), stand)


def test_messages_of_several_changes_read_as_they_were_reviewed(golden: GoldenTexts) -> None:
    two, many = [rejected(1), rejected(2)], [rejected(number) for number in range(1, 31)]
    messages = {
        "three of one reason": of_reasons(None, None, None),
        "more in a thread": written(two, in_reply_to="<1@watch.example>"),
        "two reasons": of_reasons(None, None, MMU),
        "three reasons": of_reasons(MMU, "out of luck", MMU, None),
        "changed records": of_records(State.REJECTED, State.REJECTED),
        "new and changed records": of_records(None, State.REJECTED),
        "another record now": with_another_record(),
        "over two days": written([rejected(1), rejected(86_400)]),
        "of two networks": written([rejected(1), rejected(2, network=A_NETWORK)]),
        "of a simulated network": written([rejected(n, network=A_NETWORK) for n in (1, 2)]),
        "of a rule": written(two, incident=an_incident(rule="night shift")),
        "records not kept": written([rejected(1, rejection=None), rejected(2, rejection=None)]),
        "without a hash": without_hash(),
        "included, busy and rejected, with links": with_an_included_one(),
        "changes of networks alone": written([BUSY, ENOUGH_SPACE]),
        "good news alone": written([ENOUGH_SPACE, ENOUGH_SPACE]),
        "networks among many rejections": written([*many, BUSY, ENOUGH_SPACE]),
        "incidents as they stand": with_incidents_as_they_stand(),
    }

    tables = {
        "another record now",
        "records not kept",
        "without a hash",
        "changes of networks alone",
    }
    texts = {title: (whole if title in tables else as_read)(messages[title]) for title in messages}

    golden.check("messages_of_several", texts)


def test_reminders_are_of_incidents_that_nobody_owns() -> None:
    beside = [an_incident(), an_incident(), an_incident(owner="Ada")]

    message = compose_grouped(grouped([BUSY]), SILENT, iter([BUSY]), beside)

    assert message.subject.split(" · ")[1] == "2 reminders, 1 other incident"


def rows_of(message: Message) -> list[dict[str, str]]:
    (table,) = message.attachments
    return list(csv.DictReader(table.content.decode("utf-8-sig").splitlines()))


def test_first_twenty_are_named_and_all_stand_in_the_table() -> None:
    message = written([rejected(number) for number in range(1, 31)])

    for part in (message.text, message.html):
        assert "0x00000000…000014" in part
        assert "0x00000000…000015" not in part
        assert "… and 10 more." in part
    assert [row["transaction"] for row in rows_of(message)] == [
        str(a_hash(number)) for number in range(1, 31)
    ]


def test_only_the_first_changes_of_networks_are_named() -> None:
    message = written([BUSY] * 25)

    assert message.text.count("busyness changed to busy") == 20
    assert "… and 5 more." in message.text
    assert message.subject == "Linea: busyness changed to busy · 24 other changes · Linea"
    assert [written([BUSY] * many).subject for many in (3, 4)] == [
        "Linea: busyness changed to busy · busy, busy · Linea",
        "Linea: busyness changed to busy · 3 other changes · Linea",
    ]


def test_what_is_not_named_is_counted_below_its_own_list() -> None:
    message = written([*[BUSY] * 25, rejected(1)])

    others, rejections = message.text.split("By reason")
    assert others.rstrip().endswith("\n… and 5 more.")
    assert "One by one" in rejections
    for part in (message.text, message.html):
        assert part.count("more.") == 1
        assert "The first" not in part


def test_table_says_when_a_change_was_noticed_not_since_when_it_was_so() -> None:
    since = replace(BUSY.transition, since=A_MOMENT - seconds(600))

    [row] = rows_of(written([replace(BUSY, transition=since)]))

    assert row["noticed_at"] == A_MOMENT.isoformat()


def test_period_covers_the_times_in_the_lists_with_their_days() -> None:
    noticed = A_MOMENT + seconds(12 * 3600 + 20)
    late = replace(BUSY.transition, at=noticed, since=noticed - seconds(30))

    message = written([replace(BUSY, transition=late), rejected(12 * 3600 + 40)])

    assert "\n2026-11-20 23:59:50 UTC to 2026-11-21 00:00:40 UTC\n" in message.text
    assert ">2026-11-20 23:59:50 UTC<" in message.html


def test_table_is_named_after_the_message() -> None:
    [table] = written([rejected(1), rejected(2)]).attachments

    assert (table.name, table.media_type) == ("linewatch-20261120-120030.csv", "text/csv")


@settings(max_examples=25)
@given(st.text(alphabet=st.characters(), max_size=60))
def test_foreign_text_stays_text_in_every_part(text: str) -> None:
    calm = written([rejected(1, "out of luck", label="x"), rejected(2)])

    message = written([rejected(1, f"=HYPERLINK(1) {text}", label=f"x{text}"), rejected(2)])

    assert len(message.text.splitlines()) == len(calm.text.splitlines())
    assert message.html.count("<") == calm.html.count("<")
    [first, _] = rows_of(message)
    assert first["reason"].startswith("'=HYPERLINK(1)")
    assert len(rows_of(message)) == 2


def test_message_that_comes_late_does_not_say_that_its_changes_were_noticed_late() -> None:
    text = written([rejected(0), rejected(1)], closed_at=A_MOMENT + seconds(3600)).text

    assert "2026-11-20 12:00:00 UTC to 2026-11-20 12:00:01 UTC" in text
    assert "Linewatch wrote this on 2026-11-20 13:00:00 UTC." in text
    assert "noticed" not in text
