"""The text to pass on, and the file of its templates as pages and commands change it."""

from __future__ import annotations

import csv
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest

from dashboard.application.application import Application
from dashboard.application.customer_answers import AnswerContext, answer_text, finding_groups
from dashboard.application.lookup import lookup_csv, lookup_json
from dashboard.application.transaction_summary import with_unsaved
from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.people.access import Actor
from dashboard.domain.rejections.answer_template import AnswerTemplates, Voice
from dashboard.domain.rejections.exclusion import RejectionStage, StatusClaim
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_csv import ListedTransaction
from dashboard.errors import InputError, StoreError, StoreUnavailable
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import UnsavedAnswers, record_lookup
from dashboard.wiring.page_settings import StoredAnswerFile
from tests.browser.seeded_store import SILENT, SIMULATED, tx_hash
from tests.builders import DISPUTE, a_disputed_answer, a_hash, a_record
from tests.golden_texts import GoldenTexts
from tests.one_by_one import audited
from tests.saved_record import save_record

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ANN = Actor("Ann", NOW)


def test_text_shows_unseen_characters_as_codes(queries: Application) -> None:
    (summary,) = queries.summaries([tx_hash(3)])

    for voice in Voice:
        text = answer_text(summary, voice, AnswerContext(NOW, case_id="\u202e7"))
        assert "\u202e" not in text
        assert "\r" not in text
        assert "\\u202egnp[.]exe\\u000d\\u000aBcc: x" in text


def test_text_is_the_same_as_long_as_nothing_new_is_answered(queries: Application) -> None:
    (summary,) = queries.summaries([tx_hash(9)])
    early, late = (AnswerContext(NOW.replace(hour=hour)) for hour in (12, 13))

    assert answer_text(summary, Voice.CUSTOMER, early) == answer_text(summary, Voice.CUSTOMER, late)


def test_networks_with_the_same_verdict_are_named_together(queries: Application) -> None:
    (unknown,) = queries.summaries([tx_hash(200)])
    (mixed,) = queries.summaries([tx_hash(9)])

    assert [each.networks for each in finding_groups(unknown)] == [
        "Devnet (simulated network) and Linea"
    ]
    assert [str(each.kind) for each in finding_groups(mixed)] == [
        "not checked yet",
        "no rejection on record",
    ]


def test_networks_that_reject_for_different_reasons_each_have_their_say(
    queries: Application, store: Store, golden: GoldenTexts
) -> None:
    tx, hour = a_hash(77), timedelta(hours=1)
    bare = {"tx_rejection_stage": RejectionStage.UNKNOWN, "timestamp": None, "nonce": None}
    with store.write() as connection:
        record_lookup(connection, SIMULATED.network_id, NOW, [a_disputed_answer(tx)])
        save_record(connection, SIMULATED.network_id, a_record(tx_hash=tx), NOW)
        cheap = a_record(tx_hash=tx, reason_message="too cheap, e.g. 0 wei", **bare)
        save_record(connection, SILENT.network_id, cheap, NOW - hour)
    summaries = queries.summaries([tx])
    context = AnswerContext(NOW)

    texts = {f"for the {each}": answer_text(summaries[0], each, context) for each in Voice}
    [row] = csv.DictReader(StringIO(lookup_csv(summaries, context)))
    row["customer_text"] = row["customer_text"][:20]
    cells = "\n".join(f"{name}: {cell}" for name, cell in row.items())

    golden.check("different_answers", {**texts, "in a file": cells})


def test_inclusion_that_an_endpoint_reports_stands_beside_a_rejection_elsewhere(
    queries: Application, store: Store
) -> None:
    tx, claim = a_hash(79), StatusClaim("INCLUDED", block_number=31)
    with store.write() as connection:
        save_record(connection, SIMULATED.network_id, a_record(tx_hash=tx), NOW)
        record_lookup(connection, SILENT.network_id, NOW, [ExclusionAnswer(tx, claim=claim)])

    [summary] = queries.summaries([tx])

    assert [str(each.kind) for each in finding_groups(summary)] == [
        "rejected",
        "no rejection on record",
    ]
    engineer, text = (
        answer_text(summary, each, AnswerContext(NOW)) for each in (Voice.ENGINEER, Voice.CUSTOMER)
    )
    assert engineer.startswith(
        "Devnet (simulated network); Linea: rejected; no rejection on record\n"
    )
    assert "The exclusion API has reported the transaction as included in block 31" in text


def test_answer_that_could_not_be_stored_tells_what_endpoints_report(
    queries: Application,
) -> None:
    answer, full = a_disputed_answer(a_hash(78)), StoreUnavailable("its disk is full")
    unsaved = UnsavedAnswers(SIMULATED.network_id, NOW, [answer], full)

    [summary] = with_unsaved(queries.summaries([a_hash(78)]), [unsaved])

    assert DISPUTE in answer_text(summary, Voice.CUSTOMER, AnswerContext(NOW))


def test_networks_that_answer_the_same_have_one_say(queries: Application, store: Store) -> None:
    with store.write() as connection:
        for number, network_id in enumerate((SIMULATED.network_id, SILENT.network_id)):
            at = NOW + timedelta(minutes=number)
            save_record(connection, network_id, a_record(tx_hash=a_hash(77)), at)
            record_lookup(connection, network_id, at, [ExclusionAnswer(a_hash(77))])
    [summary] = queries.summaries([a_hash(77)])

    [group] = finding_groups(summary)

    assert group.networks == "Devnet (simulated network) and Linea"


def test_what_is_not_known_leads_before_no_rejection_on_record(queries: Application) -> None:
    summaries = queries.summaries([tx_hash(9)])  # answered on one network, never asked on another
    context = AnswerContext(NOW)

    (row,) = csv.DictReader(StringIO(lookup_csv(summaries, context)))
    (form,) = json.loads(lookup_json(summaries, context))["transactions"]
    customer, engineer = (answer_text(summaries[0], voice, context) for voice in Voice)

    assert (row["verdict"], form["verdict"]) == ("not checked yet", "not checked yet")
    assert row["answer"].startswith("It is not known yet what happened to this transaction on")
    assert "\n\nIt is not known yet what happened" in customer
    assert "1. Do not send it again with a new nonce" in customer
    assert engineer.startswith("Linea; Devnet (simulated network): not checked yet; no rejection")


def test_text_of_an_engineer_links_to_the_look_up(queries: Application) -> None:
    (summary,) = queries.summaries([tx_hash(2)])
    context = AnswerContext(NOW, "A & 1", "https://watch.example/")

    text = answer_text(summary, Voice.ENGINEER, context)

    assert f"https://watch.example/lookup?tx={tx_hash(2)}&case_id=A+%26+1" in text


def test_look_up_without_any_network_says_so(store: Store) -> None:
    queries = Application(store, (), None, lambda: NOW)
    summaries = queries.summaries([tx_hash(200)])

    assert "No network" in answer_text(summaries[0], Voice.CUSTOMER, AnswerContext(NOW))
    assert "No network" in lookup_csv(summaries, AnswerContext(NOW))


def test_files_hold_each_transaction_with_its_texts(queries: Application) -> None:
    summaries = queries.summaries([tx_hash(2), tx_hash(3), tx_hash(9)])
    context = AnswerContext(NOW, "=1742")

    rows = list(csv.DictReader(StringIO(lookup_csv(summaries, context))))
    form = json.loads(lookup_json(summaries, context))

    assert [row["verdict"] for row in rows] == ["rejected", "rejected", "not checked yet"]
    assert rows[0]["case_id"] == "'=1742"
    assert rows[0]["customer_text"].startswith("Case: =1742 Transaction: 0x0202")
    assert form["transactions"][0]["texts"]["engineer"].startswith("Devnet (simulated network)")


def test_case_of_a_tracked_transaction_stands_in_the_text_unless_another_is_given(
    queries: Application,
) -> None:
    listed = ListedTransaction(1, tx_hash(3), Remarks(case_id="C-9"))
    queries.tracked.track([listed], [SIMULATED.network_id], queries.context.unnamed())
    summaries = queries.summaries([tx_hash(3)])

    own, given = AnswerContext(NOW), AnswerContext(NOW, "1742")

    assert answer_text(summaries[0], Voice.CUSTOMER, own).startswith("Case: C-9\n")
    assert answer_text(summaries[0], Voice.CUSTOMER, given).startswith("Case: 1742\n")
    assert json.loads(lookup_json(summaries, own))["transactions"][0]["caseId"] == "C-9"


def test_file_is_changed_logged_and_removed_again(
    queries: Application, store: Store, path: Path
) -> None:
    queries.answers.change("[customer]\ntext = 'Dear {hash}'\n", ANN)
    changed = queries.answers.state()
    queries.answers.change(None, ANN)

    assert changed.templates.usual[Voice.CUSTOMER] == "Dear {hash}"
    assert queries.answers.state().text is None
    assert isinstance(queries.answers.state().templates, AnswerTemplates)
    entries = audited(store)
    assert [(each.actor, each.action, each.subject) for each in entries] == [
        ("Ann", "change-answers", str(path))
    ] * 2


def test_file_that_somebody_edits_is_read_anew_and_its_mistake_named(
    queries: Application, path: Path
) -> None:
    path.parent.mkdir()
    path.write_text("[customer]\ntext = 'Dear {hash}'\n")
    first = queries.answers.state()
    path.write_text("[customer]\ntext = 'Dear {who} there'\n")
    wrong = queries.answers.state()
    path.write_bytes(b"\xff\xfe\x00")

    assert first.mistakes == ()
    assert wrong.mistakes[0].startswith("customer.text (in answers.toml, line 2) names {who}")
    assert "is not UTF-8 text" in queries.answers.state().mistakes[0]


def test_change_with_a_mistake_or_into_no_folder_changes_nothing(
    queries: Application, store: Store, path: Path
) -> None:
    with pytest.raises(InputError, match="line 2"):
        queries.answers.change("[customer]\ntext = '{who}'\n", ANN)
    path.parent.write_text("a file where a folder should be")
    with pytest.raises(InputError, match=r"^answers\.toml cannot be written .*: let this process"):
        queries.answers.change("[customer]\ntext = 'Hi'\n", ANN)

    assert audited(store) == []


def test_templates_cannot_be_changed_where_no_file_is_used(store: Store) -> None:
    queries = Application(store, (SIMULATED,), None, lambda: NOW)

    with pytest.raises(InputError, match="linewatch answers"):
        queries.answers.change("", ANN)


def test_file_that_cannot_be_replaced_leaves_nothing_behind(path: Path) -> None:
    path.mkdir(parents=True)

    with pytest.raises(InputError, match="cannot be written"), StoredAnswerFile(path).staged("x"):
        pass

    assert list(path.parent.iterdir()) == [path]


def test_file_is_changed_only_once_its_record_is_stored(
    queries: Application, store: Store, path: Path
) -> None:
    queries.answers.change("[customer]\ntext = 'Ours'\n", ANN)
    with store.write() as connection:
        connection.exec_driver_sql("DROP TABLE audit_log")

    for text in ("[customer]\ntext = 'Theirs'\n", None):
        with pytest.raises(StoreError):
            queries.answers.change(text, ANN)

    assert path.read_text() == "[customer]\ntext = 'Ours'\n"
    assert list(path.parent.iterdir()) == [path]


def test_change_waits_for_one_that_somebody_else_is_saving(path: Path) -> None:
    first, second = (StoredAnswerFile(path).staged(each) for each in ("theirs", "ours"))

    with ThreadPoolExecutor() as pool:
        with first:
            waiting = pool.submit(second.__enter__)
            with pytest.raises(TimeoutError):
                waiting.result(0.05)
        waiting.result(5)()
    second.__exit__(None, None, None)

    assert path.read_text() == "ours"
