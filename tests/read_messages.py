"""A message as people read it: subject, plain text, and what HTML says and does beside that."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from dashboard.alert.message import Message

_PIECES = frozenset({"p", "td", "th", "li", "h1", "h2", "div"})
_MARKS = re.compile(r"\n(?:> |\d+\. |-- ?$)?|\s{2,}", re.MULTILINE)
_SIGNATURE = re.compile(r"/link/[\w.~%-]+")


class _Pieces(HTMLParser):
    """Collects what paragraphs, cells and headings of HTML say, with where links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces = [""]
        self._silent = False
        self._link = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self._silent |= tag in {"style", "title"}
        if tag in _PIECES:
            name = known.get("class") or ""
            self.pieces.append(f"({name}) " if name.startswith(("card", "preheader")) else "")
        elif tag == "br":
            self.pieces.append("")
        elif tag == "s":
            self.pieces[-1] += "~"
        elif tag == "a":
            self._link = known.get("href") or ""
        elif tag == "img":
            self.pieces.append(f"[picture: {known.get('alt')}]")

    def handle_endtag(self, tag: str) -> None:
        if tag in {"style", "title"}:
            self._silent = False
        elif tag in _PIECES:
            self.pieces.append("")
        elif tag == "s":
            self.pieces[-1] += "~"
        elif tag == "a":
            self.pieces[-1] += f" <{self._link}>"

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.pieces[-1] += data


def as_read(message: Message) -> str:
    """Return all that somebody reads, without saying in HTML again what plain text says.

    What only one of both says stands below it: a fact that one of them lost is seen there.
    """
    parser = _Pieces()
    parser.feed(message.html)
    pieces = [" ".join(each.split()) for each in parser.pieces]
    html, plain = " ".join(pieces), " ".join(message.text.replace("`", "").split())
    facts = [each.rstrip(":") for each in _MARKS.split(message.text.replace("`", ""))]
    lines = [
        f"Subject: {message.subject}",
        message.text.strip(),
        "-- in HTML alone",
        *(each for each in pieces if each and each not in plain),
        "-- in plain text alone",
        *(each for each in facts if each not in html and "://" not in each),
        *(f"-- attached: {each.name}" for each in message.attachments),
    ]
    return _SIGNATURE.sub("/link/…", "\n".join(lines))
