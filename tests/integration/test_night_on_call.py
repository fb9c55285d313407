"""The story of docs/alerts.md, played with a real Exim: what is told there is what was received."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.exim import Exim, running_exim
from tests.integration.night_on_call import Night, links_in, night_on_call, open_link
from tests.processes import PROJECT

PAGE = (
    (PROJECT / "docs" / "alerts.md").read_text(encoding="utf-8").partition("## A night on call")[2]
)
RULES = "\n".join(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
[TOLD, TOLD_WITHOUT_ANN] = re.findall(r"(?<=\| subject \|\n\|---\|---\|---\|\n)(?:\|.*\n)+", PAGE)


@pytest.fixture
def exim() -> Iterator[Exim]:
    with running_exim("oncall", "team", "lead") as running:
        yield running


@pytest.fixture
def night(tmp_path: Path, exim: Exim) -> Iterator[Night]:
    with night_on_call(tmp_path, exim, RULES) as begun:
        yield begun


def in_words(night: Night) -> str:
    """Return what was received as the lines of a table."""
    lines = [f"| {at:%H:%M:%S} | {to} | {mail['Subject']} |\n" for at, to, mail in night.received()]
    return "".join(lines)


async def test_night_on_call_brings_what_the_page_tells_and_nothing_twice(night: Night) -> None:
    night.until("02:10", 60)
    for minute in range(4):
        night.reject(10, module="ADD")
        night.reject(5, module="HUB")
        if minute == 2:
            night.reject(1, "Payout 7781 #payout")
        night.until(f"02:1{minute}:01")
        night.until(f"02:1{minute + 1}", 20)
    night.until("02:16", 60)
    [(_, _, mail)] = night.received()
    acknowledge, *_ = links = links_in(mail)
    scanned = [(await open_link(each)).status_code for each in links]
    answer = await open_link(acknowledge, name="Ann", note="looking")

    night.until("02:16:01")
    night.until("02:20", 60)
    night.exim.stop()
    night.until("02:24", 60)
    night.reject(1, "Payout 7790 #payout")
    night.until("03:20", 60)
    night.exim.start()
    night.until("03:25", 10)
    night.until("06:59", 600)
    night.until("07:00:10")

    assert set(scanned) == {200}
    assert "is acknowledged by Ann" in answer.text
    assert in_words(night) == TOLD
    for mailbox in ("oncall", "team"):
        assert night.named(mailbox) == dict.fromkeys(night.rejected, 1)


async def test_night_on_call_escalates_where_nobody_acknowledges(night: Night) -> None:
    night.until("02:12", 60)
    night.reject(1, "Payout 7781 #payout")
    night.until("02:12:01")
    night.until("02:40", 20)

    assert in_words(night) == TOLD_WITHOUT_ANN
