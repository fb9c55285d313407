"""Rules on the page Alerts: listed, tried, turned off and on, and changed as a file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.application.rules import AlertRules
from dashboard.domain.alerts.kinds.kind import Dimension, RuleKind
from dashboard.domain.alerts.kinds.rejection_rate import RateMeasure
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import DEFAULT_RULES, DEFAULT_SEVERITY, Rule, RuleScope, Severity
from dashboard.domain.alerts.rule_table import (
    RuleNames,
    RuleRemark,
    RuleTable,
    removed,
    replaced_by,
)
from dashboard.domain.people.access import Action, Actor
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.store.alerts.incidents import insert_incident
from dashboard.store.engine.engine import Store
from dashboard.wiring.channels import rules_of_text
from tests.browser.seeded_store import SIMULATED
from tests.builders import an_id, an_incident
from tests.one_by_one import audited
from tests.unit.show.page_runs import run_script, visit, visit_in, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
FILE = '[rules.hub]\nkind = "rejected"\nlabels = ["<b>x</b>"]\n'


@pytest.fixture
def queries(empty_store: Store) -> Application:
    settings = PageSettings(read_rules=partial(rules_of_text, RuleNames()))
    return Application(empty_store, (SIMULATED,), None, lambda: NOW, settings=settings)


def named(page: AppTest) -> AppTest:
    """Say who acts."""
    page.text_input(key="who_acts-0").set_value("Ada")
    return page


def actions(store: Store) -> list[tuple[Action, str, str]]:
    """Return what the audit log says was done to rules."""
    entries = audited(store)
    return [(each.action, each.actor, each.subject) for each in entries]


def test_rule_counts_all_its_open_incidents(queries: Application) -> None:
    with queries.context.store.write() as connection:
        for number in range(60):
            group = (("network", str(SIMULATED.network_id)), ("module", f"M{number}"))
            insert_incident(connection, an_incident(incident_id=an_id(number), group=group))

    assert "× 60" in words_of(visit("alerts", queries, section="Rules"))


def test_default_rules_are_sentences_and_one_is_turned_off_and_on(queries: Application) -> None:
    page = named(visit("alerts", queries, section="Rules"))
    assert "When a source does not answer: notify the default recipients" in words_of(page)
    assert "Would not have fired in the last 7 days." in words_of(page)
    assert "have no preview" in words_of(page)

    page.button(key="turn-busy").click().run()

    off = [each.rule.name for each in queries.rules.in_force() if not each.rule.is_enabled]
    assert off == ["busy"]
    assert actions(queries.context.store) == [(Action.CHANGE_RULE, "Ada", "busy")]
    assert words_of(page).count("by Ada") == 1
    assert words_of(page).count("default, unchanged") == len(DEFAULT_RULES) - 1
    assert "The rule busy is changed." in words_of(page)
    page.button(key="undo").click().run()
    assert all(each.rule.is_enabled for each in queries.rules.in_force())
    page.button(key="turn-busy").click().run()
    queries.rules.change(removed(["busy"]), Actor("Bob", queries.now()))
    assert "Somebody else changed the rule busy since" in words_of(
        page.button(key="undo").click().run()
    )


def test_nothing_changes_without_a_name(queries: Application) -> None:
    page = visit("alerts", queries, section="Rules")

    page.button(key="turn-busy").click().run()

    assert "Nothing was changed." in words_of(page)
    assert all(each.rule.is_enabled for each in queries.rules.in_force())


def test_rule_is_made_by_form_with_mistakes_at_the_field(queries: Application) -> None:
    page = named(visit("alerts", queries, section="Rules", rule="*"))
    page.text_input(key="form-*--name").set_value("night")
    page.multiselect(key="form-*--labels").set_value(["<b>x</b>"])
    typed = words_of(page.text_input(key="form-*--remind_every").set_value("soon").run())
    wrong = words_of(pressed(page, "Save"))
    seen = words_of(page.text_input(key="form-*--remind_every").set_value("30m").run())
    saved = words_of(pressed(page, "Save"))

    assert "Remind every is &#x27;soon&#x27;: write a number and a unit" in typed
    assert "cannot be saved yet" not in typed
    assert "Look at the marked fields." in wrong
    assert "+ night is added" in seen
    assert "remind every 30 min" in seen
    assert "night would not have fired" in seen
    assert "The rule night is added." in saved
    assert queries.rules.in_force()[-1].rule.scope.labels == ("<b>x</b>",)
    assert queries.rules.in_force()[-1].rule.severity is DEFAULT_SEVERITY


class HastyRules(AlertRules):
    """Rules; while they are read, other runs cut some runs short."""

    cuts = 0

    def read(self, name: str, table: RuleTable) -> Rule | list[RuleRemark]:
        if self.cuts:
            self.cuts -= 1
            st.rerun()
        return super().read(name, table)


@pytest.mark.parametrize("cuts", [0, 1, 2])
def test_rule_is_saved_once_though_runs_are_cut_short(queries: Application, cuts: int) -> None:
    queries.rules = rules = HastyRules(queries.context)
    page = named(visit("alerts", queries, section="Rules", rule="*"))
    page.text_input(key="form-*--name").set_value("night").run()
    rules.cuts = cuts

    saved = words_of(pressed(page, "Save"))

    assert "The rule night is added." in saved
    assert "A new rule" not in saved
    assert actions(queries.context.store) == [(Action.ADD_RULE, "Ada", "night")]


def test_form_that_was_left_stays_closed_though_a_refresh_brings_its_address(
    queries: Application,
) -> None:
    left = {"rule_form_left": True}  # as an act leaves it to the next run
    page = visit_in(None, "alerts", queries, left, section="Rules", rule="*")
    closed = words_of(page), dict(page.query_params)
    page.query_params["rule"] = "*"

    assert "A new rule" not in closed[0]
    assert "rule" not in closed[1]
    assert "A new rule" in words_of(page.run())


def test_rule_with_mistakes_is_not_saved_later_by_itself(queries: Application) -> None:
    page = named(visit("alerts", queries, section="Rules", rule="*"))
    pressed(page, "Save")

    page.text_input(key="form-*--name").set_value("night").run()

    assert actions(queries.context.store) == []


_CUT_AFTER_THE_ACT = """
import streamlit as st
from dashboard.application import application
from dashboard.show.parts.acting import Done, act, done_shown, pressed

def change(by):
    st.session_state["changes"] += 1

def cut_short_once():
    if not st.session_state["is_cut"]:
        st.session_state["is_cut"] = True
        st.rerun()

queries, held = application.current(), st.session_state
for name, value in {"name_of_who_acts": "Ada", "changes": 0, "is_cut": False}.items():
    held.setdefault(name, value)
done_shown(queries)
if pressed(queries, "Do it", "do"):
    act(queries, change, Done("it is done"), button="do", then=cut_short_once)
"""


def test_act_whose_run_is_cut_short_is_done_once_and_said(queries: Application) -> None:
    application.register(queries)
    page = run_script(_CUT_AFTER_THE_ACT)

    page.button(key="do").click().run()

    assert page.session_state["changes"] == 1
    assert page.session_state["is_cut"]
    assert "it is done." in words_of(page)


def test_second_click_on_what_is_done_but_not_shown_yet_does_nothing_again(
    queries: Application,
) -> None:
    application.register(queries)
    page = run_script(_CUT_AFTER_THE_ACT.replace("st.rerun()", "st.stop()"))
    page.button(key="do").click().run()
    assert page.session_state["changes"] == 1

    page.button(key="do").click().run()

    assert page.session_state["changes"] == 1
    assert "it is done." in words_of(page)


def test_form_of_a_measured_rule_asks_for_its_figures(queries: Application) -> None:
    page = named(visit("alerts", queries, section="Rules", rule="*"))
    unnamed = words_of(pressed(page, "Save"))
    page.text_input(key="form-*--name").set_value("many")
    page.selectbox(key="form-*--kind").set_value("rejection-rate").run()
    lacking = words_of(page)
    page.text_input(key="form-*--more_than").set_value("5")
    page.text_input(key="form-*--window").set_value("10m")
    page.selectbox(key="form-*--by").set_value("module")
    words_of(pressed(page, "Save"))

    assert "It has no name: write small letters" in unnamed
    assert "It lacks more_than, which rejection-rate needs" in lacking
    assert queries.rules.in_force()[-1].rule.measure == RateMeasure(
        5, timedelta(minutes=10), Dimension.MODULE
    )


def test_sentence_shows_defaults_as_values_and_everybody_who_can_be_notified(
    empty_store: Store,
) -> None:
    known = ConfiguredRecipients((Recipient("mail", "ops@example.org"),))
    names = RuleNames(channels=["pager"])
    settings = PageSettings(recipients=known, rule_names=names)
    queries = Application(empty_store, (SIMULATED,), None, lambda: NOW, settings=settings)
    page = named(visit("alerts", queries, section="Rules", rule="*"))
    page.selectbox(key="form-*--kind").set_value("busy").run()
    whom = page.multiselect(key="form-*--recipients")
    shown = {each.key: each.value for each in page.text_input if each.key}
    page.text_input(key="form-*--name").set_value("calls")
    whom.set_value(["pager"])
    seen = words_of(page.text_input(key="form-*--pending").set_value("5m").run())
    pressed(page, "Save")

    assert whom.options == ["ops@example.org", "pager"]
    assert (shown["form-*--pending"], shown["form-*--remind_every"]) == ("0s", "never")
    assert "When a network is busy, for at least 5 min: notify pager." in seen
    made = queries.rules.in_force()[-1].rule
    assert (made.recipients, made.pending) == (
        (Recipient("pager", "pager"),),
        timedelta(minutes=5),
    )


def test_rule_is_copied_changed_and_removed(queries: Application) -> None:
    copy = named(visit("alerts", queries, section="Rules", rule="*", like="upstream"))
    copy.text_input(key="form-*-upstream-name").set_value("again")
    pressed(copy, "Save")
    changed = named(visit("alerts", queries, section="Rules", rule="again"))
    changed.selectbox(key="form-again--severity").set_value("info")
    pressed(changed, "Save")
    copied = queries.rules.in_force()[-1].rule
    gone = named(visit("alerts", queries, section="Rules", rule="again"))
    gone.session_state["form-again--removing"] = True
    pressed(gone.run(), "Remove this rule")

    assert (copied.name, copied.severity) == ("again", Severity.INFO)
    assert copied.remind_every == timedelta(hours=12)
    assert "again" not in [each.rule.name for each in queries.rules.in_force()]


def test_unknown_rule_is_said_to_be_unknown(queries: Application) -> None:
    words = words_of(visit("alerts", queries, section="Rules", rule="buzy"))

    assert "Did you mean busy?" in words.replace("did", "Did")


@pytest.mark.parametrize("rule", DEFAULT_RULES, ids=lambda each: each.name)
def test_form_says_a_rule_as_it_is(queries: Application, rule: Rule) -> None:
    page = named(visit("alerts", queries, section="Rules", rule=rule.name))

    words = words_of(pressed(page, "Save"))

    assert "No change was needed." in words
    assert queries.rules.in_force()[0].changed_at is None


def test_file_is_shown_checked_and_saved(queries: Application) -> None:
    page = named(visit("alerts", queries, section="Rules"))
    assert "[rules.rejections]" in str(page.text_area(key="rule_file").value)

    page.text_area(key="rule_file").set_value(FILE.replace("kind", "kynd"))
    pressed(page, "Show what changes")
    assert "did you mean kind?" in words_of(page)

    page.text_area(key="rule_file").set_value(FILE)
    pressed(page, "Show what changes")
    assert "+ hub is added" in words_of(page)
    pressed(page, "Save rules")

    assert [each.rule.name for each in queries.rules.in_force()] == ["hub"]
    assert "label &lt;b&gt;x&lt;/b&gt;" in words_of(page)


def pressed(page: AppTest, label: str) -> AppTest:
    """Press a button of the form."""
    (button,) = (each for each in page.button if each.label == label)
    return button.click().run()


def test_long_name_in_the_preview_breaks_between_its_parts(store: Store) -> None:
    queries = Application(store, (SIMULATED,), None, lambda: NOW)
    loud = Rule("loud", RuleKind.REJECTED, scope=RuleScope(takes_all_reports=True))
    queries.rules.change(replaced_by([loud]), Actor("Ada", NOW))

    words = words_of(visit("alerts", queries, section="Rules", rule="loud"))

    assert "module PRECOMPILE_<wbr>ECPAIRING_<wbr>MILLER_<wbr>LOOPS" in words


def test_rules_that_no_field_holds_are_not_cut_off_and_saved(queries: Application) -> None:
    labels = tuple(f"{number:080}" for number in range(1_000))
    long = [
        Rule(f"r{number}", RuleKind.REJECTED, scope=RuleScope(labels=labels)) for number in (1, 2)
    ]
    queries.rules.change(replaced_by(long), Actor("Ada", NOW))

    page = visit("alerts", queries, section="Rules")

    assert "The rules are too long to edit as a file here." in words_of(page)
    assert "use <code>linewatch rules export</code> and <code>import</code>." in words_of(page)
    assert "rule_file" not in [each.key for each in page.text_area]
