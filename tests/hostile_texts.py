"""Texts of somebody who wants more than to be read, and what each would make of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

OUTSIDE: Final = "outside.invalid"
"""The host that every address of the texts names; nothing may ask it."""


@dataclass(frozen=True)
class HostileText:
    """A text, and the CSS selector of what a page would hold if it were not taken as text."""

    name: str
    text: str
    trap: str | None = None


HOSTILE_TEXTS: Final = (
    HostileText("script", "<script>window.hostile='script'</script>", "script:text('hostile=')"),
    HostileText(
        "image",
        f"<img src=https://{OUTSIDE}/a.png onerror=\"window.hostile='image'\">",
        f"img[src*='{OUTSIDE}']",
    ),
    HostileText(
        "vector", "<svg onload=\"window.hostile='vector'\"><g id=hostile-g></svg>", "#hostile-g"
    ),
    HostileText(
        "frame", f"<iframe src=//{OUTSIDE}/f></iframe><object data=//{OUTSIDE}/o>", "iframe"
    ),
    HostileText(
        "form", f"<form id=hostile-form action=//{OUTSIDE}/p><input autofocus>", "#hostile-form"
    ),
    HostileText("style", "<style id=hostile-style>body{display:none}</style>", "#hostile-style"),
    HostileText("tags", "</td></p></div><h1 id=hostile-h1>All is well</h1>", "#hostile-h1"),
    HostileText(
        "attribute",
        "\" onmouseover=\"window.hostile='over'\" class='hostile-class'><b id='hostile-b'>",
        ".hostile-class, #hostile-b",
    ),
    HostileText(
        "entity", "&lt;i id=hostile-i&gt;&#60;u id=hostile-u&#62;", "#hostile-i, #hostile-u"
    ),
    HostileText(
        "strong",
        "**hostile-strong** _hostile-em_ ~~hostile-del~~ `hostile-code`",
        "strong:text-is('hostile-strong'), em:text-is('hostile-em'), del:text-is('hostile-del')",
    ),
    HostileText(
        "heading",
        "# hostile-heading\n\n- hostile-item\n\n| a | b |\n|---|---|\n| c | d |",
        "h1:text-is('hostile-heading'), li:text-is('hostile-item')",
    ),
    HostileText(
        "link",
        f"[hostile-link](https://{OUTSIDE}/l) https://{OUTSIDE}/bare www.{OUTSIDE}",
    ),
    HostileText(
        "script link",
        "[hostile-js](javascript:window.hostile='link') <a href=javascript:x>x</a>",
    ),
    HostileText(
        "picture",
        f"![hostile-picture](https://{OUTSIDE}/b.png) ![x][y]\n\n[y]: https://{OUTSIDE}/c.png",
        "img[alt='hostile-picture'], img[alt='x']",
    ),
    HostileText(
        "colour",
        ":red[hostile-red] :blue-badge[hostile-badge] :material/home: :smile:",
        "span:text-is('hostile-red'), .stMarkdownBadge",
    ),
    HostileText("formula of mathematics", r"$x^{hostile}$ $$\frac{1}{2}$$ \(x\)", ".katex"),
    HostileText(
        "template",
        "{{7*7}} ${7*7} {% raw %} %(name)s {0.__class__} %{y} %{customdata}<extra></extra>",
    ),
    HostileText(
        "plotly",
        f'<a href="https://{OUTSIDE}/p">hostile-plotly</a><br><b>x</b>',
    ),
    HostileText("sum", "=1+1"),
    HostileText("hyperlink", f'=HYPERLINK("https://{OUTSIDE}/x","click")'),
    HostileText("plus", "+cmd|' /C calc'!A0"),
    HostileText("minus", "-2+3+cmd|' /C calc'!A0"),
    HostileText("at", "@SUM(1+1)*cmd|' /C calc'!A0"),
    HostileText("another separator", "pay;@SUM(1+1)|=1+1"),
    HostileText("tab", "\t=1+1"),
    HostileText("wide sign", "\uff1d1+1"),
    HostileText("quote", '",=1+1,"\n=2+2'),
    HostileText("line ends", f"hostile\r\nBcc: x@{OUTSIDE}\r\n\r\n<b id=hostile-body>"),
    HostileText("terminal", "\x1b[31mhostile\x1b]0;title\x07\x9b2J\x08\x7f"),
    HostileText("right to left", "\u202egnp.exe\u2066\u200f\u200b\ufeff\u2028hostile"),
    HostileText("long", "hostile" * 40),
)


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet would compute a cell of a file; numbers alone are none."""
    bare = cell.lstrip()
    if not bare or bare[0] not in "=+-@|%\uff1d\uff0b\uff0d\uff20":
        return False
    try:
        float(bare)
    except ValueError:
        return True
    return False
