"""The conclusions on one network, for tests that begin with what is held."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from dashboard.detect.start_and_end_of_conditions import Conclusions, ConditionRules
from dashboard.domain.alerts.condition import Condition, SubjectKind
from tests.builders import A_NETWORK, an_id


def conclusions_from(held: Mapping[SubjectKind, Condition]) -> Conclusions:
    """Return conclusions under the default rules; ids are numbered from 1."""
    ids = map(an_id, count(1))
    return Conclusions(A_NETWORK, held, ConditionRules(), lambda: next(ids))
