"""Plays the tasks of a shift in a real browser: `python -m tests.journeys` prints what each takes.

They are played on invented figures of twelve networks.

A click is one press of the mouse, a key one press of the keyboard: a paste is one, Enter is one, a
name of three letters three. Seconds are those of the pages, as nobody reads or thinks here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.page_checks import SIZE, visit
from tests.browser.page_server import serving
from tests.browser.seeded_networks import profiles, rejected_hash
from tests.browser.site import LINK, SiteState
from tests.chromium import MILLISECONDS, running_browser

_NETWORK: Final = profiles(1)[0].network_id
_MANY: Final = 50
_HALF: Final = 10
"""Customers of twenty whose transaction was rejected."""


@dataclass(frozen=True)
class Site:
    """Pages at an address, some rejected transactions of theirs, and the link of a mail."""

    address: str
    rejected: Sequence[str]
    link: str


@dataclass
class Hands:
    """Somebody at a page, whose clicks and keys are counted."""

    page: Page
    site: Site
    clicks: int = 0
    keys: int = 0

    def open(self, address: str) -> None:
        """Begin on a page; that is not counted."""
        visit(self.page, f"{self.site.address}/{address}")

    def click(self, on: Locator) -> None:
        on.click()
        self.clicks += 1

    def button(self, name: str) -> None:
        """Press a button of the page."""
        self.click(self.page.get_by_role("button", name=name, exact=True).first)

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.keys += 1

    def type(self, text: str) -> None:
        """Press a key for each character."""
        self.page.keyboard.type(text)
        self.keys += len(text)

    def paste(self, text: str) -> None:
        """Paste what was copied elsewhere."""
        self.page.evaluate("(text) => navigator.clipboard.writeText(text)", text)
        self.press("Control+v")

    def copied(self) -> str:
        return str(self.page.evaluate("navigator.clipboard.readText()"))

    def save(self, on: Locator) -> str:
        """Press what saves a file; return what it holds."""
        with self.page.expect_download() as download:
            self.click(on)
        return Path(download.value.path()).read_text(encoding="utf-8")


def customers(site: Site, count: int) -> list[str]:
    """Return the hashes of so many customers: each second one was rejected."""
    rejected = iter(site.rejected)
    unknown = (f"0x{number + 0xC000_0000:064x}" for number in range(count))
    return [next(unknown) if number % 2 else next(rejected, "") for number in range(count)]


def one_after_another(hands: Hands, count: int = 20) -> None:
    """Answer customers one by one: paste, Enter, Copy."""
    hands.open("lookup")
    page = hands.page
    expect(page.get_by_label("Transactions, one or many")).to_be_focused()
    for each in customers(hands.site, count):
        hands.paste(each)
        hands.press("Enter")
        expect(page.get_by_role("heading", name=each)).to_be_visible()
        expect(page.locator(".st-key-copied-text code")).to_contain_text(each)
        hands.click(page.locator(".st-key-copied-text button"))
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert hands.copied().startswith(f"Transaction: {each}\n")


def all_at_once(hands: Hands, count: int = 20) -> None:
    """Look up many at once, and save the text for each customer."""
    hands.open("lookup")
    page = hands.page
    expect(page.get_by_label("Transactions, one or many")).to_be_focused()
    asked = [f"0x{number + (count << 16):064x}" for number in range(count)]
    hands.paste("\n".join(asked))
    hands.press("Enter")
    expect(page.get_by_role("status").get_by_text(f"{count:,} transactions: ")).to_be_visible()
    expect(page.get_by_text(f": {count:,} answered.")).to_be_visible()
    saved = hands.save(page.locator(".st-key-lookup_csv").get_by_role("button", name="CSV").first)
    assert [each for each in asked if each not in saved] == []


def cheap_hour(hands: Hands) -> None:
    """See how busy a network is on the Overview, and find its cheapest hours."""
    hands.open("")
    hands.button("Open the chart of Linea")
    expect(hands.page.get_by_role("link", name="Fees: longer times, cheap hours")).to_be_visible()
    hands.click(hands.page.get_by_role("link", name="Fees: longer times, cheap hours"))
    expect(hands.page.get_by_text("Usually below")).to_be_visible()


def two_networks(hands: Hands) -> None:
    """Compare the fees of two networks."""
    hands.open("fees")
    lines = hands.page.locator(".st-key-lines-drawn")
    for name in ("Linea", "Scroll"):
        hands.click(lines.get_by_role("button", name=name, exact=False).first)
    expect(hands.page.locator(".st-key-side-by-side .js-plotly-plot")).to_be_visible()
    hands.page.wait_for_url("**beside=**")


def from_mail_to_acknowledged(hands: Hands) -> None:
    """Follow the link of a mail, and acknowledge."""
    page = hands.page
    page.set_content(f'<a href="{hands.site.link}">Acknowledge</a>')
    hands.click(page.get_by_role("link", name="Acknowledge"))
    hands.click(page.get_by_role("button", name="Acknowledge"))
    expect(page.get_by_role("heading")).to_contain_text("cknowledged")


def hand_over(hands: Hands) -> None:
    """Name oneself, and hand an incident over to a colleague."""
    hands.open("alerts")
    page = hands.page
    hands.click(page.get_by_placeholder("Your name"))
    hands.type("Ada")
    hands.press("Tab")
    hands.button("More")
    hands.click(page.get_by_role("textbox", name="To whom"))
    hands.type("Bob")
    hands.press("Tab")
    hands.button("Hand over")
    expect(page.get_by_text("is handed over to Bob")).to_be_visible()


def silence(hands: Hands) -> None:
    """Silence what an incident is about for an hour; the name is known since the last act."""
    page = hands.page
    hands.button("Silence")
    hands.button("1 h")
    expect(page.get_by_text("is silenced until")).to_be_visible()


def worst_module(hands: Hands) -> None:
    """See on Rejections whether it gets worse; the module that rejects most, and its limit."""
    hands.open("rejections")
    page = hands.page
    expect(page.locator("h1 + p")).to_contain_text("the 24 h before")
    hands.click(page.locator("[class*=st-key-count-modules] .lw-count").first)
    expect(page.get_by_text("Prover module:")).to_be_visible()


def mute_for_the_night(hands: Hands) -> None:
    """Silence that module until the morning, on the same page; the name is known."""
    hands.button("Silence")
    hands.button("Until 07:00")
    expect(hands.page.get_by_text("is silenced until")).to_be_visible()


def track_fifty(hands: Hands) -> None:
    """Track fifty transactions with a case id, by paste."""
    hands.open("tracked")
    page = hands.page
    hands.click(page.get_by_text("Track transactions", exact=True))
    hands.click(page.get_by_label("Transaction hashes or explorer links"))
    hands.paste("\n".join(f"0x{number + 0xE000_0000:064x}" for number in range(_MANY)))
    hands.click(page.get_by_label("Case id", exact=True).first)
    hands.type("1742")
    hands.press("Enter")
    expect(page.get_by_text("50 newly tracked.")).to_be_visible()


def edit_ten(hands: Hands) -> None:
    """Choose ten of the list, and give them an owner."""
    hands.open("tracked")
    page = hands.page
    hands.click(page.get_by_placeholder("Your name"))
    hands.type("Ada")
    hands.press("Tab")
    boxes = page.locator(".st-key-card-tracked [data-testid=stCheckbox] label")
    hands.click(boxes.first)
    expect(page.get_by_role("button", name="Edit 1 chosen")).to_be_visible()
    page.keyboard.down("Shift")
    hands.click(boxes.nth(9))
    page.keyboard.up("Shift")
    hands.keys += 1
    hands.click(page.get_by_role("button", name="Edit 10 chosen"))
    form = page.get_by_test_id("stPopoverBody")
    hands.click(form.get_by_label("Owner", exact=True))
    hands.type("Bob")
    hands.press("Enter")
    expect(page.get_by_text("10 transactions are changed.")).to_be_visible()


def save_filter(hands: Hands) -> None:
    """List the transactions of a case, and save that filter for everybody."""
    page = hands.page
    hands.click(page.locator(".st-key-group").get_by_role("combobox").last)
    hands.click(page.get_by_role("option", name="Case id"))
    hands.click(page.get_by_role("button", name="1742"))
    hands.click(page.get_by_role("button", name="Save this filter"))
    hands.click(page.get_by_label("Name, seen by everybody"))
    hands.type("Case")
    hands.press("Enter")
    expect(page.get_by_role("button", name="Case", exact=True)).to_be_visible()


def export_and_import(hands: Hands) -> None:
    """Save what fits as JSON, and read the file again."""
    page = hands.page
    content = hands.save(
        page.locator(".st-key-tracked_json").get_by_role("button", name="JSON").first
    )
    assert len(json.loads(content)) == _MANY
    hands.click(page.get_by_text("Track transactions", exact=True))
    hands.click(page.get_by_role("tab", name="File"))
    with page.expect_response(lambda response: "/upload_file/" in response.url):
        page.locator("input[type=file]").set_input_files(
            {"name": "list.json", "mimeType": "application/json", "buffer": content.encode()}
        )
    hands.clicks += 2  # the file is chosen in a window of the browser
    hands.click(page.get_by_role("button", name="Track", exact=True).last)
    expect(page.get_by_text("all 50 were tracked already")).to_be_visible()


@dataclass(frozen=True)
class Journey:
    """A task, and who plays it."""

    task: str
    play: Callable[[Hands], None]


JOURNEYS: Final = (
    Journey("Answer 20 customers one after another", one_after_another),
    Journey("Answer 20 at once, as a file of texts", all_at_once),
    Journey("Answer 1,000 at once, as a file of texts", partial(all_at_once, count=1_000)),
    Journey("From a busy network to its cheapest hours", cheap_hour),
    Journey("Compare the fees of two networks", two_networks),
    Journey("From a mail to acknowledged", from_mail_to_acknowledged),
    Journey("Hand an incident over, by name", hand_over),
    Journey("Silence an incident for an hour", silence),
    Journey("Which module rejects most, is it worse, its limit", worst_module),
    Journey("Mute that module for the night", mute_for_the_night),
    Journey("Track 50 transactions with a case id", track_fifty),
    Journey("Give ten of them an owner", edit_ten),
    Journey("Save a filter for everybody", save_filter),
    Journey("Export 50 as JSON, and import them", export_and_import),
)


@contextmanager
def seeded(networks: int = 12) -> Iterator[Site]:
    """Serve invented figures of so many networks."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        with serving(SiteState.SHIFT, folder, networks=networks) as address:
            rejected = [str(rejected_hash(_NETWORK, number)) for number in range(_HALF)]
            yield Site(address, rejected, address + (folder / LINK).read_text())


@contextmanager
def somebody(browser: Browser, site: Site) -> Iterator[Hands]:
    """Yield the hands of somebody who opened a window."""
    with browser.new_context(viewport=SIZE) as context:
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(MILLISECONDS)
        yield Hands(context.new_page(), site)


def main() -> None:
    """Play them all in one window, and print a line of a table for each."""
    with seeded() as site, running_browser() as browser, somebody(browser, site) as hands:
        for journey in JOURNEYS:
            hands.clicks = hands.keys = 0
            began = monotonic()
            journey.play(hands)
            took = f"{hands.clicks} | {hands.keys} | {monotonic() - began:.1f} s"
            sys.stdout.write(f"| {journey.task} | {took} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
