"""Passkeys and authenticator apps in a real browser: added on the account page, used to sign in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect
from pyotp import TOTP

from tests.browser.accessibility import barriers
from tests.browser.page_checks import SIZE
from tests.chromium import MILLISECONDS, SETTLED
from tests.installation import Installation, running_pages

PASSWORD = "correct horse battery"
DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
}
"""An authenticator as a laptop has one, which takes its owner for present."""


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("factors")
    with running_pages(folder, LINEWATCH_SIGN_IN_ACCOUNTS="true") as made:
        yield made


@contextmanager
def joined(browser: Browser, installation: Installation, name: str) -> Iterator[tuple[Page, str]]:
    """Accept an invitation in a new window, at a name: passkeys are bound to one."""
    site = installation.pages.replace("127.0.0.1", "localhost")
    link = installation.run("people", "invite", name).stdout
    (path,) = re.findall(r"/invitation/\S+", link)
    with browser.new_context(viewport=SIZE) as context:
        context.set_default_timeout(MILLISECONDS)
        page = context.new_page()
        page.goto(f"{site}{path}")
        page.get_by_label("New password").fill(PASSWORD)
        page.get_by_role("button", name="Set password and sign in").click()
        page.wait_for_selector(SETTLED)
        page.goto(f"{site}/account")
        yield page, site


def sign_out(page: Page, site: str) -> None:
    page.goto(f"{site}/account")
    page.get_by_role("button", name="Sign out").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to Linewatch")


def test_passkey_signs_in_without_a_password(browser: Browser, installation: Installation) -> None:
    with joined(browser, installation, "Ada") as (page, site):
        devtools = page.context.new_cdp_session(page)
        devtools.send("WebAuthn.enable")
        devtools.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})
        page.get_by_label("Name of the new passkey").fill("laptop")
        page.get_by_role("button", name="Add a passkey").click()
        expect(page.get_by_text("laptop, added")).to_be_visible()
        page.get_by_label("Name of the new passkey").fill("twice")
        page.get_by_role("button", name="Add a passkey").click()
        expect(page.get_by_text("This device has a passkey of yours already.")).to_be_visible()

        sign_out(page, site)
        page.goto(f"{site}/fees")
        page.get_by_role("button", name="Sign in with a passkey").click()
        page.wait_for_url("**/fees**")
        page.wait_for_selector(SETTLED)

        page.goto(f"{site}/account")
        expect(page.get_by_text("last used")).to_be_visible()
        page.get_by_role("button", name="Remove").click()
        sign_out(page, site)
        page.get_by_role("button", name="Sign in with a passkey").click()
        expect(page.get_by_text("This passkey is not known here")).to_be_visible()


def test_app_is_asked_for_after_the_password(browser: Browser, installation: Installation) -> None:
    with joined(browser, installation, "Bob") as (page, site):
        page.get_by_role("button", name="Set up an app").click()
        key = page.locator("main code").inner_text().replace(" ", "")
        expect(page.get_by_role("img", name="The key as a QR code")).to_be_visible()
        assert barriers(page) == []
        page.get_by_label("Code of the app").fill(TOTP(key).now())
        page.get_by_role("button", name="Turn on").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Your recovery codes")
        code = page.locator("li code").first.inner_text()
        page.get_by_role("link", name="I have saved them").click()
        assert barriers(page) == []

        sign_out(page, site)
        page.get_by_label("Name").fill("Bob")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in", exact=True).click()
        page.get_by_label("Code").fill("000000")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("The code is wrong")
        page.get_by_label("Code").fill(code)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_selector(SETTLED)
    assert "app" in installation.run("people", "list").stdout
    installation.run("people", "reset-factors", "Bob")
    assert "Bob" not in installation.run("people", "sessions").stdout
