"""Silences and maintenance windows: when they last, what they cover, what cannot be meant."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from dashboard.domain.matcher import MatchedProperty, Matcher
from dashboard.domain.silence import (
    Silence,
    SilenceKind,
    SilenceRequest,
    SilenceState,
    check_request,
    held_by,
    silenced_by,
)
from dashboard.errors import InputError
from tests.builders import A_MOMENT, an_id

HOUR = timedelta(hours=1)
HUB = Matcher(MatchedProperty.MODULE, "HUB")
NO_HUB = Matcher(MatchedProperty.MODULE, "HUB", is_equal=False)
OF_HUB = {MatchedProperty.MODULE: "HUB"}
OF_ADD = {MatchedProperty.MODULE: "ADD"}


def a_wish(**changes: Any) -> SilenceRequest:  # noqa: ANN401 - any field
    """Return the wish to silence the module HUB for an hour."""
    fields: dict[str, Any] = {
        "request_id": an_id(1),
        "kind": SilenceKind.SILENCE,
        "matchers": (HUB,),
        "starts_at": A_MOMENT,
        "ends_at": A_MOMENT + HOUR,
        "reason": "known",
    }
    return SilenceRequest(**(fields | changes))


def a_silence(number: int = 1, ended_at: datetime | None = None, **changes: Any) -> Silence:  # noqa: ANN401 - any field of the wish
    """Return the silence that was made of `a_wish()`."""
    return Silence(number, a_wish(**changes), "ada", A_MOMENT, ended_at)


def a_window(number: int, start: int, end: int) -> Silence:
    """Return a maintenance window from one hour to another."""
    return a_silence(
        number,
        kind=SilenceKind.MAINTENANCE,
        starts_at=A_MOMENT + start * HOUR,
        ends_at=A_MOMENT + end * HOUR,
    )


@pytest.mark.parametrize(
    ("hours", "state"),
    [
        (-1, SilenceState.PLANNED),
        (0, SilenceState.ACTIVE),
        (0.999, SilenceState.ACTIVE),
        (1, SilenceState.OVER),
    ],
)
def test_silence_lasts_from_its_start_until_before_its_end(
    hours: float, state: SilenceState
) -> None:
    assert a_silence().state(A_MOMENT + hours * HOUR) is state


def test_silence_that_a_person_ended_is_over_since_then() -> None:
    ended = a_silence(ended_at=A_MOMENT + HOUR / 2)

    assert ended.state(A_MOMENT + HOUR / 2) is SilenceState.OVER
    assert ended.over_at == A_MOMENT + HOUR / 2


def test_silence_that_was_ended_before_its_start_never_lasts() -> None:
    cancelled = a_silence(ended_at=A_MOMENT - HOUR)

    assert cancelled.state(A_MOMENT) is SilenceState.OVER


def test_change_is_silenced_while_a_silence_that_fits_lasts() -> None:
    silence = a_silence()

    assert silenced_by([silence], OF_HUB, A_MOMENT) is silence
    assert silenced_by([silence], OF_ADD, A_MOMENT) is None
    assert silenced_by([silence], OF_HUB, A_MOMENT + HOUR) is None
    assert silenced_by([a_window(1, 0, 1)], OF_HUB, A_MOMENT) is None


def test_of_two_silences_the_one_that_lasts_longer_is_named() -> None:
    longer = a_silence(2, ends_at=A_MOMENT + 2 * HOUR)

    assert silenced_by([a_silence(), longer], OF_HUB, A_MOMENT) is longer


def test_change_is_held_until_the_end_of_windows_that_follow_each_other() -> None:
    windows = [a_window(3, 5, 6), a_window(1, 0, 2), a_window(2, 2, 4), a_window(4, 1, 3)]

    held = held_by(windows, OF_HUB, A_MOMENT)

    assert held is windows[2]
    assert held_by(windows, OF_ADD, A_MOMENT) is None
    assert held_by([a_silence()], OF_HUB, A_MOMENT) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ends_at": A_MOMENT}, "not after its start at 2026-11-20 12:00:00 UTC"),
        (
            {"starts_at": A_MOMENT - 2 * HOUR, "ends_at": A_MOMENT - HOUR},
            "would be over since 2026-11-20 11:00:00 UTC",
        ),
        ({"ends_at": A_MOMENT + timedelta(days=367)}, "longer than 366 days"),
        ({"reason": "  "}, "has no reason"),
        ({"reason": "x" * 301}, "has 301 characters: write at most 300"),
        ({"matchers": (HUB,) * 21}, "21 matchers are too many"),
        ({"matchers": (HUB, NO_HUB)}, "module cannot be HUB and not be it"),
        ({"matchers": ()}, "has no matcher and would cover everything: name what is meant"),
        ({"matchers": (NO_HUB,)}, "no matcher but module!=HUB and would cover everything else"),
    ],
)
def test_what_nobody_can_have_meant_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        check_request(a_wish(**changes), A_MOMENT)

    assert said in str(refused.value)


@pytest.mark.parametrize("matchers", [(), (NO_HUB,)])
def test_everything_is_silenced_where_that_was_said(matchers: tuple[Matcher, ...]) -> None:
    check_request(a_wish(matchers=matchers), A_MOMENT, covers_all=True)
    check_request(a_wish(), A_MOMENT)
