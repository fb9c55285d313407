"""No message of the largest size costs more than its size, whatever its shape.

CPU time is measured, of the whole process, so that neighbours on the machine do not count: a
message four times as long may cost four times as much, with room for noise, and none may cost many
times what a plain one of its size does.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import rlp  # type: ignore[import-untyped] # it has no types

from dashboard.serve.dependencies import ServeLimits
from dashboard.wire.transaction import encode_list
from tests.conformance.running_apis import GET, SAVE, Served, a_call, a_former_report, apis
from tests.integration.running_server import a_signed_transaction

LARGEST = ServeLimits().largest_body
STEP = 4
ROUNDS = 3
DEAREST = 120
"""Times the cost of a plain message as large; a list of signatures has some 40, traced more."""
NOISE = 0.004
"""Seconds that two measurements of the same may differ."""
TRANSACTION = a_signed_transaction(1)


def a_report(**changes: object) -> bytes:
    return json.dumps(a_call(SAVE, a_former_report(TRANSACTION, **changes))).encode()


def with_transaction(kind: int, *members: bytes) -> bytes:
    """Report a typed transaction of these members, which are encoded already."""
    return a_report(transactionRLP=f"{kind:02x}{encode_list(b''.join(members)).hex()}")


def with_access_list(size: int) -> bytes:
    """Name an access list that is right, in a transaction whose signature is not."""
    entry: bytes = rlp.encode([bytes(20), [bytes(32)]])
    entries = encode_list(entry * (size // (2 * len(entry)) - 50))
    return with_transaction(1, b"\1" * 4, rlp.encode(bytes(20)), b"\1\1", entries, b"\1" * 3)


def with_authorizations(size: int) -> bytes:
    entry: bytes = rlp.encode([b"\1", bytes(20), b"\1", b"", b"\1", b"\1"])
    entries = encode_list(entry * (size // (2 * len(entry)) - 50))
    recipient = rlp.encode(bytes(20))
    return with_transaction(4, b"\1" * 5, recipient, b"\1\1\xc0", entries, b"\1" * 3)


SHAPES: dict[str, Callable[[int], bytes]] = {
    "blanks": lambda size: b" " * size,
    "lists in lists": lambda size: b"[" * (size // 2) + b"]" * (size // 2),
    "lists in lists, never closed": lambda size: b"[" * size,
    "objects in objects": lambda size: b'{"a":' * (size // 5),
    "lists in params": lambda size: (
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":'
        + b"[" * (size // 2)
        + b"]" * (size // 2)
        + b"}"
    ),
    "numbers": lambda size: b"[" + b"1," * (size // 2) + b"1]",
    "empty texts": lambda size: json.dumps(a_call(GET, [""] * (size // 4))).encode(),
    "id of digits": lambda size: b'{"jsonrpc":"2.0","method":"m","id":' + b"9" * size + b"}",
    "id of text": lambda size: json.dumps(a_call(GET, [], "i" * size)).encode(),
    "number of digits": lambda size: (
        b'{"jsonrpc":"2.0","id":1,"method":"%b","params":[%b]}' % (GET.encode(), b"9" * size)
    ),
    "number with an exponent": lambda size: (
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":[1e%b]}' % (b"9" * size)
    ),
    "fraction": lambda size: (
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":[0.%b]}' % (b"1" * size)
    ),
    "name of a method": lambda size: json.dumps(a_call("m" * size, [])).encode(),
    "escapes": lambda size: (
        b'{"jsonrpc":"2.0","id":1,"method":"%b","params":["%b"]}'
        % (GET.encode(), rb"\u0041" * (size // 6))
    ),
    "half of an escape": lambda size: b'{"id":"' + rb"\ud800" * (size // 6) + b'"}',
    "no UTF-8 at its end": lambda size: b'{"id":"' + b"x" * size + b'\xff"}',
    "one member again and again": lambda size: b'{"id":1,' * 1 + b'"id":1,' * (size // 7),
    "members nobody knows": lambda size: json.dumps(
        a_call(SAVE, {f"key{number}": 1 for number in range(size // 16)})
    ).encode(),
    "hash": lambda size: json.dumps(a_call(GET, ["0x" + "a" * size])).encode(),
    "hash of no digits": lambda size: json.dumps(a_call(GET, ["z" * size])).encode(),
    "stage": lambda size: a_report(txRejectionStage="S" * size),
    "time": lambda size: a_report(timestamp="2" * size),
    "fraction of a second": lambda size: a_report(timestamp=f"2026-11-20T12:00:00.{'0' * size}Z"),
    "block number": lambda size: a_report(blockNumber="1" * size),
    "overflows": lambda size: a_report(
        overflows=[{"module": "M", "count": 1, "limit": 1}] * (size // 42) + [{}]
    ),
    "transaction of zeros": lambda size: a_report(transactionRLP="00" * (size // 2)),
    "transaction of lists": lambda size: a_report(transactionRLP="c1" * (size // 2)),
    "transaction of many members": lambda size: with_transaction(2, b"\1" * (size // 2)),
    "transaction with much data": lambda size: a_report(
        transactionRLP=rlp.encode([b"\1"] * 5 + [bytes(size // 2)] + [b"\1"] * 3).hex()
    ),
    "access list": with_access_list,
    "authorizations": with_authorizations,
}


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve with the limits that are in force where nobody sets others."""
    folder = tmp_path_factory.mktemp("roomy")
    with apis(folder, lambda dependencies: replace(dependencies, limits=ServeLimits())) as running:
        yield running


def seconds_of(served: Served, message: bytes) -> float:
    """Return the least CPU time of a few rounds of asking."""
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        response = served.post(message)
        times.append(time.process_time() - started)
        assert response.status_code == 200
    return min(times)


@pytest.fixture(scope="module")
def plain(roomy: Served) -> float:
    """Return what a report with one long text costs."""
    return seconds_of(roomy, a_report(reasonMessage="r" * (LARGEST - 1_000)))


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_cost_of_a_message_grows_no_faster_than_its_size(
    roomy: Served, plain: float, shape: Callable[[int], bytes]
) -> None:
    small, large = (shape(size) for size in (LARGEST // STEP - 1_000, LARGEST - 1_000))

    assert LARGEST * 0.85 < len(large) <= LARGEST
    quick, slow = (seconds_of(roomy, message) for message in (small, large))

    assert slow < 2 * STEP * (quick + NOISE)
    assert slow < DEAREST * (plain + NOISE)
