"""Draws one mail of each kind: `python -m tests.mail_pictures FOLDER`.

Each is written as a mail, for SpamAssassin and mail programs, and as Chromium shows it, light and
dark, 640 and 360 pixels wide.
"""

from __future__ import annotations

import sys
from base64 import b64encode
from pathlib import Path
from typing import Final, Literal

from playwright.sync_api import Browser

from dashboard.alert.message import Message
from tests.chromium import running_browser
from tests.mail_samples import as_mail, mail_sample, sample_kinds

_WIDTHS: Final = (640, 360)
_SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")


def draw_mails(folder: Path) -> None:
    """Write every sample into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with running_browser() as browser:
        for kind in sample_kinds():
            message, stem = mail_sample(kind), kind.replace(" ", "-")
            (folder / f"{stem}.eml").write_bytes(as_mail(message))
            _draw(browser, message, folder / stem)


def _draw(browser: Browser, message: Message, stem: Path) -> None:
    for scheme in _SCHEMES:
        for width in _WIDTHS:
            page = browser.new_page(viewport={"width": width, "height": 300}, color_scheme=scheme)
            page.set_content(_with_pictures(message))
            page.screenshot(path=f"{stem}-{scheme}-{width}.png", full_page=True)
            page.close()


def _with_pictures(message: Message) -> str:
    """Return the HTML with its pictures inside, as a mail program shows it."""
    html = message.html
    for image in message.images:
        address = f"data:image/png;base64,{b64encode(image.content).decode('ascii')}"
        html = html.replace(f"cid:{image.content_id}", address)
    return html


if __name__ == "__main__":
    draw_mails(Path(sys.argv[1]))
