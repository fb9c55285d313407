"""What an HTTP answer to a notification means: whether another attempt may succeed.

A notification that is marked dead wrongly is lost, one that stays pending wrongly costs a few
attempts more. So only 410 is final: the receiver says itself that it is permanently gone. A 404, a
redirect or a refused key may be a wrong address, which somebody may correct within seven days.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from dashboard.alert.channels.http_exchange import HttpAnswer
from dashboard.errors import DeliveryBlocked, DeliveryDeferred, DeliveryRefused

_ABOUT_THE_MESSAGE: Final = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
}
"""Another message may be taken."""

_REMEDIES: Final = {
    HTTPStatus.UNAUTHORIZED: "check its keys in [channels]",
    HTTPStatus.FORBIDDEN: "check its keys in [channels]",
    HTTPStatus.NOT_FOUND: "check its url in [channels]",
}


def judge(answer: HttpAnswer) -> str:
    """Return the answer where the message was taken.

    DeliveryRefused where the receiver is permanently gone, DeliveryDeferred where it dislikes this
    message, DeliveryBlocked for all else, with the wait that it asks for.
    """
    status = answer.status
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return answer.text
    if status == HTTPStatus.GONE:
        raise DeliveryRefused(f"it is permanently gone: {answer.text}")
    if status in _ABOUT_THE_MESSAGE:
        raise DeliveryDeferred(f"it refused the message: {answer.text}")
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        raise DeliveryBlocked(
            f"it redirects, which is not followed: {answer.text}; "
            "write the new address in [channels]"
        )
    remedy = _REMEDIES.get(HTTPStatus(status)) if status in set(HTTPStatus) else None
    text = f"it answered {answer.text}" + (f"; {remedy}" if remedy else "")
    raise DeliveryBlocked(text, answer.retry_after)
