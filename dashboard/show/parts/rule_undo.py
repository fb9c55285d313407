"""What an edit of rules did, in words, and what takes it back."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.domain.audit import Actor
from dashboard.domain.rule import Rule
from dashboard.domain.rule_changes import RuleDifference, Rules, merged_with
from dashboard.domain.rule_table import read_rule
from dashboard.show.parts.acting import Done
from dashboard.show.queries.page_queries import PageQueries


def undone(queries: PageQueries, found: Sequence[RuleDifference]) -> Done:
    """Say what was changed; taken back, the rules that differ are what they were."""
    if not found:
        return Done("Nothing had to change")

    def edit(held: Rules) -> Rules:
        new = {each.name for each in found if each.before is None}
        return merged_with(_before(found))(tuple(each for each in held if each.name not in new))

    def undo(by: Actor) -> list[RuleDifference]:
        return queries.rules.change(edit, by)

    return Done("; ".join(map(_words, found)), undo)


def _before(found: Sequence[RuleDifference]) -> list[Rule]:
    rules = (read_rule(each.name, each.before) for each in found if each.before is not None)
    return [each for each in rules if isinstance(each, Rule)]


def _words(each: RuleDifference) -> str:
    if each.before is None:
        return f"the rule {each.name} is added"
    return f"the rule {each.name} is {'removed' if each.after is None else 'changed'}"
