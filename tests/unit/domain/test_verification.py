"""Verification: few mails, a code that ends, few tries; the first confirmation stays."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from dashboard.domain.alerts.notification import (
    DeliveryAttempt,
    DeliveryResult,
    NotificationState,
    Recipient,
)
from dashboard.domain.people.access import Actor
from dashboard.domain.people.verification import (
    MOST_ATTEMPTS,
    MOST_HOURLY,
    MOST_REQUESTS,
    MOST_WRONG_CODES,
    VALID_FOR,
    Verification,
    attempted,
    code_of,
    delivered,
    enter_code,
    expires_at,
    mail_id_of,
    mail_state,
    request_mail,
    verified,
)
from dashboard.errors import InputError
from tests.builders import A_MOMENT, HOUR

OPS = Recipient("mail", "ops@example.org")
KEY = b"k" * 32
ADA = Actor("Ada", A_MOMENT)
NEW = Verification(OPS)


def test_address_gets_a_few_verification_mails_in_a_day() -> None:
    asked = NEW
    for number in range(MOST_REQUESTS):
        asked = request_mail(asked, [], A_MOMENT + number * HOUR)

    with pytest.raises(InputError, match="was sent 3 verification mails: try again in 21 h"):
        request_mail(asked, [], A_MOMENT + 3 * HOUR)
    assert request_mail(asked, [], A_MOMENT + 24 * HOUR).requests == 1


def test_few_mails_are_asked_for_in_all() -> None:
    recently = [A_MOMENT - timedelta(minutes=59)] * MOST_HOURLY

    with pytest.raises(InputError, match="try again in an hour"):
        request_mail(NEW, recently, A_MOMENT)
    assert request_mail(NEW, recently, A_MOMENT + HOUR).requested_at == A_MOMENT + HOUR


def test_who_is_verified_is_not_asked_again() -> None:
    with pytest.raises(InputError, match="is verified already"):
        request_mail(verified(NEW, ADA), [], A_MOMENT)


def test_attempts_come_less_and_less_often_and_end() -> None:
    tried = request_mail(NEW, [], A_MOMENT)
    waits = []
    for _ in range(MOST_ATTEMPTS):
        tried = attempted(tried, A_MOMENT)
        waits.append(tried.next_attempt_at and tried.next_attempt_at - A_MOMENT)

    assert waits[:2] == [timedelta(minutes=2), timedelta(minutes=4)]
    assert waits[-2:] == [HOUR, None]


def test_each_attempt_is_kept_also_where_another_mail_was_asked_for_meanwhile() -> None:
    first = attempted(request_mail(NEW, [], A_MOMENT), A_MOMENT)
    later, sent = (
        DeliveryAttempt(A_MOMENT + number * HOUR, result, result)
        for number, result in enumerate((DeliveryResult.DEFERRED, DeliveryResult.SENT))
    )

    known = delivered(first, A_MOMENT, later)
    assert (known.outcome, known.next_attempt_at) == ("deferred", first.next_attempt_at)
    again = delivered(request_mail(known, [], A_MOMENT + HOUR), A_MOMENT, sent)
    assert (again.deliveries, again.sent_at, again.outcome) == ((later, sent), None, "")
    for _ in range(MOST_REQUESTS * MOST_ATTEMPTS):
        again = delivered(again, again.requested_at, sent)
    assert set(again.deliveries) == {sent}
    assert (again.sent_at, again.next_attempt_at) == (sent.attempted_at, None)
    refused = DeliveryAttempt(A_MOMENT, DeliveryResult.REFUSED, "550 no")
    assert mail_state(delivered(first, A_MOMENT, refused), A_MOMENT) is NotificationState.DEAD


@pytest.mark.parametrize("write", [str, str.lower, lambda code: f" {code[:4]}-{code[4:]} "])
def test_code_of_the_mail_verifies_however_it_is_written(write: object) -> None:
    assert callable(write)
    asked = request_mail(NEW, [], A_MOMENT)

    known = enter_code(asked, write(code_of(asked, KEY)), KEY, ADA)

    assert (known.verified_at, known.verified_by) == (A_MOMENT, "Ada")
    assert enter_code(known, "anything", KEY, Actor("Bob", A_MOMENT + HOUR)) == known
    assert verified(known, Actor("Bob", A_MOMENT + HOUR)) == known


def test_code_of_another_request_address_or_key_is_wrong() -> None:
    asked = request_mail(NEW, [], A_MOMENT)
    others = (
        replace(asked, recipient=Recipient("mail", "dev@example.org")),
        replace(asked, requested_at=A_MOMENT + HOUR),
        NEW,
    )

    for each in [
        *(code_of(other, KEY) for other in others),
        code_of(asked, b"other"),
        "",
        "\u017f\ud800",
    ]:
        tried = enter_code(asked, each, KEY, ADA)
        assert (tried.verified_at, tried.wrong_codes) == (None, 1)


def test_right_code_is_refused_after_too_many_wrong_ones() -> None:
    asked = request_mail(NEW, [], A_MOMENT)
    code = code_of(asked, KEY)
    for _ in range(MOST_WRONG_CODES):
        asked = enter_code(asked, "WRONG", KEY, ADA)

    with pytest.raises(InputError, match="5 wrong codes were given"):
        enter_code(asked, code, KEY, ADA)
    assert request_mail(asked, [], A_MOMENT + HOUR).wrong_codes == 0


def test_code_ends_three_days_after_its_request() -> None:
    asked = request_mail(NEW, [], A_MOMENT)
    late = Actor("Ada", A_MOMENT + VALID_FOR)

    with pytest.raises(InputError, match="is valid now"):
        enter_code(asked, code_of(asked, KEY), KEY, late)
    with pytest.raises(InputError, match="no code"):
        enter_code(NEW, code_of(NEW, KEY), KEY, ADA)
    assert (expires_at(NEW), expires_at(asked)) == (None, A_MOMENT + VALID_FOR)


def test_id_of_a_mail_is_that_of_its_request_and_unknown_without_the_key() -> None:
    asked = request_mail(NEW, [], A_MOMENT)
    ids = {
        mail_id_of(asked, KEY),
        mail_id_of(attempted(asked, A_MOMENT), KEY),
        mail_id_of(asked, b"other" * 7),
        mail_id_of(replace(asked, requested_at=A_MOMENT + HOUR), KEY),
    }

    assert len(ids) == 3
    assert code_of(asked, KEY).lower() not in str(ids)


ASKED = request_mail(NEW, (), A_MOMENT)


@pytest.mark.parametrize(
    ("verification", "after", "state"),
    [
        (ASKED, timedelta(), NotificationState.PENDING),
        (attempted(ASKED, A_MOMENT), HOUR, NotificationState.PENDING),
        (replace(ASKED, next_attempt_at=None), HOUR, NotificationState.DEAD),
        (ASKED, VALID_FOR, NotificationState.DEAD),
        (verified(ASKED, ADA), HOUR, NotificationState.DEAD),
        (replace(ASKED, sent_at=A_MOMENT), VALID_FOR, NotificationState.SENT),
        (NEW, HOUR, NotificationState.DEAD),
    ],
)
def test_mail_is_pending_until_it_is_sent_or_cannot_be_any_more(
    verification: Verification, after: timedelta, state: NotificationState
) -> None:
    assert mail_state(verification, A_MOMENT + after) is state
