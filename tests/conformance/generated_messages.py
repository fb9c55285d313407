"""JSON-RPC messages drawn by chance: right, nearly right, broken, nested, huge and hostile.

Everything is made of text, not of values, so that duplicate members, odd numbers and broken
escapes come about too. A `Random` makes the choices: a seed repeats them, hypothesis shrinks them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, TypeVar

from tests.conformance.generated_reports import Reports

Choice = TypeVar("Choice")

NUMBERS: Final = (
    *("0", "-0", "1", "-1", "1.0", "1.5", "1e3", "1E+3", "1e-3", "1e400", "-1e400", "1e400000"),
    *("9007199254740993", "18446744073709551616", "9" * 400, "9" * 5000, "0.1"),
)
TEXTS: Final = (
    *("", "2.0", "null", "é", "🔑", "\u2028", "\u202e", "a" * 3000, "%s", "'; DROP TABLE x; --"),
    *(r"\u0000", r"\ud83d\udd11", r"\/\"\\"),
)
OTHERS: Final = ("null", "true", "false", "[]", "{}", "[[]]", '{"a":{}}', '""')
NO_JSON: Final = (
    *("01", "+1", "1.", ".5", "0x10", "NaN", "Infinity", "-", "1_000", "\u0661", "nul", "True"),
    *(r'"\ud800"', r'"\udfff\ud800"', r'"\x"', '"\n"', '"\x00"', '"', "'a'"),
)
METHODS: Final = (
    *("chain_getTransactionExclusionStatusV1", "linea_getTransactionExclusionStatusV1"),
    *("chain_saveRejectedTransactionV1", "linea_saveRejectedTransactionV1"),
    *("chain_getTransactionExclusionStatusV1", "chain_saveRejectedTransactionV1"),
    *("eth_chainId", "getTransactionExclusionStatusV1"),
)
_BLANKS: Final = ("", "", "", " ", "\n", "\t \r\n")
_TAILS: Final = (b" x", b"}", b"]", b"\x00", b"{}", b",", b"\xff", b"//", b"\n" * 50)
_HEADS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b",", b"\x00", b" " * 500, b"\xc2\xa0")
_OTHER_MESSAGES: Final = (
    *(b"", b" ", b"\n\t", b"[]", b"[ ]", b"null", b"1", b'"x"', b"[[]]", b"{}"),
    b"[%b1]" % (b"1," * 5_000),  # more items than any limit
)
_DEEPEST: Final = 3000


@dataclass
class Grammar:
    """Draws messages; `more_params` knows the params of methods that are not of the exclusion."""

    chance: Random
    reports: Reports
    more_params: Mapping[str, Callable[[Grammar], str]] = field(default_factory=dict)

    def message(self) -> bytes:
        """Return one body or WebSocket message, valid or not."""
        kind = self.chance.random()
        if kind < 0.55:
            return self.request().encode("utf-8", "surrogatepass")
        if kind < 0.83:
            return self.batch().encode("utf-8", "surrogatepass")
        if kind < 0.97:
            return self.broken()
        return self.one_of(_OTHER_MESSAGES)

    def batch(self) -> str:
        """Return an array of up to a few requests, nearly all of them such."""
        items = [
            self.request() if self.chance.random() < 0.9 else self.value(2)
            for _ in range(self.chance.randrange(6))
        ]
        return f"[{self.blank()}{f',{self.blank()}'.join(items)}{self.blank()}]"

    def request(self) -> str:
        """Return an object with the members of a request, now and then one wrong, twice or none."""
        method = self.method()
        members = [
            ("jsonrpc", '"2.0"' if self.chance.random() < 0.95 else self.value(1)),
            ("method", f'"{method}"' if self.chance.random() < 0.95 else self.value(1)),
            ("params", self.params(method)),
            ("id", self.request_id()),
        ]
        if self.chance.random() < 0.3:
            del members[self.chance.randrange(len(members))]
        if self.chance.random() < 0.1:
            members.append(self.one_of((*members, ("extra", self.value(2)))))
        if self.chance.random() < 0.3:
            self.chance.shuffle(members)
        texts = [f'"{name}"{self.blank()}:{self.blank()}{text}' for name, text in members]
        return f"{{{self.blank()}{','.join(texts)}{self.blank()}}}"

    def method(self) -> str:
        """Return a name that is served, nearly so, or none."""
        known = METHODS if not self.more_params or self.chance.random() < 0.6 else self.more_params
        return self.one_of(tuple(known))

    def params(self, method: str) -> str:
        """Return params that often fit the method."""
        if self.chance.random() < 0.1:
            return self.value(3)
        if method in self.more_params:
            return self.more_params[method](self)
        if method.endswith("saveRejectedTransactionV1"):
            report = self.reports.report(self.chance, self.value)
            return report if self.chance.random() < 0.5 else f"[{report}]"
        return f"[{self.reports.tx_hash(self.chance)}]"

    def request_id(self) -> str:
        """Return an id, mostly of a kind that is allowed."""
        kind = self.chance.random()
        if kind < 0.4:
            return str(self.chance.randrange(1000))
        if kind < 0.6:
            return f'"{self.chance.randrange(1000)}"'
        return self.value(0)

    def value(self, depth: int) -> str:
        """Return any JSON, rarely none."""
        kind = self.chance.random()
        if depth > 0 and kind < 0.2:
            return f"[{','.join(self.value(depth - 1) for _ in range(self.chance.randrange(4)))}]"
        if depth > 0 and kind < 0.4:
            names = [f'"{self.one_of(TEXTS)}"' for _ in range(self.chance.randrange(4))]
            return f"{{{','.join(f'{name}:{self.value(depth - 1)}' for name in names)}}}"
        if kind < 0.6:
            return self.one_of(NUMBERS)
        if kind < 0.8:
            return f'"{self.one_of(TEXTS)}"'
        return self.one_of(OTHERS if kind < 0.98 else NO_JSON)

    def broken(self) -> bytes:
        """Damage a message that was right, or send no text at all."""
        text = self.request() if self.chance.random() < 0.7 else self.batch()
        body = text.encode("utf-8", "surrogatepass")
        place = self.chance.randrange(len(body) + 1)
        some = bytes(self.chance.randrange(256) for _ in range(self.chance.randrange(40)))
        damages: tuple[Callable[[], bytes], ...] = (
            lambda: body[:place],
            lambda: body[:place] + some[:1] + body[place:],
            lambda: body[:place] + body[place + 1 :],
            lambda: body + self.one_of(_TAILS),
            lambda: self.one_of(_HEADS) + body,
            lambda: self.nested(body),
            lambda: some,
        )
        return self.one_of(damages)()

    def nested(self, body: bytes) -> bytes:
        """Put a message deep inside of lists or objects, closed or not."""
        depth = self.chance.randrange(1, _DEEPEST)
        opening, closing = self.one_of(((b"[", b"]"), (b'{"params":', b"}"), (b'[{"id":', b"}]")))
        return opening * depth + body + closing * self.one_of((depth, depth - 1, 0))

    def blank(self) -> str:
        return self.one_of(_BLANKS)

    def one_of(self, choices: Sequence[Choice]) -> Choice:
        """Choose one of a few things alike."""
        return choices[self.chance.randrange(len(choices))]
