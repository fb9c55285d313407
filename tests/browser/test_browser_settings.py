"""The administrator's pages, as an admin and as a viewer find them who sign in to real pages."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from io import StringIO

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests import plain_http
from tests.browser.accessibility import barriers
from tests.browser.page_checks import visit, window
from tests.chromium import SETTLED
from tests.hostile_texts import HOSTILE_TEXTS
from tests.installation import Installation, running_pages
from tests.mail_server import PASSWORD as PASSWORD_OF_MAIL
from tests.mail_server import USERNAME, Inbox, mail_server

PASSWORD = "correct horse battery"
EVE = next(each.text for each in HOSTILE_TEXTS if each.name == "image")[:60]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("settings")
    with running_pages(folder, LINEWATCH_SIGN_IN_ACCOUNTS="true") as installation:
        yield installation


def accept(context: BrowserContext, link: str) -> Page:
    """Open a link of an invitation, set a password, and come to the pages."""
    page = context.new_page()
    page.goto(link)
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_role("button", name="Set password and sign in").click()
    page.wait_for_selector(SETTLED)
    return page


def section(page: Page, name: str) -> None:
    page.get_by_role("radio", name=name).click()
    expect(page.get_by_role("heading", level=2, name=name.partition(" ")[0])).to_be_visible()
    page.wait_for_selector(SETTLED)


def test_admin_invites_somebody_who_sees_no_page_of_admins_and_ends_their_session(
    browser: Browser, running: Installation
) -> None:
    told = running.run("people", "invite", "Ada", "--role", "admin", "--json").stdout
    with window(browser) as of_ada, window(browser) as of_eve:
        admin = accept(of_ada, json.loads(told)["link"])
        visit(admin, f"{running.pages}/settings")
        section(admin, "People and sessions")
        admin.get_by_text("Invite somebody").click()
        admin.get_by_label("Name", exact=True).fill(EVE)
        admin.keyboard.press("Enter")  # what is unfolded moves for a moment, also under a click
        link = admin.get_by_test_id("stCode").inner_text().strip()

        viewer = accept(of_eve, link)
        visit(viewer, f"{running.pages}/settings?section=Audit+log")
        expect(viewer.get_by_role("heading", name="All settings")).to_be_visible()
        for name in ("Audit log", "People and sessions", "Check a text"):
            expect(viewer.get_by_text(name)).to_have_count(0)

        visit(admin, f"{running.pages}/settings?section=People+and+sessions")
        sessions = admin.locator(".st-key-card-sessions [class*='st-key-entry-session-']")
        expect(sessions).to_have_count(2)
        expect(sessions.filter(has_text="This session")).to_contain_text("Ada")
        eves = sessions.filter(has_text=EVE[:20])
        eves.get_by_role("button", name="Sign out").click()
        expect(admin.get_by_text("is signed out there")).to_be_visible()
        viewer.wait_for_url("**/sign-in**")

        section(admin, "Audit log")
        with admin.expect_download() as saved:
            admin.get_by_role("button", name="CSV").click()
        rows = list(csv.DictReader(StringIO(saved.value.path().read_text("utf-8"))))
        assert [each["action"] for each in rows][:2] == ["end-session", "sign-in"]
        assert rows[0]["actor"] == "Ada"
        assert admin.evaluate("window.hostile") is None
    assert plain_http.get(f"{running.pages}/live").is_success


def test_admin_chooses_the_mail_server_and_is_told_of_a_wrong_password(
    browser: Browser, running: Installation
) -> None:
    told = running.run("people", "invite", "Grace", "--role", "admin", "--json").stdout
    inbox = Inbox()
    with (
        mail_server(inbox, auth_require_tls=False, authenticator=inbox.authenticate) as port,
        window(browser) as context,
    ):
        admin = accept(context, json.loads(told)["link"])
        visit(admin, f"{running.pages}/settings")
        admin.get_by_label("Email addresses, one a line").fill("ops@example.org")
        save(admin, "Save recipients", "default recipients are saved")
        admin.get_by_label("Host", exact=True).fill("127.0.0.1")
        admin.get_by_label("Port", exact=True).fill(str(port))
        admin.get_by_label("Security").click()
        admin.get_by_role("option", name="none").click()
        admin.get_by_label("User", exact=True).fill(USERNAME)
        admin.get_by_label("Password", exact=True).fill("wrong-canary")
        save(admin, "Save mail server", "mail server is saved")
        admin.get_by_role("button", name="Send test").click()
        expect(admin.get_by_text("refused the login (535)")).to_be_visible()

        admin.get_by_label("Password", exact=True).fill(PASSWORD_OF_MAIL)
        save(admin, "Save mail server", "mail server is saved")
        admin.get_by_role("button", name="Send test").click()
        expect(admin.get_by_text("The server took the test mail")).to_be_visible()
        expect(admin.get_by_text("by Grace").first).to_be_visible()

        assert [each["To"] for each in inbox.mails] == ["ops@example.org"]
        assert barriers(admin) == []
        for secret in ("wrong-canary", PASSWORD_OF_MAIL):
            assert secret not in admin.content()


def save(page: Page, button: str, said: str) -> None:
    page.get_by_role("button", name=button).click()
    expect(page.get_by_text(said)).to_be_visible()
    page.wait_for_selector(SETTLED)
