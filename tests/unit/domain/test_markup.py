"""Markup of our own: foreign text can never become markup."""

from __future__ import annotations

from dashboard.domain.markup import breakable, element, join, plain_label


def test_foreign_text_inside_an_element_is_escaped() -> None:
    assert element("p", "<b>&\"'") == "<p>&lt;b&gt;&amp;&quot;&#x27;</p>"


def test_foreign_text_in_an_attribute_cannot_leave_it() -> None:
    built = element("p", title='"><script>')

    assert built == '<p title="&quot;&gt;&lt;script&gt;"></p>'


def test_element_inside_an_element_is_kept() -> None:
    assert element("div", element("p", "a"), "<i>") == "<div><p>a</p>&lt;i&gt;</div>"


def test_joined_pieces_are_escaped_one_by_one() -> None:
    assert join("<", element("b", "x")) == "&lt;<b>x</b>"


def test_attribute_without_a_value_is_left_out() -> None:
    assert element("p", class_="a", title=None, aria_hidden="true") == (
        '<p class="a" aria-hidden="true"></p>'
    )


def test_long_name_breaks_where_its_parts_meet() -> None:
    assert breakable("BLAKE_<b>") == "BLAKE_<wbr>&lt;b&gt;"
    assert breakable("gone@example.org") == "gone@<wbr>example.org"
    assert breakable("HUB") == "HUB"
    assert breakable("") == ""


def test_label_of_a_widget_is_read_as_it_is_written() -> None:
    assert plain_label("a*b", 10) == r"a\*b"
