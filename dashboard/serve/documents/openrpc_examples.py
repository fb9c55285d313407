"""One story in calls and answers: a node reports a rejection, and everybody asks about it."""

from __future__ import annotations

from typing import Any, Final

from dashboard.wire.exclusion import GET_STATUS, SAVE_REJECTED

NETWORK: Final = 59144
TX_HASH: Final = "0x806a03a909240da9bb127d9e5136b183002a43854b121706d367c9d346482c5e"
SENDER: Final = "0xd8291e50e2e68fb2c70d77ccdc707d291a89f209"
CURSOR: Final = "TElORQAAAAAAAAAB"
SUBSCRIPTION: Final = "0x8f3a1b5c7d9e0f2a4b6c8d0e1f3a5b7c"
REASON: Final = "Transaction line count for module ADD=600000 is above the limit 524288"

REPORT: Final[dict[str, Any]] = {
    "txRejectionStage": "SEQUENCER",
    "timestamp": "2026-11-20T12:00:00.250Z",
    "blockNumber": 1000,
    "transactionRLP": (
        "0xf86505843b9aca00825208940000000000000000000000000000000000000042808083"
        "01ce349fcedfaef8f5118fd0cae4218dcc7d6cd9260ebdcff55c812bab774319dff23da0"
        "68be6c699ab7732c035d173e8a97ee1f90eee114c4aa0a446059e2133a6a385a"
    ),
    "reasonMessage": REASON,
    "overflows": [{"module": "ADD", "count": 600000, "limit": 524288}],
}
RECORD: Final[dict[str, Any]] = {
    "txHash": TX_HASH,
    "from": SENDER,
    "nonce": "0x5",
    "txRejectionStage": "SEQUENCER",
    "reasonMessage": REASON,
    "timestamp": "2026-11-20T12:00:00.250Z",
    "blockNumber": "0x3e8",
}
REJECTION: Final[dict[str, Any]] = {
    "networkId": "0xe708",
    **RECORD,
    "firstSeenAt": "2026-11-20T12:00:01Z",
    "reportedAt": "2026-11-20T12:00:01Z",
    "source": "reported",
    "recipient": "0x0000000000000000000000000000000000000042",
    "module": "ADD",
    "reasonKind": "over_limit",
    "count": 600000,
    "limit": 524288,
    "overrun": 1.1444,
    "overflows": [{"module": "ADD", "count": 600000, "limit": 524288}],
    "cursor": CURSOR,
}

EXAMPLES: Final[dict[str, tuple[dict[str, Any], Any]]] = {
    SAVE_REJECTED: ({"report": REPORT}, {"status": "SAVED", "txHash": TX_HASH}),
    GET_STATUS: ({"txHash": TX_HASH}, RECORD),
    "listRejectionsV1": (
        {"filter": {"module": "ADD", "from": SENDER}, "limit": 10},
        {"rejections": [REJECTION], "cursor": None, "hasMore": False},
    ),
    "getRejectionVersionsV1": (
        {"txHash": TX_HASH},
        {"versions": [REJECTION], "hasMore": False},
    ),
    "countRejectionsV1": (
        {"by": "from", "filter": {"firstSeenFrom": "2026-11-20T00:00Z"}, "limit": 10},
        {"total": 1, "groupCount": 1, "groups": [{"key": SENDER, "count": 1}]},
    ),
    "subscribe": ({"topic": "rejections", "filter": {"networkId": "0xe708"}}, SUBSCRIPTION),
    "unsubscribe": ({"subscription": SUBSCRIPTION}, True),
}
"""Params by name and the result, for each method by its name without prefix."""
