"""House rules of the tests: they run, all of them, against the real thing, without waiting."""

from __future__ import annotations

import re

from tests.golden_texts import GOLDEN
from tests.house.sources import ROOT, Source, sources_of_tests

FORBIDDEN = re.compile(
    r"pytest\.(mark\.)?(skip|skipif|xfail|importorskip)"
    r"|(\w+\.)*skipTest"
    r"|(monkeypatch|\w*patch)\.(setattr|delattr|object)"
    r"|unittest\.mock(\..*)?"
    r"|time\.sleep"
    r"|pytest\.mark\.timeout"  # there is one patience, in tests/waiting.py
    r"|(\w+\.)*TestClient"  # it runs an app without its server, and Streamlit's once a process
)


def test_test_neither_skips_nor_patches_nor_sleeps() -> None:
    offences = [
        f"{source.path}:{line} {name}"
        for source in sources_of_tests()
        for line, name in [*source.dotted_names(), *source.imported_names()]
        if FORBIDDEN.fullmatch(name)
    ]

    assert offences == []


def test_test_is_named_as_a_sentence() -> None:
    offences = [
        f"{source.path} {name}"
        for source in sources_of_tests()
        for name in _test_names(source)
        if name.count("_") < 3
    ]

    assert offences == []


def test_file_with_tests_is_found_by_pytest() -> None:
    offences = [
        source.path
        for source in sources_of_tests()
        if any(True for _ in _test_names(source))
        and not (ROOT / source.path).name.startswith("test_")
    ]

    assert offences == []


def test_golden_file_is_compared_by_a_test() -> None:
    tests = "".join(source.text for source in sources_of_tests())
    files = [file.relative_to(GOLDEN).with_suffix("").as_posix() for file in GOLDEN.rglob("*.txt")]

    assert [name for name in files if f'"{name}"' not in tests] == []


def _test_names(source: Source) -> list[str]:
    return [function.name for function in source.functions if function.name.startswith("test_")]
