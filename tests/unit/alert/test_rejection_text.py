"""What a message says of a rejected transaction, and of a record that is another now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.alert.change_text import IncidentText
from dashboard.alert.rejection_text import (
    RejectionContext,
    describe_inclusion,
    describe_rejection,
)
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.grounds import InclusionGrounds
from dashboard.domain.alerts.incident import NotifiedChange
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import RejectionStage, StoredRejection
from dashboard.domain.rejections.reasons import ModuleLimits
from tests.builders import A_MOMENT, A_NETWORK, a_record, a_rejection, a_transition, seconds

TX_HASH = TxHash.parse("0x2d6a" + "4b" * 28 + "800e")
LINEA = RejectionContext("Linea", None, UTC)
IN_ZURICH = RejectionContext("Linea", None, ZoneInfo("Europe/Zurich"))


def over_limit(module: str = "ADD", count: int = 676_000) -> str:
    return f"Transaction line count for module {module}={count} is above the limit 524288"


def a_change(**changes: Any) -> NotifiedChange:  # noqa: ANN401 - any field
    fields: dict[str, Any] = {
        "transition": a_transition(subject=Subject.transaction(A_NETWORK, TX_HASH)),
        "rejection": version(over_limit()),
    }
    return NotifiedChange(**(fields | changes))


def version(reason: str, **record: object) -> StoredRejection:
    return a_rejection(record=a_record(tx_hash=TX_HASH, reason_message=reason, **record))


def changed_record(before: StoredRejection | None, now: StoredRejection) -> IncidentText:
    transition = a_transition(
        subject=Subject.transaction(A_NETWORK, TX_HASH), before=State.REJECTED
    )
    change = a_change(transition=transition, previous=before, rejection=now, label="Case 1742")
    return describe_rejection(change, LINEA)


def rows(change: NotifiedChange, context: RejectionContext = LINEA) -> dict[str, str]:
    return dict(describe_rejection(change, context).rows)


@pytest.mark.parametrize(
    ("is_successful", "failed"),
    [(True, ""), (None, ""), (False, "; its execution failed there")],
)
def test_inclusion_names_the_block_and_whether_execution_failed(
    *, is_successful: bool | None, failed: str
) -> None:
    subject = Subject(SubjectKind.INCLUSION, A_NETWORK, TX_HASH)
    grounds = InclusionGrounds(1_234_567, is_successful)
    transition = a_transition(subject=subject, after=State.INCLUDED, grounds=grounds)

    text = describe_inclusion(a_change(transition=transition, label="Case 1742"), LINEA)

    assert text.subject == "Included in block 1,234,567 after it was rejected · Case 1742 · Linea"
    assert text.opening == (
        "Case 1742 (0x2d6a…800e) is in block 1,234,567 of Linea, although a node rejected it "
        f"before{failed}."
    )
    assert ("Transaction", str(TX_HASH)) in text.rows


def test_inclusion_without_a_block_is_said_without_one() -> None:
    subject = Subject(SubjectKind.INCLUSION, A_NETWORK, TX_HASH)
    change = a_change(transition=a_transition(subject=subject, after=State.INCLUDED))

    assert "in a block of Linea" in describe_inclusion(change, LINEA).opening


def test_subject_says_the_reason_first_then_label_and_network() -> None:
    text = describe_rejection(a_change(label="Case 1742"), LINEA)

    assert text.subject == "ADD over its limit 1.29 × · Case 1742 · Linea"


def test_list_of_mails_shows_figures_and_not_the_subject_again() -> None:
    text = describe_rejection(a_change(attempted_at=A_MOMENT - seconds(9)), LINEA)

    assert text.preheader == (
        "676,000 lines, limit 524,288 · stage RPC · attempted 2026-11-20 11:59:51 UTC · 0x2d6a…800e"
    )


@pytest.mark.parametrize(
    ("reason", "preheader"),
    [
        ("TX_MODULE_LINE_COUNT_OVERFLOW(MMU)", "The transaction needs more lines in the prover"),
        ("out of luck", "The network gave a reason that Linewatch does not know"),
    ],
)
def test_reason_without_figures_is_explained_instead(reason: str, preheader: str) -> None:
    text = describe_rejection(a_change(rejection=version(reason)), LINEA)

    assert text.preheader.startswith(preheader)


def test_limit_of_the_network_stands_where_the_reason_names_none() -> None:
    limits = ModuleLimits("the table of Linea", "", "", {"MMU": 2_097_152})
    change = a_change(rejection=version("TX_MODULE_LINE_COUNT_OVERFLOW(MMU)"))

    text = describe_rejection(change, RejectionContext("Linea", limits, UTC))

    assert dict(text.rows)["Limit"] == "2,097,152 lines, from the table of Linea"
    assert text.preheader.startswith("limit 2,097,152 · stage RPC")


def test_lines_name_all_that_is_known() -> None:
    record = version(over_limit(), tx_rejection_stage=RejectionStage.SEQUENCER, block_number=71)
    change = a_change(rejection=record, label="Case 1742", attempted_at=A_MOMENT - seconds(9))

    assert rows(change) == {
        "Label": "Case 1742",
        "Transaction": str(TX_HASH),
        "Sender": "0x0000000000000000000000000000000000000001",
        "Nonce": "5",
        "Attempted": "2026-11-20 11:59:51 UTC",
        "Module": "ADD",
        "Count": "676,000 lines",
        "Limit": "524,288 lines",
        "Overrun": "1.29 ×",
        "Stage": "SEQUENCER",
        "Block": "71",
        "Dated": "2026-11-20 12:00:00 UTC, as the node claims",
        "First seen": "2026-11-20 12:00:03 UTC, by Linewatch",
    }


def test_times_are_in_utc_and_in_the_zone_of_the_recipient() -> None:
    change = a_change(attempted_at=datetime(2026, 11, 20, 23, 30, tzinfo=UTC))

    found = rows(change, IN_ZURICH)

    assert found["Attempted"] == ("2026-11-20 23:30:00 UTC (2026-11-21 00:30:00 in Europe/Zurich)")
    assert found["First seen"] == (
        "2026-11-20 12:00:03 UTC (13:00:03 in Europe/Zurich), by Linewatch"
    )


def test_transaction_without_label_is_named_by_its_hash() -> None:
    text = describe_rejection(a_change(), LINEA)

    assert text.subject.split(" · ")[1] == "0x2d6a…800e"
    assert text.opening.startswith("Transaction 0x2d6a…800e was rejected on Linea: ")


def test_label_stands_beside_the_short_hash() -> None:
    text = describe_rejection(a_change(label="Case 1742"), LINEA)

    assert text.opening.startswith("Case 1742 (0x2d6a…800e) was rejected on Linea: ")


@pytest.mark.parametrize(("label", "name"), [("", "A transaction"), ("Case 1742", "Case 1742")])
def test_rejection_without_hash_is_named_as_well_as_it_can_be(label: str, name: str) -> None:
    transition = a_transition(subject=Subject(SubjectKind.TRANSACTION, A_NETWORK))

    text = describe_rejection(a_change(transition=transition, label=label), LINEA)

    assert text.opening.startswith(f"{name} was rejected on Linea: ")
    assert text.subject == f"ADD over its limit 1.29 × · {label or 'no hash'} · Linea"


def test_other_module_is_news_with_old_and_new() -> None:
    text = changed_record(version(over_limit()), version(over_limit("MMU", 600_000)))

    assert text.subject == "Now MMU over its limit 1.14 × · Case 1742 · Linea"
    assert text.opening == (
        "Case 1742 (0x2d6a…800e) now has another record on Linea: MMU over its limit 1.14 ×."
    )
    assert text.changed == (
        ("Module", "ADD", "MMU"),
        ("Count", "676,000 lines", "600,000 lines"),
        ("Overrun", "1.29 ×", "1.14 ×"),
    )
    assert text.preheader.startswith("Module ADD → MMU · Count 676,000 lines → 600,000 lines")


def test_other_stage_is_named_after_the_reason_that_stays() -> None:
    later = version(
        over_limit(),
        tx_rejection_stage=RejectionStage.SEQUENCER,
        block_number=71,
        timestamp=A_MOMENT + timedelta(minutes=1),
    )

    text = changed_record(version(over_limit()), later)

    assert text.subject == "ADD over its limit 1.29 ×, stage changed · Case 1742 · Linea"
    assert text.changed == (
        ("Stage", "RPC", "SEQUENCER"),
        ("Block", "–", "71"),
        ("Dated", "2026-11-20 12:00:00 UTC", "2026-11-20 12:01:00 UTC"),
    )


def test_reason_that_is_no_line_limit_is_compared_as_it_was_sent() -> None:
    text = changed_record(version(over_limit()), version("out of luck"))

    assert text.changed[0] == ("Reason", "–", "out of luck")
    assert ("Module", "ADD", "–") in text.changed


def test_earlier_record_that_is_purged_is_said_to_be() -> None:
    text = changed_record(None, version(over_limit()))

    assert text.subject == "Changed: ADD over its limit 1.29 × · Case 1742 · Linea"
    assert text.remark.startswith("The previous record is no longer stored")
    assert text.changed == ()


@given(st.text(alphabet=st.characters(), max_size=200))
def test_label_stays_one_short_line(label: str) -> None:
    subject = describe_rejection(a_change(label=label), LINEA).subject

    assert subject.isprintable()
    assert len(subject) < 60 * 6 + 60
