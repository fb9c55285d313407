"""All that people configured: out as one file, and into an empty installation, the same again."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec.structs import replace

from dashboard.application.application import Application
from dashboard.application.configuration import configuration_file, configured
from dashboard.application.configuration_import import (
    ConfigurationImport,
    WrongConfiguration,
    taken_lines,
)
from dashboard.application.context import ConfigurationState, PageSettings, ShownSetting
from dashboard.application.keys import NEW_LIMITS, Keys
from dashboard.application.tokens import Tokens
from dashboard.domain.alerts.notification import DigestTime, Recipient
from dashboard.domain.alerts.rule_keys import MAIL
from dashboard.domain.alerts.rule_table import merged_with
from dashboard.domain.alerts.silence import SilenceKind, SilenceRequest
from dashboard.domain.people.access import Action, Actor, Role
from dashboard.domain.people.active_hours import WeekSpan
from dashboard.domain.people.recipients import RecipientProfile
from dashboard.domain.secret import MASK
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_csv import ListedTransaction
from dashboard.errors import NotAllowed
from dashboard.store.engine.engine import open_store
from dashboard.wiring.page_settings import StoredAnswerFile
from tests.browser.seeded_store import SILENT, SIMULATED, tx_hash
from tests.builders import A_MOMENT, an_address
from tests.databases import new_sqlite_store
from tests.one_by_one import audited

ADA = Actor("Ada", A_MOMENT)
MAILBOX = Recipient(MAIL, "ada@example.org")
TEMPLATES = '# ours\n[customer]\ntext = """\nSorry about "it".\n"""\n'
HOSTILE = 'a "b" \\ \u202e = [x]\n"""\n\ty'
SETTINGS = (
    ShownSetting("pages.port", "9000", "linewatch.toml, line 2", is_default=False),
    ShownSetting("mail.password", MASK, "linewatch.toml, line 4", is_default=False),
    ShownSetting("serve.port", "9001", "the variable LINEWATCH_SERVE_PORT", is_default=False),
)


@contextmanager
def installation(folder: Path, shown: tuple[ShownSetting, ...] = SETTINGS) -> Iterator[Application]:
    """Open an empty installation in a folder of its own."""
    folder.mkdir()
    state = ConfigurationState(shown, str(folder / "linewatch.toml"), A_MOMENT)
    settings = PageSettings(
        answers=StoredAnswerFile(folder / "answers.toml"), configuration=lambda: state
    )
    with open_store(new_sqlite_store(folder / "store.sqlite")) as store:
        yield Application(store, (SIMULATED, SILENT), None, lambda: A_MOMENT, settings=settings)


def configure(here: Application) -> None:
    """Do everything that people do on pages."""
    rule = here.rules.given("night", {"kind": "rejected", "recipients": ["ada@example.org"]})
    here.rules.change(merged_with([rule]), ADA)
    ask, month = here.silences, A_MOMENT + timedelta(days=30)
    matchers = ask.read_matchers(["network=Linea", "rule=night"])
    for weekly in (None, ask.weekly(["sun 02:00-04:00"], "Europe/Zurich")):
        kind = SilenceKind.SILENCE if weekly is None else SilenceKind.MAINTENANCE
        request = SilenceRequest(uuid4(), kind, matchers, A_MOMENT, month, "known", weekly)
        ask.add(request, ADA)
    here.recipients.verify(MAILBOX, ADA)
    hours = (WeekSpan.parse("mon-fri 08:00-18:00"),)
    profile = RecipientProfile("Europe/Berlin", hours, DigestTime.parse("daily 08:00"))
    here.recipients.change(MAILBOX, profile, ADA)
    here.recipients.unsubscribe(Recipient(MAIL, "bob@example.org"), ADA)
    here.senders.watch([an_address()], [SIMULATED.network_id], "treasury", ADA)
    listed = [
        ListedTransaction(1, tx_hash(1), Remarks(A_MOMENT, "Case 17", HOSTILE, tags="#vip")),
        ListedTransaction(2, tx_hash(2)),
    ]
    here.tracked.track(listed, [SIMULATED.network_id, SILENT.network_id], ADA)
    here.tracked.save_filter("mine", {"label": "Case 17"}, ADA)
    here.people.invite("Grace", Role.OPERATOR, ADA)
    here.answers.change(TEMPLATES, ADA)


def file_of(here: Application) -> str:
    return configuration_file(configured(here.context))


def test_import_into_an_empty_installation_exports_the_same(tmp_path: Path) -> None:
    with installation(tmp_path / "one") as one, installation(tmp_path / "two") as two:
        configure(one)
        text = file_of(one)
        ask = ConfigurationImport(two.context)

        tried = ask.take(text, ADA, is_tried=True)
        untouched = file_of(two)
        taken = ask.take(text, ADA)
        again = ask.take(text, ADA)

        assert file_of(two) == text
        assert tried == taken
        assert "treasury" not in untouched
        assert len(tomllib.loads(untouched)["rules"]) < len(tomllib.loads(text)["rules"])
        assert again.changes == ()
        assert taken_lines(again, is_done=True)[-1] == "Nothing changes."
        assert {each.section for each in taken.changes} == {
            *("rules", "silences", "recipients", "senders", "tracked", "filters", "people"),
            "answers",
        }
        assert "people.Grace has no password here" in " ".join(taken.left)
        found = audited(two.context.store, Action.IMPORT)
        assert [each.actor for each in found] == ["Ada"]


def test_file_holds_no_secret(tmp_path: Path) -> None:
    with installation(tmp_path / "one") as one:
        configure(one)
        invited = one.people.invite("Linus", Role.ADMIN, ADA)
        key = Keys(one.context).create("wallet", NEW_LIMITS, ADA)
        token = Tokens(one.context).create("ci", Role.ADMIN, timedelta(days=1), ADA)
        text = file_of(one)

    for secret in (invited, key.key, key.secret, token.secret):
        assert secret.reveal() not in text
    assert MASK not in text
    assert "password" not in text
    assert tomllib.loads(text)["settings"] == {"pages": {"port": "9000"}}


def test_settings_are_compared_and_stay(tmp_path: Path) -> None:
    other = (ShownSetting("pages.port", "9999", "linewatch.toml, line 1", is_default=False),)
    with installation(tmp_path / "one") as one, installation(tmp_path / "two", other) as two:
        taken = ConfigurationImport(two.context).take(file_of(one), ADA)

    assert taken.changes == ()
    assert taken.left == ("the setting pages.port is '9000' in the file: set it yourself",)


WRONG = """\
[rules.night]
kind = "rejected"
severity = "loud"
[rules."Bad Name"]
kind = "rejected"
[silences.first]
kind = "silence"
matchers = []
starts_at = "2026-01-01T00:00:00Z"
ends_at = "2999-01-01T00:00:00Z"
reason = "x"
[recipients."ada"]
digest = "hourly"
[recipients."ok@example.org"]
verified = true
[tracked.0x12]
label = "x"
[people.Grace]
role = "king"
rank = 1
[people.Linus]
[filters.mine]
label = 7
[answers.templates]
text = "[nobody]\\n"
[senders."0x34"]
networks = [1]
[tracked.0x56]
attempted_at = "0001-01-01T00:00:00+14:00"
[tracked.0x78]
tags = "vip a!b"
[moon.x]
"""
NAMED = (
    r"rules\.night\.severity",
    r"rules\.Bad Name is not the name",
    r"silences\.first: a silence is named by its id",
    r"recipients\.ada: .*hourly",
    r"tracked\.0x12: ",
    r"people\.Grace\.role: ",
    r"people\.Grace\.rank is not a key: choose one of role",
    r"people\.Linus lacks role: add it",
    r"filters\.mine: write each value as a text",
    r"nobody",
    r"senders\.0x34: ",
    r"tracked\.0x56\.attempted_at is not a usable date",
    r"tracked\.0x78: .*a!b.* is not a tag",
    r"moon is not a section: choose one of rules, ",
)


def test_wrong_file_is_refused_as_a_whole_with_every_mistake(tmp_path: Path) -> None:
    with installation(tmp_path / "one") as one:
        before = file_of(one)
        with pytest.raises(WrongConfiguration) as refused:
            ConfigurationImport(one.context).take(WRONG, ADA)
        after = file_of(one)
        kept = Application(one.context.store, (), None, lambda: A_MOMENT).people.all()

    mistakes = refused.value.mistakes
    unnamed = [each for each in NAMED if not any(re.search(each, one) for one in mistakes)]
    assert unnamed == [], mistakes
    assert len(mistakes) == len(NAMED), mistakes
    assert after == before
    assert kept == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("= 1", "it is not TOML"),
        ("[" * 5_000, "it is not TOML"),
        ("rules = 1", "rules is not a table of tables"),
        ("[rules]\nx = 1", "x is not a table of tables"),
    ],
)
def test_text_of_another_form_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with installation(tmp_path / "one") as one, pytest.raises(WrongConfiguration, match=says):
        ConfigurationImport(one.context).take(text, ADA)


def test_tags_need_no_sign(tmp_path: Path) -> None:
    with installation(tmp_path / "one") as one:
        configure(one)
        text = file_of(one)
        written = text.replace('tags = "#vip"', 'tags = "vip"')
        taken = ConfigurationImport(one.context).take(written, ADA)

        assert (written != text, taken.changes, file_of(one)) == (True, (), text)


def test_import_takes_an_admin(tmp_path: Path) -> None:
    with installation(tmp_path / "one") as one, pytest.raises(NotAllowed):
        ConfigurationImport(one.context).take("", replace(ADA, role=Role.OPERATOR))


def test_silence_that_is_over_is_left_and_one_that_says_something_else_is_named(
    tmp_path: Path,
) -> None:
    with installation(tmp_path / "one") as one:
        configure(one)
        text = file_of(one)
        ask = ConfigurationImport(one.context)

        other = text.replace('reason = "known"', 'reason = "unknown"')
        with pytest.raises(WrongConfiguration, match="a different silence has this id"):
            ask.take(other, ADA)
        late = ask.take(text, replace(ADA, at=A_MOMENT + timedelta(days=40)))

    assert sum("is over" in each for each in late.left) == 2
