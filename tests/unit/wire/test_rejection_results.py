"""Results of queries have all that is known, in the form of the record."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import json

from dashboard.domain.rejections.exclusion import ArchivedRejection, ModuleOverflow, RejectionStage
from dashboard.errors import WireError
from dashboard.wire.rejection_query import (
    LARGEST_ANSWER,
    decode_cursor,
    encode_counts,
    encode_cursor,
    encode_page,
    encode_rejection,
    encode_versions,
    within_bounds,
)
from tests.builders import A_MOMENT, A_NETWORK, a_record, a_rejection, an_address, an_id, seconds

INSTALLATION = an_id(2**127)


def written(archived: ArchivedRejection) -> dict[str, Any]:
    found: dict[str, Any] = json.decode(encode_rejection(archived, INSTALLATION))
    return found


def test_reported_rejection_is_written_with_everything() -> None:
    rejection = a_rejection(
        rejection_id=9,
        reported_at=A_MOMENT + seconds(4),
        overflows=(ModuleOverflow("HUB", 3, 2),),
    )

    item = written(ArchivedRejection(rejection, is_signed_held=True, recipient=an_address(2)))

    assert item == {
        "networkId": hex(A_NETWORK),
        "txHash": f"0x{1:064x}",
        "from": f"0x{1:040x}",
        "nonce": "0x5",
        "txRejectionStage": "RPC",
        "reasonMessage": "Transaction line count for module ADD=600000 is above the limit 524288",
        "timestamp": "2026-11-20T12:00:00Z",
        "firstSeenAt": "2026-11-20T12:00:03Z",
        "reportedAt": "2026-11-20T12:00:04Z",
        "source": "reported",
        "module": "ADD",
        "reasonKind": "over_limit",
        "count": 600000,
        "limit": 524288,
        "overrun": 1.1444,
        "overflows": [{"module": "HUB", "count": 3, "limit": 2}],
        "cursor": encode_cursor(9, INSTALLATION),
        "recipient": f"0x{2:040x}",
    }


def test_polled_rejection_has_no_recipient_and_a_deployment_has_none() -> None:
    polled = written(ArchivedRejection(a_rejection()))
    deployment = written(ArchivedRejection(a_rejection(), is_signed_held=True))

    assert (polled["source"], polled["reportedAt"]) == ("polled", None)
    assert "recipient" not in polled
    assert deployment["recipient"] is None


@pytest.mark.parametrize(
    ("stage", "shown"), [(RejectionStage.SEQUENCER, "0x7"), (RejectionStage.RPC, None)]
)
def test_block_number_is_shown_for_the_sequencer_stage_only(
    stage: RejectionStage, shown: str | None
) -> None:
    record = a_record(tx_rejection_stage=stage, block_number=7)

    item = written(ArchivedRejection(a_rejection(record=record)))

    assert item.get("blockNumber") == shown


def test_figures_that_a_reason_lacks_come_from_the_overflow_of_its_module() -> None:
    record = a_record(reason_message="TX_MODULE_LINE_COUNT_OVERFLOW(HUB)")
    overflows = (
        ModuleOverflow("ADD", 9, 1),
        ModuleOverflow("HUB", 3, 2),
        ModuleOverflow("HUB", 9, 9),
    )

    told = written(ArchivedRejection(a_rejection(record=record, overflows=overflows)))
    untold = written(ArchivedRejection(a_rejection(record=record, overflows=overflows[:1])))

    assert (told["count"], told["limit"], told["overrun"]) == (3, 2, 1.5)
    assert (untold["count"], untold["limit"], untold["overrun"]) == (None, None, None)


@pytest.mark.parametrize(("count", "shown"), [(2**63 - 1, 2**63 - 1), (2**63, None)])
def test_count_beyond_every_integer_is_left_out(count: int, shown: int | None) -> None:
    reason = f"Transaction line count for module ADD={count} is above the limit 5"

    item = written(ArchivedRejection(a_rejection(record=a_record(reason_message=reason))))

    assert (item["module"], item["count"], item["limit"]) == ("ADD", shown, 5)
    assert (item["overrun"] is None) is (shown is None)


def test_unknown_reason_names_no_module() -> None:
    item = written(ArchivedRejection(a_rejection(record=a_record(reason_message="no"))))

    assert (item["module"], item["reasonKind"]) == (None, "unparsed")


def test_answer_ends_before_it_grows_too_large_and_has_one_item_at_least() -> None:
    half = b"x" * (LARGEST_ANSWER // 2)

    assert within_bounds([half, half, b"x"]) == [half, half]
    assert within_bounds([half * 3, half]) == [half * 3]
    assert within_bounds([]) == []


def test_answers_hold_items_as_they_were_written() -> None:
    assert encode_page([b"1", b"2"], None, has_more=True) == (
        b'{"rejections":[1,2],"cursor":null,"hasMore":true}'
    )
    assert encode_versions([b"1"], has_more=False) == b'{"versions":[1],"hasMore":false}'
    assert encode_counts([("ADD", 2), (None, 1)], 2, 3) == (
        b'{"total":3,"groupCount":2,"groups":[{"key":"ADD","count":2},{"key":null,"count":1}]}'
    )


def test_cursor_is_read_back_by_its_installation_only() -> None:
    cursor = encode_cursor(2**40, INSTALLATION)

    assert decode_cursor(cursor, INSTALLATION) == 2**40
    with pytest.raises(WireError, match="is not a cursor of this installation"):
        decode_cursor(cursor, an_id(7))
    with pytest.raises(WireError, match="is not a cursor of this installation"):
        decode_cursor(encode_cursor(1, an_id(7)), INSTALLATION)


@pytest.mark.parametrize("value", ["", "abc", 7, "!" * 16, "_" * 17])
def test_text_that_is_no_cursor_is_refused(value: object) -> None:
    with pytest.raises(WireError, match="is not a cursor: give one that an answer contained"):
        decode_cursor(value, INSTALLATION)


def test_cursor_beyond_every_place_is_refused() -> None:
    last = encode_cursor(2**63 - 1, INSTALLATION)

    assert decode_cursor(last, INSTALLATION) == 2**63 - 1
    with pytest.raises(WireError, match="is not a cursor of this installation"):
        decode_cursor(encode_cursor(2**63, INSTALLATION), INSTALLATION)
