"""The form of a rule asks for each key that a rule has: one without a field would be dropped."""

from __future__ import annotations

from collections import Counter

from dashboard.domain.alerts.rule_table import KEYS
from dashboard.show.parts.rule_fields import (
    GROUPING,
    HOURS,
    LATER,
    MEASURES,
    PEOPLE,
    PLACE,
    SCOPE,
)

ELSEWHERE = {"kind", "enabled"}
"""Keys that the form keeps beside its fields: chosen first, and turned on or off in the list."""


def test_form_has_one_field_for_each_key_of_a_rule() -> None:
    fields = Counter(
        each.key for each in (*MEASURES, *PLACE, *PEOPLE, *SCOPE, *LATER, *HOURS, *GROUPING)
    )

    assert set(fields) == set(KEYS) - ELSEWHERE
    assert set(fields.values()) == {1}
