"""JSON-RPC messages by a grammar: most of them usual lookups, each spoilt here and there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hypothesis import strategies as st

METHOD: Final = "linea_getTransactionExclusionStatusV1"
OTHER_METHOD: Final = "chain_getTransactionExclusionStatusV1"

_NUMBERS: Final = st.integers(0, 9).map(str)
_IDS: Final = st.one_of(
    _NUMBERS,
    _NUMBERS,
    _NUMBERS,
    st.sampled_from(
        [
            '"text"',
            '"\\u0041"',
            '"é"',
            '"\\n["',
            '"{"',
            "-0",
            "1.0",
            "1e3",
            "null",
            "true",
            "false",
            "[]",
            "{}",
            "[1]",
            '{"id":1}',
            "123456789012345678901234567890",
            "",
            "01",
            "+1",
        ]
    ),
)
_METHODS: Final = st.sampled_from(
    [f'"{METHOD}"'] * 60
    + [f'"{OTHER_METHOD}"'] * 6
    + [
        '"nope"',
        '""',
        "7",
        "null",
        f'"{METHOD}\\u0020"',
        '"\\u006cinea_getTransactionExclusionStatusV1"',
    ]
)
_VERSIONS: Final = st.sampled_from(['"2.0"'] * 60 + ['"1.0"', "2.0", '"2\\u002e0"', "null"])
_BLANKS: Final = st.sampled_from([""] * 40 + [" ", "\n", "\t \r\n", "\v", "\xa0"])
_EXTRAS: Final = st.sampled_from(
    [
        '"x":1',
        '"jsonrpc":"2.0"',
        '"id":5',
        '"id":[]',
        '"params":[]',
        '"method":"nope"',
        '"é":"é"',
        '"deep":[[[{}]]]',
        '"bad":"\\q"',
        '"control":"\t"',
        '"half":"\\ud800"',
        "bare",
        '"params":7',
    ]
)


def _spoilt(digits: str) -> st.SearchStrategy[str]:
    """Write a hash as it may come: mostly well, else too long, too short or not hexadecimal."""
    well = f"0x{digits}"
    return st.sampled_from(
        [well] * 100
        + [
            well.upper().replace("0X", "0x"),
            well.upper(),
            digits,
            digits + "00",
            well[:-1],
            well[:-2],
            well + "0",
            f"x0{digits}",
            f"0x{digits[:-1]}x",
            f"0x{digits[:-1]} ",
            f" 0x{digits[:-1]}",
            f"0x{digits[:-2]}0x",
            f"0x{digits[:-1]}é",
            f"0x{digits[:-1]}\\u0061",
            f"0x{digits[:-1]}_",
            f"00{digits}",
            "",
        ]
    )


def _params(digits: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    texts = digits.flatmap(_spoilt).map(lambda text: f'"{text}"')
    usual = texts.map(lambda text: f"[{text}]")
    odd = st.one_of(
        st.tuples(texts, texts).map(lambda both: f"[{','.join(both)}]"),
        st.sampled_from(["[]", "{}", "null", "[1]", "[null]", "[[]]", '["é"]', "7", ""]),
    )
    return st.one_of([usual] * 15 + [odd])


@st.composite
def _calls(draw: st.DrawFn, digits: st.SearchStrategy[str]) -> str:
    values = {
        "jsonrpc": draw(_VERSIONS),
        "id": draw(_IDS),
        "method": draw(_METHODS),
        "params": draw(_params(digits)),
    }
    members = [f'"{name}":{value}' for name, value in values.items() if value]
    if draw(st.integers(0, 5)) == 0:
        members = draw(st.permutations(members))
    if draw(st.integers(0, 5)) == 0:
        members.insert(draw(st.integers(0, len(members))), draw(_EXTRAS))
    if draw(st.integers(0, 15)) == 0:
        members.pop(draw(st.integers(0, len(members) - 1)))
    blank = draw(_BLANKS)
    return f"{blank}{{{blank}{f',{blank}'.join(members)}{blank}}}{blank}"


@st.composite
def _items(draw: st.DrawFn, digits: st.SearchStrategy[str]) -> str:
    odd = st.sampled_from(["7", "null", "[]", '"é"', "", "{"])
    return draw(odd) if draw(st.integers(0, 30)) == 0 else draw(_calls(digits))


def rpc_messages(hashes: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Draw bodies that ask about some of `hashes` and about others."""
    digits = st.one_of(
        st.sampled_from([each.hex() for each in hashes]),
        st.binary(min_size=32, max_size=32).map(bytes.hex),
    )
    batches = st.lists(_items(digits), max_size=6).map(lambda items: f"[{','.join(items)}]")
    bodies = st.one_of(_items(digits), batches, batches).map(str.encode)
    cut = st.tuples(bodies, st.integers(1, 400)).map(lambda both: both[0][: both[1]])
    return st.one_of(bodies, bodies, bodies, bodies, bodies, bodies, cut)
