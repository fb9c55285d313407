"""No mail looks like spam to SpamAssassin."""

from __future__ import annotations

from pathlib import Path

from tests.mail_samples import sample_kinds
from tests.spam_scores import spam_scores

_MOST = 2.0
"""Points: it calls a mail spam from 5.0 on, and other filters count the same things."""


def test_mail_of_each_kind_is_no_spam(tmp_path: Path) -> None:
    scores = spam_scores(tmp_path)

    assert sorted(scores) == sorted(sample_kinds())
    assert {kind: found for kind, found in scores.items() if found[0] >= _MOST} == {}
