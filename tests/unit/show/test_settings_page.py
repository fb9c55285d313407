"""The page Settings: every setting with its value and source, and what a restart would bring."""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from dashboard.application.application import Application
from dashboard.application.context import (
    CheckedText,
    ConfigurationState,
    PageSettings,
    SettingChange,
    ShownSetting,
)
from dashboard.domain.people.access import Action, Actor, Role
from dashboard.domain.people.sign_in import SignInPolicy
from dashboard.domain.secret import MASK
from dashboard.store.access.audit_log import note_action
from dashboard.store.engine.engine import Store
from tests.one_by_one import audited
from tests.unit.show.page_runs import visit, visit_in, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PORT = ShownSetting(
    "pages.port", "9000", "linewatch.toml, line 2", is_default=False, default="8501"
)
TITLE = ShownSetting("networks.x.title", "<b>*x*</b>", "linewatch.toml, line 9", is_default=False)
ZONE = ShownSetting("mail.time_zone", "UTC", "default", is_default=True, meaning="zone of mails")
HOST = ShownSetting("mail.smtp_host", "", "default", is_default=True)
PORT_CHANGE = SettingChange("pages.port", "9000", "9001")
MODE_CHANGE = SettingChange("devnet.mode", "auto", "on", needs_restart=True)
STATE = ConfigurationState((PORT, TITLE, ZONE, HOST), "/srv/linewatch.toml", NOW)


@pytest.fixture
def store(empty_store: Store) -> Store:
    return empty_store


def page_of(store: Store, state: ConfigurationState | None, **address: str) -> str:
    read = None if state is None else lambda: state
    return words_of(visit("settings", application_of(store, configuration=read), **address))


def application_of(store: Store, **settings: Any) -> Application:  # noqa: ANN401 - of PageSettings
    known = PageSettings(**{"configuration": lambda: STATE, **settings})
    return Application(store, (), None, lambda: NOW, settings=known)


def test_what_is_set_stands_first_with_its_default_and_source(store: Store) -> None:
    words = page_of(store, STATE)

    assert "2 settings are set here. The file was read at the start" in words
    assert words.index("Set here") < words.index("default: 8501") < words.index("All settings")
    assert "linewatch.toml, line 2" in words
    assert "&lt;b&gt;*x*&lt;/b&gt;" in words
    assert "zone of mails" in words
    assert "empty" in words


def test_command_in_the_meaning_of_a_setting_is_marked_as_code(store: Store) -> None:
    told = replace(ZONE, is_default=False, meaning="`linewatch people` <makes> the first")

    words = page_of(store, replace(STATE, settings=(told,)))

    assert "<code>linewatch people</code> &lt;makes&gt; the first" in words


def test_search_keeps_what_holds_all_its_words(store: Store) -> None:
    words = page_of(store, STATE, setting="ZONE mails").partition("All settings")[2]

    assert "zone of mails" in words
    assert "smtp_" not in words
    assert "No setting matches" in page_of(store, STATE, setting="nothing like it")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [((ZONE,), "Every setting is a default"), ((PORT,), "1 setting is set here")],
)
def test_headline_says_how_much_is_set(
    store: Store, settings: tuple[ShownSetting, ...], expected: str
) -> None:
    assert expected in page_of(store, replace(STATE, settings=settings))


def test_changes_and_mistakes_since_the_start_are_named(store: Store) -> None:
    many = tuple(f"mail.{number}" for number in range(14))
    changes = (
        SettingChange("pages.port", "9000", "9001"),
        SettingChange("mail.password", MASK, MASK),
        *(SettingChange(each, "", "<b>x</b>") for each in many * 4),
    )

    changed = page_of(store, replace(STATE, changed=changes))
    broken = page_of(store, replace(STATE, changed=changes, mistakes=many))
    refused = page_of(store, replace(STATE, changed=(PORT_CHANGE, MODE_CHANGE)))

    assert "A reload would change 58 settings." in changed
    assert "systemctl reload linewatch@up" in changed
    assert "Restart it instead for" not in changed
    assert "Restart it instead for devnet.mode." in refused
    assert "and 8 more" in changed
    for each in ("9001", "another secret", "empty", "&lt;b&gt;x&lt;/b&gt;"):
        assert each in changed.partition("After a reload")[2].partition("Set here")[0]
    assert "Linewatch would not start again" in broken
    assert "and 2 more" in broken
    assert "A reload would change" not in broken


def test_process_without_a_configuration_says_so(store: Store) -> None:
    assert "started without a configuration" in page_of(store, None)


def test_text_is_checked_and_nothing_of_it_is_shown(store: Store) -> None:
    seen = []

    def check(text: str) -> CheckedText:
        seen.append(text)
        return CheckedText(("<i>wrong</i>",), (PORT_CHANGE,), ("mail.password",))

    page = visit("settings", application_of(store, check_text=check))
    page.text_area[0].set_value("canary")
    page.button(key="FormSubmitter:check-settings-Check").click().run()
    words = words_of(page)

    assert seen == ["canary"]
    assert "With this text Linewatch would not start:" in words
    assert "&lt;i&gt;wrong&lt;/i&gt;" in words
    assert "variables that were not read: mail.password;" in words
    assert "What a reload would change" in words
    assert "canary" not in words


def test_people_are_invited_changed_disabled_and_signed_out(store: Store) -> None:
    queries = application_of(store)
    page = visit("settings", queries, section="People and sessions")
    assert "Nobody has to sign in." in words_of(page)
    page.text_input(key="who_acts-0").set_value("Root")
    page.text_input(key="invited_name").set_value("Ada <b>")
    page.selectbox(key="invited_role").set_value("admin")
    page.button(key="FormSubmitter:invite-form-Make a link").click().run()

    assert "/invitation/" in page.code[0].value
    (ada,) = queries.people.all()
    assert (ada.person.role, ada.state) == (Role.ADMIN, "invited")
    assert "Ada &lt;b&gt;" in words_of(page)
    assert "1 person, 0 open sessions." in words_of(page)
    page.button(key="hide-link").click().run()
    assert not page.code
    (entry,) = audited(store)
    assert (entry.actor, entry.action, entry.subject) == ("Root", Action.INVITE, "Ada <b>")


def test_link_for_a_new_password_leaves_the_role_as_it_is_now(store: Store) -> None:
    queries = application_of(store)
    queries.people.invite("Bob", Role.ADMIN, Actor("root", NOW))
    (bob,) = queries.people.all()
    number = bob.person.person_id
    known = {f"change-{number}": True}  # the popover is open
    page = visit_in(None, "settings", queries, known, section="People and sessions")
    page.text_input(key="who_acts-0").set_value("Root").run()
    queries.people.change_role("Bob", Role.VIEWER, Actor("Ada", NOW))  # after the page was drawn

    page.button(key=f"link-{number}").click().run()

    (bob,) = queries.people.all()
    assert "/invitation/" in page.code[0].value
    assert bob.person.role is Role.VIEWER


def test_who_has_no_right_to_people_sees_neither_them_nor_the_audit_log(store: Store) -> None:
    policy = SignInPolicy(timedelta(hours=1), timedelta(days=1))
    queries = application_of(store, sign_in=policy, check_text=lambda _: CheckedText())
    queries.people.invite("Ada", Role.ADMIN, Actor("root", NOW))

    for section in ("People and sessions", "Audit log"):
        page = visit("settings", queries, section=section)
        words = words_of(page)
        assert "All settings" in words
        assert not any(each in words for each in ("Ada", "invite", "Audit log"))
        assert not page.text_area


def test_audit_log_that_is_open_at_midnight_goes_on_with_the_new_day(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    warns = logging.getLogger("streamlit.elements.lib.policies")
    warns.addHandler(caplog.handler)  # it hands nothing on to the root
    at = [NOW]
    known = PageSettings(configuration=lambda: STATE)
    queries = Application(store, (), None, lambda: at[-1], settings=known)
    page = visit("settings", queries, section="Audit log")
    at.append(NOW + timedelta(days=1))
    with store.write() as connection:
        note_action(connection, Actor("Ada", at[-1]), Action.TRACK, "of the new day")

    assert "of the new day" in words_of(page.run())
    warns.removeHandler(caplog.handler)
    assert not [each for each in caplog.messages if "default value" in each]

    page.date_input(key="days").set_value((date(2026, 11, 1), date(2026, 11, 20))).run()
    at.append(NOW + timedelta(days=2))
    assert "of the new day" not in words_of(page.run())


def test_audit_log_is_searched_by_who_what_where_and_when(store: Store) -> None:
    with store.write() as connection:
        for number, name in enumerate(("Ada", "Bob")):
            by = Actor(name, NOW - timedelta(days=10 * number), origin="192.0.2.1")
            note_action(connection, by, Action.TRACK, f"<u>{name}</u>", {"new": number})
    queries = application_of(store)

    def words(**address: str) -> str:
        return words_of(visit("settings", queries, section="Audit log", **address))

    assert "1 action in the last 7 days." in words()
    assert "&lt;u&gt;Ada&lt;/u&gt;" in words()
    assert "Bob" not in words()
    page = visit("settings", queries, section="Audit log", origin="192.0")
    page.date_input(key="days").set_value((date(2026, 11, 1), date(2026, 11, 20))).run()
    both = words_of(page)
    assert both.index("Ada") < both.index("Bob")
    assert "2 actions, the latest first" in both
    assert "No such action is on record" in words(who="ada", what="bob")
    assert "No such action is on record" in words(action="invite")
