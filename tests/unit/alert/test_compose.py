"""What a message says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.alert.compose import Links, MessageFacts, MessageTemplates, NetworkName, compose
from dashboard.alert.message import Message
from dashboard.alert.message_writer import load_templates
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.grounds import Grounds
from dashboard.domain.alerts.incident import IncidentEvent, IncidentEventKind, NotifiedChange
from dashboard.domain.alerts.notification import NotificationKind
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.exclusion import RejectedTransaction, RejectionStage
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_notification,
    a_record,
    a_rejection,
    a_transition,
    an_incident,
    seconds,
)
from tests.mail_sample_changes import MEASURED

TX_HASH = TxHash.parse("0x2d6a" + "4b" * 28 + "800e")
NAMES = {A_NETWORK: NetworkName("devnet", is_simulated=True), ANOTHER_NETWORK: NetworkName("Linea")}
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


def test_subject_names_reason_transaction_and_network_in_this_order() -> None:
    reason = "Transaction line count for module MMU=2163904 is above the limit 2097152"

    message = message_about(a_record(tx_hash=TX_HASH, reason_message=reason))

    assert message.subject == "MMU over its limit 1.03 × · 0x2d6a…800e · Linea"


@pytest.mark.parametrize(
    ("reason", "headline"),
    [
        ("TX_MODULE_LINE_COUNT_OVERFLOW(MMU)", "MMU over its limit"),
        ("TX_MODULE_LINE_COUNT_OVERFLOW", "more proof lines than a block holds"),
        (
            "Transaction line count for module PRECOMPILE_BLAKE_ROUNDS=1 is above the limit 0",
            "PRECOMPILE_BLAKE_ROUNDS is not supported",
        ),
        ("Module XYZ does not exist in the limits file.", "no limit known for XYZ"),
        (
            "Internal Error: do not know what to do with result: INVALID_LINE_COUNT",
            "proof lines could not be counted",
        ),
        ("out of luck", "unknown reason"),
    ],
)
def test_every_form_of_reason_has_a_headline(reason: str, headline: str) -> None:
    message = message_about(a_record(reason_message=reason))

    assert message.subject.startswith(f"{headline} · ")


def test_first_line_says_what_changed() -> None:
    message = message_about(a_record(tx_hash=TX_HASH))

    assert message.text.splitlines()[0] == (
        "Transaction 0x2d6a…800e was rejected on Linea: ADD over its limit 1.14 ×."
    )


@pytest.mark.parametrize(
    "fact",
    [
        str(TX_HASH),
        "Linea",
        "0x0000000000000000000000000000000000000001",
        "18446744073709551614",
        "SEQUENCER",
        "2026-11-20 12:00:00 UTC, as the node claims",
        "2026-11-20 12:00:03 UTC, by Linewatch",
        "123456",
        "The transaction needs 600,000 lines in the prover module ADD",
        "Split the work",
        "send another transaction with nonce 18446744073709551614",
        "Transaction line count for module ADD=600000 is above the limit 524288",
        "Linewatch noticed this on 2026-11-20 12:00:04 UTC",
    ],
)
def test_both_parts_tell_every_fact(fact: str) -> None:
    record = a_record(
        tx_hash=TX_HASH,
        nonce=2**64 - 2,
        tx_rejection_stage=RejectionStage.SEQUENCER,
        block_number=123456,
    )

    message = message_about(record)

    assert fact in message.text
    assert fact in message.html


def test_message_says_that_a_claimed_time_cannot_be_true() -> None:
    message = message_about(a_record(timestamp=A_MOMENT + seconds(86_400 * 800)))

    assert "as the node claims. This time was in the future when it arrived" in message.text
    assert "the node&#39;s clock is wrong" in message.html


def test_block_is_left_out_where_there_is_none() -> None:
    message = message_about(a_record(block_number=None))

    assert "Block" not in message.text
    assert "Block" not in message.html.partition("</style>")[2]


def test_link_leads_to_the_lookup_page() -> None:
    message = message_about(a_record(tx_hash=TX_HASH), templates=LINKING)

    address = f"https://watch.example/lookup?tx={TX_HASH}"
    assert f"Look it up: {address}\n" in message.text
    assert f'href="{address}"' in message.html


def test_message_holds_no_link_without_a_public_address() -> None:
    message = message_about(a_record())

    assert "://" not in message.text + message.html


def test_simulated_network_says_so_in_subject_and_both_parts() -> None:
    message = message_about(a_record(), network=A_NETWORK)

    assert "(simulated data)" in message.subject
    assert "This is simulated data" in message.text
    assert "<strong>Simulated data.</strong>" in message.html


def test_real_network_says_nothing_of_simulation() -> None:
    message = message_about(a_record())

    assert "imulated data" not in message.subject + message.text + message.html


def test_network_that_left_the_configuration_is_told_by_its_id() -> None:
    message = message_about(a_record(), network=NetworkId(1))

    assert message.subject.endswith(" · network 1")


def test_html_in_a_reason_is_inert() -> None:
    message = message_about(a_record(reason_message='<img src=x onerror="alert(1)">'))

    assert "<img" not in message.html
    assert "&lt;img src=x onerror=&#34;alert(1)&#34;&gt;" in message.html


def test_reason_makes_no_link_and_says_that_it_would_have() -> None:
    message = message_about(a_record(reason_message="see https://evil.example/login"))

    for part in (message.text, message.html):
        assert "evil.example" not in part
        assert "see https[:]//evil[.]example/login" in part
        assert "The reason as sent, its links broken" in part


HOSTILE = "see https://evil.example/login"


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
    change = NotifiedChange(about.transition, about.rejection, label=HOSTILE)

    message = compose(
        about,
        SILENT,
        MessageFacts(change, event=event, muted=(HOSTILE,) if kind == "change" else ()),
    )

    for part in (message.subject, message.text, message.html):
        assert "evil.example" not in part
        assert "https:" not in part


@pytest.mark.parametrize(("kind", "after", "grounds"), MEASURED.values(), ids=MEASURED)
def test_no_measured_change_makes_a_link_of_its_rule_or_what_it_measured(
    kind: SubjectKind, after: State, grounds: Grounds
) -> None:
    foreign = {"value": HOSTILE, "reason": HOSTILE, "outcome": HOSTILE, "what": HOSTILE}
    texts: Any = {name: foreign[name] for name in foreign if hasattr(grounds, name)}
    hostile = replace(grounds, **texts)
    subject = Subject(kind, ANOTHER_NETWORK, None, HOSTILE, HOSTILE)

    message = compose(
        a_notification(
            transition=a_transition(subject=subject, after=after, grounds=hostile), rejection=None
        ),
        SILENT,
    )

    for part in (message.subject, message.text, message.html):
        assert "evil.example" not in part
        assert "https:" not in part


def test_template_syntax_in_a_reason_is_shown_as_it_is() -> None:
    message = message_about(a_record(reason_message="{{ 7 * 7 }}{% raw %}"))

    assert "{{ 7 * 7 }}{% raw %}" in message.text


@given(st.text(alphabet=st.characters(), max_size=60))
def test_reason_starts_no_line_of_its_own(reason: str) -> None:
    calm = message_about(a_record(reason_message="out of luck"))

    message = message_about(a_record(reason_message=f"out of luck {reason}"))

    assert message.subject == calm.subject
    assert len(message.text.splitlines()) == len(calm.text.splitlines())
    assert message.html.count("<") == calm.html.count("<")


def test_same_notification_gives_the_same_message() -> None:
    assert message_about(a_record()) == message_about(a_record())


def test_transition_without_a_rejection_still_makes_a_message() -> None:
    message = compose(a_notification(rejection=None), LINKING)

    assert "was rejected on devnet: a rejection was recorded." in message.text
    assert "A rejection was recorded" in message.html


def test_rejection_without_a_hash_still_makes_a_message() -> None:
    subject = Subject(SubjectKind.TRANSACTION, A_NETWORK)

    message = compose(
        a_notification(transition=a_transition(subject=subject), rejection=None), LINKING
    )

    assert "Look it up" not in message.text


def test_changed_record_says_that_it_is_no_new_rejection() -> None:
    transition = a_transition(before=State.REJECTED)

    message = compose(a_notification(transition=transition), SILENT)

    assert message.subject.startswith("Changed: ADD over its limit")
    assert message.text.startswith("Transaction 0x0000…0001 now has another record on devnet: ")
    assert "Record changed on devnet" in message.html


def test_message_says_what_the_store_knows_of_the_transaction() -> None:
    notification = a_notification()
    known = NotifiedChange(
        notification.transition, notification.rejection, label="<b>Case 1742</b>"
    )

    message = compose(notification, SILENT, MessageFacts(known))

    assert message.subject == (
        "ADD over its limit 1.14 × · <b>Case 1742</b> · devnet (simulated data)"
    )
    assert "Label          <b>Case 1742</b>" in message.text
    assert "<td>&lt;b&gt;Case 1742&lt;/b&gt;</td>" in message.html


def test_mail_without_links_says_what_is_missing() -> None:
    silent, linking = (message_about(a_record(), templates=each) for each in (SILENT, LINKING))

    assert "There are no links here: set public_url in [pages]" in silent.text
    assert "There are no links here" in silent.html
    assert "no links" not in linking.text + linking.html


def test_note_that_an_incident_is_closed_is_no_alarm() -> None:
    notification = a_notification(kind=NotificationKind.CLOSED, incident=an_incident())
    change = NotifiedChange(notification.transition, notification.rejection, None)
    event = IncidentEvent(
        A_MOMENT, IncidentEventKind.RESOLVED, actor="Ada\u202e", note="its rule was removed"
    )

    message = compose(notification, SILENT, MessageFacts(change, event=event))

    assert message.subject.startswith("Closed: ADD over its limit")
    assert message.text.splitlines()[0] == (
        "Ada\\u202e changed the rules, which closed this, 0 s after it began on "
        "2026-11-20 12:00:00 UTC. Note: \u201cits rule was removed\u201d. "
        "Nobody is notified of it any more."
    )
    assert "What to do next" not in message.text
    assert 'class="card relief"' in message.html
    assert '<div class="preheader">Ada\\u202e changed the rules' in message.html


def test_rules_that_cannot_be_judged_meanwhile_are_named() -> None:
    notification = a_notification()
    change = NotifiedChange(notification.transition, notification.rejection, None)

    message = compose(notification, SILENT, MessageFacts(change, muted=("night", "dear")))

    said = "While this lasts, these rules cannot be judged: night, dear."
    assert said in message.text
    assert said in message.html


def test_address_is_confirmed_by_a_signed_link() -> None:
    links = Links("https://watch.example", b"a key of this test")

    link = links.verify(a_notification().recipient, A_MOMENT)

    assert link.startswith("https://watch.example/link/")


def test_command_in_a_step_is_code_in_html_and_stays_text() -> None:
    incident = an_incident(incident_id=UUID(int=0x3F9C2A10 << 96))
    reminder = a_notification(kind=NotificationKind.REMINDER, incident=incident)

    message = compose(reminder, SILENT)

    assert "`linewatch alerts acknowledge 3f9c2a10`" in message.text
    assert '<span class="code">linewatch alerts acknowledge 3f9c2a10</span>' in message.html
