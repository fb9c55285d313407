"""`streamlit run app.py` is the whole product as well, and takes it along when it ends."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from playwright.sync_api import expect

from tests.chromium import MILLISECONDS, running_browser
from tests.installation import answers, new_installation
from tests.waiting import eventually


def test_streamlit_run_starts_the_rest_takes_it_along_and_greys_what_is_old(tmp_path: Path) -> None:
    installation = new_installation(tmp_path / "home")
    streamlit = [sys.executable, "-m", "streamlit", "run", "app.py"]
    port = ["--server.port", str(installation.pages_port)]

    with (
        running_browser() as browser,
        installation.start([*streamlit, *port], tmp_path / "log") as process,
    ):
        eventually(lambda: answers(installation.pages), what="the first page")
        page = browser.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.goto(installation.pages)
        expect(page.get_by_text("devnet").first).to_be_visible()
        expect(page.get_by_text("Busy above").first).to_be_visible()
        os.kill(process.pid, signal.SIGKILL)

        eventually(lambda: not installation.processes(), what="the end of the rest")
        expect(page.get_by_test_id("stMain")).to_have_css("filter", "grayscale(1)")
