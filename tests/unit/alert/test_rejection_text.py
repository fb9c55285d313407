"""What a message says of a rejected transaction, and of a record that is another now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from dashboard.alert.rejection_text import (
    RejectionContext,
    describe_inclusion,
    describe_rejection,
)
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.incident import NotifiedChange
from dashboard.domain.alerts.kinds.kind import IncidentText
from dashboard.domain.alerts.kinds.rejections import InclusionGrounds
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import RejectionStage, StoredRejection
from dashboard.domain.rejections.line_limits import NO_TABLES, LimitsEnd, LineLimits, ModuleLimits
from dashboard.domain.tracking.statements import Statement
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    a_disputed_answer,
    a_record,
    a_rejection,
    a_transition,
    seconds,
)
from tests.golden_texts import GoldenTexts

TABLE = ModuleLimits("the table of Linea", "", "", {"MMU": 2_097_152})
WITH_TABLE = RejectionContext("Linea", LineLimits((TABLE,)), UTC)
AFTER_LIMITS = RejectionContext(
    "Linea", LineLimits((TABLE,), LimitsEnd(A_MOMENT - timedelta(days=1))), UTC
)
TX_HASH = TxHash.parse("0x2d6a" + "4b" * 28 + "800e")
ANSWER = a_disputed_answer(TX_HASH)
DISPUTED = tuple(Statement.of(each, A_MOMENT) for each in (ANSWER, *ANSWER.beside))
LINEA = RejectionContext("Linea", NO_TABLES, UTC)
IN_ZURICH = RejectionContext("Linea", NO_TABLES, ZoneInfo("Europe/Zurich"))


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


def included(grounds: InclusionGrounds | None) -> IncidentText:
    subject = Subject(SubjectKind.INCLUSION, A_NETWORK, TX_HASH)
    transition = a_transition(subject=subject, after=State.INCLUDED, grounds=grounds)
    return describe_inclusion(a_change(transition=transition, label="Case 1742"), LINEA)


def test_inclusions_read_as_they_were_reviewed(golden: GoldenTexts) -> None:
    texts = {
        "included": included(InclusionGrounds(1_234_567, is_successful=True)),
        "outcome unknown": included(InclusionGrounds(1_234_567, is_successful=None)),
        "failed": included(InclusionGrounds(1_234_567, is_successful=False)),
        "nobody knows where": included(None),
    }

    golden.check("inclusions_described", texts)


def test_rejections_read_as_they_were_reviewed(golden: GoldenTexts) -> None:
    last = version(
        over_limit(),
        tx_rejection_stage=RejectionStage.SEQUENCER,
        block_number=71,
        timestamp=A_MOMENT + timedelta(minutes=1),
    )
    first, unknown = version(over_limit()), version("out of luck")
    known = a_change(rejection=last, label="Case 1742", attempted_at=A_MOMENT - seconds(9))
    overnight = a_change(attempted_at=datetime(2026, 11, 20, 23, 30, tzinfo=UTC))
    nothing = dict.fromkeys(("sender", "nonce", "timestamp"))
    bare = version("out of luck", **nothing, tx_rejection_stage=RejectionStage.UNKNOWN)
    of_mmu = a_change(rejection=version("TX_MODULE_LINE_COUNT_OVERFLOW(MMU)"))
    nameless = a_transition(subject=Subject(SubjectKind.TRANSACTION, A_NETWORK))
    texts = {
        "all that is known": describe_rejection(known, LINEA),
        "without a label, read in Zurich": describe_rejection(overnight, IN_ZURICH),
        "no figures": describe_rejection(of_mmu, LINEA),
        "limit from the table of the network": describe_rejection(of_mmu, WITH_TABLE),
        "after the end of line limits": describe_rejection(of_mmu, AFTER_LIMITS),
        "reason that nobody knows": describe_rejection(a_change(rejection=unknown), LINEA),
        "nothing but a reason": describe_rejection(a_change(rejection=bare), LINEA),
        "no more than a reason before": changed_record(bare, unknown),
        "endpoints disagree": describe_rejection(a_change(statements=DISPUTED), LINEA),
        "reason with a share": describe_rejection(
            a_change(rejection=version(r"see \\host\share")), LINEA
        ),
        "no hash": describe_rejection(a_change(transition=nameless), LINEA),
        "no hash, but a label": describe_rejection(
            a_change(transition=nameless, label="Case 1742"), LINEA
        ),
        "another module now": changed_record(first, version(over_limit("MMU", 600_000))),
        "another stage now": changed_record(first, last),
        "another reason now, as it was sent": changed_record(first, unknown),
        "earlier record purged": changed_record(None, version(over_limit())),
    }

    golden.check("rejections_described", texts)


def test_limit_that_only_one_record_names_is_not_changed() -> None:
    transition = a_transition(before=State.REJECTED)
    before, now = version("TX_MODULE_LINE_COUNT_OVERFLOW(MMU)"), version(over_limit("MMU", 600_000))
    limits = ModuleLimits("devnet", "", "", {"MMU": 524_288})

    change = a_change(transition=transition, previous=before, rejection=now)
    text = describe_rejection(change, RejectionContext("Linea", LineLimits((limits,)), UTC))

    assert [label for label, _, _ in text.changed] == ["Count", "Overrun"]


@given(st.text(alphabet=st.characters(), max_size=200))
def test_label_stays_one_short_line(label: str) -> None:
    subject = describe_rejection(a_change(label=label), LINEA).subject

    assert subject.isprintable()
    assert len(subject) < 60 * 6 + 60
