"""What a message says."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dashboard.alert.compose import Links, MessageContext, MessageTemplates, NetworkName, compose
from dashboard.alert.grouped_text import compose_grouped
from dashboard.alert.message import Message
from dashboard.alert.message_writer import load_templates
from dashboard.domain.alerts.condition import Grounds, State, Subject, SubjectKind
from dashboard.domain.alerts.incident import IncidentEvent, IncidentEventKind
from dashboard.domain.alerts.notification import Notification, NotificationKind
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.exclusion import RejectedTransaction, RejectionStage
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    DAY,
    a_notification,
    a_record,
    a_rejection,
    a_transition,
    an_incident,
    seconds,
)
from tests.golden_texts import GoldenTexts
from tests.mail_sample_changes import MEASURED
from tests.read_messages import as_read

TX_HASH = TxHash.parse("0x2d6a" + "4b" * 28 + "800e")
NAMES = {A_NETWORK: NetworkName("devnet", is_simulated=True), ANOTHER_NETWORK: NetworkName("Linea")}
UNSUPPORTED = "Transaction line count for module PRECOMPILE_BLAKE_ROUNDS=1 is above the limit 0"
UNCOUNTED = "Internal Error: do not know what to do with result: INVALID_LINE_COUNT"
SILENT = load_templates(NAMES, Links())
LINKING = load_templates(NAMES, Links("https://watch.example/"))


def message_about(
    record: RejectedTransaction,
    network: NetworkId = ANOTHER_NETWORK,
    templates: MessageTemplates = SILENT,
) -> Message:
    subject = Subject.transaction(network, record.tx_hash)
    return compose(
        a_notification(
            transition=a_transition(subject=subject, at=A_MOMENT + seconds(4)),
            rejection=a_rejection(record=record),
        ),
        templates,
    )


def of_reason(reason: str, **record: Any) -> Message:  # noqa: ANN401 - any field
    return message_about(a_record(tx_hash=TX_HASH, reason_message=reason, **record))


def in_context(notification: Notification, **known: Any) -> Message:  # noqa: ANN401 - any field
    return compose(notification, SILENT, MessageContext(notification.first, **known))


def test_messages_of_rejections_read_as_they_were_reviewed(golden: GoldenTexts) -> None:
    whole = a_record(
        tx_hash=TX_HASH,
        nonce=2**64 - 2,
        tx_rejection_stage=RejectionStage.SEQUENCER,
        block_number=123456,
    )
    nameless = a_transition(subject=Subject(SubjectKind.TRANSACTION, A_NETWORK))
    closed = a_notification(kind=NotificationKind.CLOSED, incident=an_incident())
    by_ada = IncidentEvent(
        A_MOMENT, IncidentEventKind.RESOLVED, actor="Ada\u202e", note="its rule was removed"
    )
    messages = {
        "all that a record has": message_about(whole),
        "with links": message_about(whole, templates=LINKING),
        "on a simulated network": message_about(whole, A_NETWORK),
        "on a network that left the configuration": message_about(whole, NetworkId(1)),
        "dated in the future": message_about(a_record(timestamp=A_MOMENT + 800 * DAY)),
        "module without figures": of_reason("TX_MODULE_LINE_COUNT_OVERFLOW(MMU)"),
        "too many lines, of no module": of_reason("TX_MODULE_LINE_COUNT_OVERFLOW"),
        "module that is not supported": of_reason(UNSUPPORTED),
        "module without a limit": of_reason("Module XYZ does not exist in the limits file."),
        "lines not counted": of_reason(UNCOUNTED),
        "reason that nobody knows": of_reason("out of luck"),
        "record not kept": compose(a_notification(rejection=None), LINKING),
        "no hash": compose(a_notification(transition=nameless, rejection=None), LINKING),
        "changed record": compose(
            a_notification(transition=a_transition(before=State.REJECTED)), SILENT
        ),
        "incident closed with its rule": in_context(closed, events=(by_ada,)),
        "rules that cannot be evaluated": in_context(a_notification(), inhibited=("night", "dear")),
    }

    golden.check("messages_of_rejections", {title: as_read(messages[title]) for title in messages})


HOSTILE = "see https://evil.example/login {{ 7 * 7 }}"


def assert_inert(message: Message) -> None:
    """Fail if foreign text is a link, or was taken for a template."""
    for part in (message.subject, message.text, message.html):
        assert "evil.example" not in part
        assert "https:" not in part
        assert "see 49" not in part


def test_reason_makes_no_link_and_says_that_it_would_have() -> None:
    message = message_about(a_record(reason_message=HOSTILE))

    assert_inert(message)
    for part in (message.text, message.html):
        assert "see https[:]//evil[.]example/login {{ 7 * 7 }}" in part
        assert "The reason as sent, its links disabled" in part


@pytest.mark.parametrize("kind", NotificationKind)
def test_nothing_that_others_wrote_is_a_link_whatever_a_message_is_about(
    kind: NotificationKind,
) -> None:
    incident = an_incident(
        rule=HOSTILE,
        owner=HOSTILE,
        severity="critical",
        transitions=2,
        group=(("network", str(ANOTHER_NETWORK)), ("label", HOSTILE)),
    )
    about = a_notification(kind=kind, incident=incident, created_at=A_MOMENT + seconds(60))
    event = IncidentEvent(
        about.created_at,
        IncidentEventKind.ACKNOWLEDGED,
        actor=HOSTILE,
        note=HOSTILE,
        owner=HOSTILE,
    )
    change = replace(about.first, label=HOSTILE)
    inhibited = (HOSTILE,) if kind == "change" else ()

    context = MessageContext(change, events=(event,), inhibited=inhibited)
    assert_inert(compose(about, SILENT, context))
    assert_inert(compose_grouped(replace(about, incident=None), SILENT, [change], events=(event,)))


@pytest.mark.parametrize(("kind", "after", "grounds"), MEASURED.values(), ids=MEASURED)
def test_no_measured_change_makes_a_link_of_its_rule_or_what_it_measured(
    kind: SubjectKind, after: State, grounds: Grounds
) -> None:
    foreign = {"value": HOSTILE, "reason": HOSTILE, "outcome": HOSTILE, "what": HOSTILE}
    texts: Any = {name: foreign[name] for name in foreign if hasattr(grounds, name)}
    subject = Subject(kind, ANOTHER_NETWORK, None, HOSTILE, HOSTILE)
    transition = a_transition(subject=subject, after=after, grounds=replace(grounds, **texts))

    assert_inert(compose(a_notification(transition=transition, rejection=None), SILENT))


@settings(max_examples=25)
@given(st.text(alphabet=st.characters(), max_size=60))
def test_reason_starts_no_line_of_its_own(reason: str) -> None:
    calm = message_about(a_record(reason_message="out of luck"))

    message = message_about(a_record(reason_message=f"out of luck {reason}"))

    assert message.subject == calm.subject
    assert len(message.text.splitlines()) == len(calm.text.splitlines())
    assert message.html.count("<") == calm.html.count("<")


def test_label_stands_in_the_message_as_text() -> None:
    notification = a_notification()
    known = replace(notification.first, label="<b>Case 1742</b>")

    message = compose(notification, SILENT, MessageContext(known))

    assert message.subject == ("ADD over limit 1.14 × · <b>Case 1742</b> · devnet (simulated data)")
    assert "Label          <b>Case 1742</b>" in message.text
    assert "<td>&lt;b&gt;Case 1742&lt;/b&gt;</td>" in message.html


def test_command_in_a_step_is_code_in_html_and_stays_text() -> None:
    incident = an_incident(incident_id=UUID(int=0x3F9C2A10 << 96))
    reminder = a_notification(kind=NotificationKind.REMINDER, incident=incident)

    message = compose(reminder, SILENT)

    assert "`linewatch alerts acknowledge 3f9c2a10`" in message.text
    assert '<span class="code">linewatch alerts acknowledge 3f9c2a10</span>' in message.html
