"""docs/people.md lists what each role may, as the table in the code does."""

from __future__ import annotations

import re

from dashboard.domain.people.access import LEAST_ROLES, Role
from tests.processes import PROJECT


def test_table_of_roles_is_that_of_the_code() -> None:
    page = (PROJECT / "docs/people.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\w+) \| (.*) \|$", page, re.MULTILINE))

    for role in (Role.SUPPORT, Role.OPERATOR):
        assert set(re.findall(r"`([a-z-]+)`", rows[role])) == set(LEAST_ROLES[role])
    assert {*Role} <= set(rows)
