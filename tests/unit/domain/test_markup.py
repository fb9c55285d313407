"""Markup of our own: foreign text can never become markup."""

from __future__ import annotations

import pytest

from dashboard.domain.markup import breakable, element, join, plain_label


@pytest.mark.parametrize(
    ("built", "html"),
    [
        (element("p", "<b>&\"'"), "<p>&lt;b&gt;&amp;&quot;&#x27;</p>"),
        (element("p", title='"><script>'), '<p title="&quot;&gt;&lt;script&gt;"></p>'),
        (element("div", element("p", "a"), "<i>"), "<div><p>a</p>&lt;i&gt;</div>"),
        (join("<", element("b", "x")), "&lt;<b>x</b>"),
        (
            element("p", class_="a", title=None, aria_hidden="true"),
            '<p class="a" aria-hidden="true"></p>',
        ),
        (breakable("BLAKE_<b>"), "BLAKE_<wbr>&lt;b&gt;"),
        (breakable("gone@example.org"), "gone@<wbr>example.org"),
        (breakable("HUB"), "HUB"),
        (breakable(""), ""),
        (plain_label("a*b", 10), r"a\*b"),
    ],
)
def test_foreign_text_is_escaped_wherever_it_is_put(built: str, html: str) -> None:
    assert built == html
