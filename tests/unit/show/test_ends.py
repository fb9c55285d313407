"""Lookup of transactions that came to an end: included after all, or replaced."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest

from dashboard.application.application import Application
from dashboard.application.customer_answers import AnswerContext, answer_text
from dashboard.application.transaction_summary import NetworkFinding, TransactionSummary
from dashboard.domain.quantity import Address, TxHash
from dashboard.domain.rejections.answer_template import Voice
from dashboard.domain.rejections.line_limits import LineLimits, ModuleLimits
from dashboard.domain.tracking.inclusion import Inclusion, InclusionAnswer, InclusionQuestion
from dashboard.domain.tracking.verdict import VerdictKind
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.follow_ups import record_inclusion_answers
from tests.browser.seeded_store import SILENT, SIMULATED, tx_hash
from tests.builders import A_MOMENT as NOW
from tests.builders import MINUTE, a_record
from tests.saved_record import save_record
from tests.unit.show.page_runs import open_page, words_of

LIMITS: Final = ModuleLimits("Devnet", "2026-05-12", "own", {"ADD": 524288})
INCLUDED: Final = Inclusion(21_044, bytes(32), is_successful=True)


@pytest.fixture
def queries(store: Store) -> Application:
    card = replace(SIMULATED, line_limits=LineLimits((LIMITS,)))
    return Application(store, (card, SILENT), None, lambda: NOW)


def tell(
    store: Store, number: int, inclusion: Inclusion | None = None, next_nonce: int | None = None
) -> None:
    """Let the node say twice, minutes apart, what became of a transaction."""
    question = InclusionQuestion(tx_hash(number), Address(bytes([number]) * 20), number)
    answer = InclusionAnswer(tx_hash(number), inclusion, next_nonce)
    with store.write() as connection:
        for ago in (3, 1):
            at = NOW - ago * MINUTE
            record_inclusion_answers(connection, SIMULATED.network_id, at, [(question, answer)])


def finding_of(queries: Application, tx: TxHash) -> NetworkFinding:
    [summary] = queries.summaries([tx])
    [finding] = summary.conclusive_findings()
    return finding


def lookup_page(queries: Application, tx: TxHash) -> str:
    """Return all words of the Lookup page of one transaction."""
    return words_of(open_page(queries, str(tx)))


def test_transaction_that_was_included_after_all_needs_no_next_step(
    queries: Application, store: Store
) -> None:
    tell(store, 1, INCLUDED)

    finding = finding_of(queries, tx_hash(1))
    answer = engineers_text(queries.summaries([tx_hash(1)])[0])

    assert finding.verdict.kind is VerdictKind.REJECTED_THEN_INCLUDED
    assert finding.next_steps() == ()
    assert "rejected, then included" in answer
    assert "The rejection did not last" in answer
    assert "Next:" not in answer


def test_transaction_that_was_replaced_holds_nothing_up(queries: Application, store: Store) -> None:
    tell(store, 1, next_nonce=2)

    answer = engineers_text(queries.summaries([tx_hash(1)])[0])

    assert finding_of(queries, tx_hash(1)).verdict.kind is VerdictKind.REPLACED
    assert "cannot be included any more" in answer
    assert "Until nonce" not in answer


def test_transaction_that_nobody_rejected_is_told_as_included(
    queries: Application, store: Store
) -> None:
    tell(store, 9, INCLUDED)

    answer = engineers_text(queries.summaries([tx_hash(9)])[0])

    assert "Devnet (simulated network): included" in answer
    assert "Its receipt names block 21,044" in answer


def test_nonce_behind_others_is_told_so(queries: Application, store: Store) -> None:
    tell(store, 2, next_nonce=0)

    assert (
        finding_of(queries, tx_hash(2))
        .next_steps()[1]
        .startswith("At 2026-11-20 11:59:00 UTC the node expected nonce 0 next from this sender")
    )


def test_limit_that_the_sequencer_left_out_is_told_with_its_table(queries: Application) -> None:
    [summary] = queries.summaries([tx_hash(1)])

    assert "the line limit of the prover module ADD, 524,288 (Devnet, 2026-05-12)" in (
        engineers_text(summary)
    )


def test_lookup_page_shows_the_end_instead_of_next_steps(
    queries: Application, store: Store
) -> None:
    tell(store, 1, INCLUDED)

    words = lookup_page(queries, tx_hash(1))

    assert "Rejected, then included" in words
    assert "The newest blocks of a chain can still be replaced" in words
    assert "Nothing is left to do." not in words
    assert "What the sender can do" not in words


def test_lookup_page_names_the_table_of_a_limit(queries: Application) -> None:
    assert "524,288 (Devnet, 2026-05-12)" in lookup_page(queries, tx_hash(1))


def test_lookup_page_says_that_a_claimed_time_cannot_be_true(
    queries: Application, store: Store
) -> None:
    ahead = a_record(tx_hash=tx_hash(40), timestamp=NOW + timedelta(days=800))
    with store.write() as connection:
        save_record(connection, SIMULATED.network_id, ahead, NOW)

    words = lookup_page(queries, tx_hash(40))

    assert words.count("This time was in the future when the record arrived") == 2  # verdict, fact
    assert "in 800 days" not in words


def engineers_text(summary: TransactionSummary) -> str:
    """Write the answer for an engineer."""
    return answer_text(summary, Voice.ENGINEER, AnswerContext(NOW))
