"""Foreign text in a chat calls nobody and hides no link."""

from __future__ import annotations

import pytest

from dashboard.alert.channels.apprise_service import inert


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("@everyone <!channel> <@U123>", "＠everyone ‹!channel› ‹＠U123›"),  # noqa: RUF001 - meant
        ("@**all** @*ops* @_**ann**", "＠**all** ＠*ops* ＠_**ann**"),  # noqa: RUF001 - Zulip
        ("[your bank](https://evil.example)", "[your bank] (https://evil.example)"),
        ("paid 3 @ 5 gwei", "paid 3 @ 5 gwei"),
    ],
)
def test_foreign_text_calls_nobody_and_hides_no_link(hostile: str, shown: str) -> None:
    assert inert(hostile) == shown
