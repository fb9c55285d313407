"""Watches: rules that notify of each rejection by a module, from a sender, and the like."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from dashboard.application.context import ApplicationSubject, shared_for
from dashboard.application.recipients import recipients_called
from dashboard.application.rules import AlertRules
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import Rule, RuleScope
from dashboard.domain.alerts.rule_table import RuleDifference, Rules, merged_with, removed
from dashboard.domain.alerts.silence import Silence, silenced_by
from dashboard.domain.people.access import Actor
from dashboard.domain.people.recipients import mailbox_of
from dashboard.domain.quantity import Address, NetworkId
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.errors import InputError, NotFound
from dashboard.store.alerts.recipients import read_directory
from dashboard.store.alerts.rules import rules_in_force
from dashboard.store.alerts.silences import unfinished_silences

_NAMED: Final = (
    MatchedProperty.MODULE,
    MatchedProperty.SENDER,
    MatchedProperty.LABEL,
    MatchedProperty.TAG,
)
"""The properties that a watch needs: a network or a stage alone takes a rule of its own."""

_NAME: Final = re.compile(r"watch(-.*)?")
_NO_NAME: Final = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME: Final = 64
_DIGITS: Final = 6
"""How many digits of a digest distinguish watches with the same name."""

_KEPT_FOR: Final = timedelta(days=1)
"""How long the rule of an ended watch is kept, until its incidents are over."""

_SHARED_FOR: Final = timedelta(seconds=1)


def watched_scope(matchers: Sequence[Matcher]) -> RuleScope | None:
    """Return the rejections that matchers select; None if they select nothing worth a watch.

    Only tracked transactions have labels and tags; without these, all reports of nodes count.
    """
    values: dict[MatchedProperty, tuple[str, ...]] = {
        each.about: (*(each.value.split() if each.about is MatchedProperty.TAG else [each.value]),)
        for each in matchers
        if each.value
    }
    if not any(each in values for each in _NAMED):
        return None
    labels, tags = (values.get(each, ()) for each in (MatchedProperty.LABEL, MatchedProperty.TAG))
    return RuleScope(
        networks=tuple(NetworkId(int(each)) for each in values.get(MatchedProperty.NETWORK, ())),
        modules=tuple(each.upper() for each in values.get(MatchedProperty.MODULE, ())),
        stages=tuple(map(RejectionStage, values.get(MatchedProperty.STAGE, ()))),
        senders=tuple(map(Address.parse, values.get(MatchedProperty.SENDER, ()))),
        labels=labels,
        tags=tags,
        takes_all_reports=not (labels or tags),
    )


class Watches(ApplicationSubject):
    def name_of(self, matchers: Sequence[Matcher]) -> str:
        """Return the name for the rule of a watch, unless another rule has it."""
        texts = (
            self._context.network_name(NetworkId(int(each.value)))
            if each.about is MatchedProperty.NETWORK
            else each.value
            for each in matchers
            if each.about is not MatchedProperty.RULE
        )
        words = _NO_NAME.sub("-", " ".join(texts).lower()).strip("-")
        return f"watch-{words}"[:_LONGEST_NAME].rstrip("-")

    def lasting(self, matchers: Sequence[Matcher]) -> Rule | None:
        """Return the rule that now watches what matchers select; None if there is none."""
        return _lasting(self._rules(), watched_scope(matchers), self._context.now())

    def silence_of(self, matchers: Sequence[Matcher]) -> Silence | None:
        """Return the silence that withholds the notifications of a watch, if any."""
        now, rule = self._context.now(), self.lasting(matchers)
        if rule is None:
            return None
        labels = {each.about: each.value for each in matchers}
        labels |= {MatchedProperty.RULE: rule.name, MatchedProperty.SEVERITY: rule.severity.value}
        with self._context.store.read() as connection:
            return silenced_by(unfinished_silences(connection, now), labels, now)

    def begin(
        self, matchers: Sequence[Matcher], until: datetime | None, by: Actor
    ) -> list[RuleDifference]:
        """Watch what matchers select until a moment, None for good; return how the rules differ.

        The acting person is notified if a recipient has their name, otherwise the default
        recipients. If others watch the same already, they still do, at least as long as they
        wanted. Watches that ended by themselves a day ago are removed.
        """
        scope = watched_scope(matchers)
        if scope is None:
            raise InputError(
                "only rejections by a module, from a sender, or with a label or a tag "
                "can be watched: make a rule for others"
            )
        if until is not None and until <= by.at:
            raise InputError("the watch would be over already: end it later")
        with self._context.store.read() as connection:
            directory = read_directory(connection, self._context.settings.recipients)
            called = recipients_called(by.name, directory, rules_in_force(connection))
        everyone, name = directory.configured.named, self.name_of(matchers)

        def edit(held: Rules) -> Rules:
            before = _lasting(held, scope, by.at)
            if before is None:
                new = Rule(_free_name(held, name, scope), RuleKind.REJECTED, scope=scope)
                rule = replace(new, recipients=called, until=until)
            else:
                rule = _joined(before, called, everyone, until)
            left = (
                each
                for each in held
                if not (_NAME.fullmatch(each.name) and each.is_over(by.at - _KEPT_FOR))
            )
            return merged_with([rule])(tuple(left))

        return AlertRules(self._context).change(edit, by)

    def end(self, matchers: Sequence[Matcher], by: Actor) -> list[RuleDifference]:
        """Stop watching; return how the rules differ. NotFound if nobody watches it."""
        scope = watched_scope(matchers)

        def edit(held: Rules) -> Rules:
            rule = _lasting(held, scope, by.at)
            if rule is None:
                raise NotFound("it is not watched any more")
            return removed([rule.name])(held)

        return AlertRules(self._context).change(edit, by)

    @shared_for(_SHARED_FOR, until_write=True)
    def _rules(self) -> tuple[Rule, ...]:
        with self._context.store.read() as connection:
            return rules_in_force(connection)


def _lasting(rules: Sequence[Rule], scope: RuleScope | None, now: datetime) -> Rule | None:
    """Return the rule that watches exactly this now, if there is one."""
    of_scope = (each for each in rules if each.scope == scope and each.kind is RuleKind.REJECTED)
    watches = (each for each in of_scope if _NAME.fullmatch(each.name))
    return next((each for each in watches if each.is_enabled and not each.is_over(now)), None)


def _free_name(held: Rules, name: str, scope: RuleScope) -> str:
    """Return a name for a watch; names keep only ASCII letters and digits, so two may be equal."""
    if all(each.name != name or each.scope == scope for each in held):
        return name
    digest = sha256(str(scope).encode()).hexdigest()[:_DIGITS]
    return f"{name[: _LONGEST_NAME - _DIGITS - 1]}-{digest}"


def _joined(
    watch: Rule, called: Sequence[Recipient], everyone: Sequence[Recipient], until: datetime | None
) -> Rule:
    """Add recipients to a watch; only a person who watches alone may choose an earlier end."""
    later = None if watch.until is None or until is None else max(watch.until, until)
    if watch.recipients == tuple(called):
        return replace(watch, until=until if called else later)
    parties = (watch.recipients or everyone, called or everyone)
    together = {mailbox_of(each): each for party in parties for each in party}
    return replace(watch, recipients=tuple(together.values()), until=later)
