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
        (element("p", "1.5 gwei, 2 h <"), "<p>1.5\xa0gwei, 2\xa0h &lt;</p>"),
        (element("p", "0.25 µETH at 12:14:00 UTC"), "<p>0.25\xa0µETH at 12:14:00\xa0UTC</p>"),
        (element("p", element("b", "3 s"), title="4 s"), '<p title="4 s"><b>3\xa0s</b></p>'),
        (element("p", "5 hashes of 12 modules"), "<p>5 hashes of 12 modules</p>"),
        (element("code", "mon-fri 08:00, 1 h"), "<code>mon-fri 08:00, 1 h</code>"),
        (plain_label("down 2 h", 20), "down 2\xa0h"),
    ],
)
def test_foreign_text_is_escaped_wherever_it_is_put(built: str, html: str) -> None:
    assert built == html
