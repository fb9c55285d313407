"""Mail addresses as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.people.recipients import MailAddress
from dashboard.errors import InputError


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ops@example.org", MailAddress("ops", "example.org")),
        ("o.p+s@localhost", MailAddress("o.p+s", "localhost")),
        ("ops@[192.0.2.1]", MailAddress("ops", "[192.0.2.1]")),
        ("ops@[IPv6:2001:db8::1]", MailAddress("ops", "[IPv6:2001:db8::1]")),
        ("Ops Team <ops@example.org>", MailAddress("ops", "example.org", "Ops Team")),
        ("Ops   Team  <ops@example.org>", MailAddress("ops", "example.org", "Ops Team")),
        ("<ops@example.org>", MailAddress("ops", "example.org")),
        ("Jörg <ops@example.org>", MailAddress("ops", "example.org", "Jörg")),
        ("ops@bücher.example", MailAddress("ops", "xn--bcher-kva.example")),
        ("ops@Straße.example", MailAddress("ops", "xn--strae-oqa.example")),
        ("用户@例子.example", MailAddress("用户", "xn--fsqu00a.example")),
        ("gru\u0308ße@example.org", MailAddress("grüße", "example.org")),
    ],
)
def test_address_is_read(text: str, address: MailAddress) -> None:
    assert MailAddress.parse(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ops",
        "@example.org",
        "ops@",
        "a b@example.org",
        ".a@example.org",
        "a..b@example.org",
        "a@b, c@d",
        "a@exa mple.org",
        "a@example..org",
        "a@-example.org",
        "a@ex\u2024ample_.",
        "a@\u0301.example",
        "a\u202eb@example.org",
        "A\r\nBcc: b <a@example.org>",
        "a@b\r\nBcc: c@d",
        f"{'a' * 81} <ops@example.org>",
        "=?utf-8?q?a?= <ops@example.org>",
        f"{'a' * 65}@example.org",
        f"a@{'a' * 60}.{'a' * 60}.{'a' * 60}.{'a' * 60}.{'a' * 60}",
        "<a@b> c",
        pytest.param("a@b" + " " * 1_000_000 + "<", id="blanks, at whose end begins an address"),
    ],
)
def test_text_that_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not an email address: write name@example"):
        MailAddress.parse(text)


@given(st.text(alphabet=st.characters(), max_size=80))
def test_any_text_is_an_address_in_one_line_or_refused(text: str) -> None:
    try:
        address = MailAddress.parse(text)
    except InputError:
        return

    assert address.domain.isascii()
    assert f"{address.display_name}{address.spec}".isprintable()


@pytest.mark.parametrize(("local", "is_international"), [("ops", False), ("grüße", True)])
def test_only_a_local_part_in_another_script_needs_more_of_a_server(
    local: str,
    is_international: bool,  # noqa: FBT001 - the case
) -> None:
    address = MailAddress.parse(f"{local}@bücher.example")

    assert address.is_international is is_international
    assert address.spec == f"{local}@xn--bcher-kva.example"
