"""Columns of CSV and keys of JSON are what scripts rely on: none goes, none is renamed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dashboard.application.accounts import PEOPLE, SESSIONS
from dashboard.application.audit import AUDIT
from dashboard.application.context import ApplicationContext
from dashboard.application.customer_answers import AnswerContext
from dashboard.application.delivery_listing import notification_listing
from dashboard.application.fee_listing import FIGURES_OF_ALL, STEPS, STEPS_FILE
from dashboard.application.incident_words import incident_listing
from dashboard.application.keys import Keys
from dashboard.application.listing import Column, Listing, time_column, time_for_programs
from dashboard.application.lookup import lookup_file
from dashboard.application.polling_plan import PLAN
from dashboard.application.recipient_words import RECIPIENTS
from dashboard.application.rejections import rejection_file, rejection_listing
from dashboard.application.rule_preview import firing_listing
from dashboard.application.rules import rule_listing
from dashboard.application.senders import RANKED, WatchedSenders
from dashboard.application.share_links import SHARE_LINKS
from dashboard.application.silences import Silences
from dashboard.application.tokens import TOKENS
from dashboard.domain.alerts.silence import SilenceKind
from dashboard.store.engine.engine import Store
from dashboard.store.rejections.counts import GroupCount
from tests.builders import A_MOMENT


@pytest.fixture
def listings(store: Store) -> list[Listing[Any]]:
    """Return every listing of commands and of files that pages offer."""
    context = ApplicationContext(store, (), lambda: A_MOMENT)
    return [
        AUDIT,
        FIGURES_OF_ALL,
        PEOPLE,
        PLAN,
        RANKED,
        RECIPIENTS,
        SESSIONS,
        SHARE_LINKS,
        STEPS,
        STEPS_FILE,
        TOKENS,
        Keys(context).listing(),
        Silences(context).listing(SilenceKind.SILENCE),
        Silences(context).listing(SilenceKind.MAINTENANCE),
        WatchedSenders(context).listing(),
        firing_listing(context),
        incident_listing(lambda _: ""),
        lookup_file(AnswerContext(A_MOMENT)),
        notification_listing(context),
        rejection_file(context),
        rejection_listing(context),
        rule_listing(context),
    ]


def test_columns_and_keys_of_every_listing_stay(listings: list[Listing[Any]]) -> None:
    told = [
        f"{each.key}: {' '.join(name.replace(' ', '_') for name in each.names())} | "
        f"{' '.join(column.key for column in each.columns if column.key)}".rstrip()
        for each in listings
    ]

    assert told == Path(__file__).with_name("listings.txt").read_text("utf-8").splitlines()


def test_moment_that_never_came_is_told_in_words_and_as_null() -> None:
    column: Column[str] = time_column("last use", "lastUsedAt", lambda _: None, "never")

    assert column.text is not None
    assert (column.text("a key"), column.value("a key")) == ("never", None)


def test_moment_for_programs_is_written_as_both_apis_do() -> None:
    column: Column[str] = time_for_programs("at", lambda _: A_MOMENT)

    assert (column.text, column.value("a key")) == (None, "2026-11-20T12:00:00Z")


def test_sender_that_no_record_names_is_unknown_to_people_and_null_to_programs() -> None:
    nobody = GroupCount(None, 3)

    assert RANKED.rows([nobody]) == [("unknown", 3)]
    assert RANKED.form(nobody) == {"from": None, "rejections": 3}
