"""A mail of each kind: whole, well-formed, and as good in plain text as in HTML."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from tests.golden_texts import GoldenTexts
from tests.mail_samples import as_mail, mail_sample, sample_kinds
from tests.read_messages import as_read
from tests.received_mail import read_mail

SAMPLES = pytest.mark.parametrize("kind", sample_kinds())
_TOLD = {"p", "td", "li"}
_LARGEST = 100_000


class ToldPieces(HTMLParser):
    """Collects what paragraphs, cells and steps of HTML say, without what is for the eye only."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._is_told = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a piece; what stands below a line break belongs to it."""
        if tag == "br" and self._is_told:
            self.pieces[-1] += ": "
        if tag in _TOLD:
            is_for_the_eye = dict(attrs).get("class") in {
                "actions",
                "buttons",
                "chart",
                "foot",
                "kicker",
                "small",
            }
            self._is_told = not is_for_the_eye
            if self._is_told:
                self.pieces.append("")

    def handle_endtag(self, tag: str) -> None:
        """End a piece."""
        if tag in _TOLD:
            self._is_told = False

    def handle_data(self, data: str) -> None:
        """Add to a piece."""
        if self._is_told:
            self.pieces[-1] += data


@SAMPLES
def test_mail_of_each_kind_is_well_formed_and_small(kind: str) -> None:
    content = as_mail(mail_sample(kind))

    assert read_mail(content)["Subject"]
    assert len(content) < _LARGEST


@SAMPLES
def test_plain_text_says_all_that_the_html_says(kind: str) -> None:
    message = mail_sample(kind)
    told = ToldPieces()
    told.feed(message.html)
    plain = " ".join(message.text.replace("`", "").split())

    missing = [piece for piece in told.pieces if " ".join(piece.split()) not in plain]

    assert missing == []


@SAMPLES
def test_mail_asks_nothing_from_elsewhere(kind: str) -> None:
    html = mail_sample(kind).html

    assert [
        each for each in ("<script", "<link", "<iframe", "@import", "url(") if each in html
    ] == []
    assert html.count("<img") == html.count('<img src="cid:')


@SAMPLES
def test_subject_is_one_line_that_a_list_of_mails_can_show(kind: str) -> None:
    message = mail_sample(kind)

    assert len(message.subject) < 80
    assert message.subject.isprintable()


def test_mail_of_each_kind_reads_as_it_was_reviewed(golden: GoldenTexts) -> None:
    golden.check("mails", {kind: as_read(mail_sample(kind)) for kind in sample_kinds()})
