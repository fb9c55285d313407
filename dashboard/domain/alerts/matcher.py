"""Matchers: comparisons by which people select changes, such as ``module=HUB``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Final, TypeAlias

from msgspec import Struct

from dashboard.domain.alerts.condition import INSTALLATION
from dashboard.domain.alerts.kinds.kind import Dimension
from dashboard.domain.alerts.rule import CAUSE, ObservedChange, Severity
from dashboard.domain.quantity import Address, NetworkId, shorten
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.rejections.reasons import ReasonKind
from dashboard.domain.tracking.remarks import LONGEST_LABEL, typed_tags
from dashboard.errors import InputError

INSTALLATION_NAME: Final = "installation"
"""The network in matchers for changes that are about the installation itself."""

_FORM: Final = re.compile(r"(?P<about>\w{1,20})\s*(?P<sign>=~|!~|!?=)\s*(?P<value>.*)", re.DOTALL)
_SECOND: Final = re.compile(r"\s(?P<matcher>\w{1,20} ?(?:=~|!~|!?=).*)", re.DOTALL)
"""A matcher after a blank, which looks the same as a value that goes on."""

_QUOTED: Final = re.compile(r'"(.*)"', re.DOTALL)
_NEEDS_QUOTES: Final = re.compile(r'|".*"|~.*|\s.*|.*\s', re.DOTALL)
"""Values that would be misread without quotation marks: empty, quoted, a pattern, blanks at an end.
"""

_MODULE: Final = re.compile(r"\w{1,64}", re.ASCII)
NetworkNames: TypeAlias = Mapping[NetworkId, str]
"""The networks that people can name."""

_SIGNS: Final = {
    (True, False): "=",
    (False, False): "!=",
    (True, True): "=~",
    (False, True): "!~",
}


class MatchedProperty(StrEnum):
    """The property that a matcher compares: of a change, or of the rule that takes it."""

    NETWORK = "network"
    RULE = "rule"
    MODULE = "module"
    STAGE = "stage"
    SENDER = "sender"
    LABEL = "label"
    TAG = "tag"
    SEVERITY = "severity"
    CAUSE = CAUSE


ChangeLabels: TypeAlias = Mapping[MatchedProperty, str]
"""The properties of a change; a property that the change lacks is missing, or empty. Several tags
have blanks between them."""

_NAMES: Final = frozenset(map(str, MatchedProperty))


_WITH_PATTERNS: Final = {
    MatchedProperty.RULE,
    MatchedProperty.MODULE,
    MatchedProperty.SENDER,
    MatchedProperty.LABEL,
    MatchedProperty.TAG,
}
_WORDS: Final[Mapping[MatchedProperty, Iterable[str]]] = {
    MatchedProperty.STAGE: RejectionStage,
    MatchedProperty.SEVERITY: Severity,
    MatchedProperty.CAUSE: [ReasonKind.MODULE_UNDEFINED],
}
"""The allowed values of properties that have a fixed set."""

_MAY_LACK: Final = {
    MatchedProperty.MODULE,
    MatchedProperty.STAGE,
    MatchedProperty.SENDER,
    MatchedProperty.LABEL,
    MatchedProperty.TAG,
    MatchedProperty.CAUSE,
}


class Matcher(Struct, frozen=True):
    """One comparison, which ignores case; a network is written as its chain id.

    An empty value matches a change that lacks the property. With `is_pattern` each * in the value
    stands for any text. If a change has several tags, one that matches is enough; a value with
    several tags matches exactly these, since incidents are grouped by all tags.
    """

    about: MatchedProperty
    value: str
    is_equal: bool = True
    is_pattern: bool = False

    def holds(self, labels: ChangeLabels) -> bool:
        """Whether a change matches; a property that it lacks differs from every value."""
        text = labels.get(self.about, "").casefold()
        is_one_tag = self.about is MatchedProperty.TAG and len(self.value.split()) == 1
        texts = text.split() if is_one_tag else [text]
        return any(map(self._is_value, texts)) is self.is_equal

    def _is_value(self, text: str) -> bool:
        value = self.value.casefold()
        return fits_pattern(value, text) if self.is_pattern else text == value

    def __str__(self) -> str:
        is_plain = _NEEDS_QUOTES.fullmatch(self.value) is None
        value = self.value if is_plain else f'"{self.value}"'
        return f"{self.about}{_SIGNS[self.is_equal, self.is_pattern]}{value}"


def fits_pattern(pattern: str, text: str) -> bool:
    """Whether the whole text matches a pattern in which each * stands for any text.

    A regular expression could take forever on a hostile text; this takes linear time.
    """
    first, *others = pattern.split("*")
    if not others:
        return text == first
    *middle, last = others
    if not text.startswith(first) or not text.endswith(last):
        return False
    place, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, place, end)
        if found < 0:
            return False
        place = found + len(part)
    return place <= end


def fits(matchers: Sequence[Matcher], labels: ChangeLabels) -> bool:
    """Whether a change matches; without matchers it always does.

    Matchers with = or =~ on the same property are alternatives; all others must hold together.
    """
    wanted: dict[MatchedProperty, list[bool]] = {}
    for each in matchers:
        if each.is_equal:
            wanted.setdefault(each.about, []).append(each.holds(labels))
    unwanted = [each for each in matchers if not each.is_equal]
    return all(map(any, wanted.values())) and all(each.holds(labels) for each in unwanted)


def in_words(matcher: Matcher, networks: NetworkNames) -> str:
    """Format a matcher as people type it, with the name of the network."""
    if matcher.about is not MatchedProperty.NETWORK:
        return str(matcher)
    network_id = NetworkId(int(matcher.value))
    name = INSTALLATION_NAME if network_id == INSTALLATION else networks.get(network_id)
    return f"network{'=' if matcher.is_equal else '!='}{name or network_id}"


def split_matchers(text: str) -> list[str]:
    """Split matchers at their commas; InputError if a comma seems to be missing."""
    found = [each.strip() for each in text.split(",") if each.strip()]
    for each in found:
        match = _FORM.fullmatch(each)
        second = None if match is None else _SECOND.search(match["value"])
        if second is not None:
            raise InputError(
                f"{shorten(each)} looks like two matchers: write a comma before "
                f"{shorten(second['matcher'])}"
            )
    return found


def parse_matcher(text: str, networks: NetworkNames) -> Matcher:
    """Parse a matcher as people type it; InputError says what is wrong with it.

    Text in quotation marks is taken literally; empty quotation marks match a change that lacks the
    property.
    """
    match = _FORM.fullmatch(text.strip())
    name = "" if match is None else match["about"].lower()
    if match is None or name not in {each.value for each in MatchedProperty}:
        raise InputError(
            f"{shorten(text)} is not a matcher: write one of {', '.join(MatchedProperty)}, "
            "then =, !=, =~ or !~, then the value, such as module=HUB or label=~payroll*"
        )
    if not match["value"]:
        raise InputError(f"{shorten(text)} has no value: write one, such as module=HUB")
    about = MatchedProperty(name)
    is_equal = not match["sign"].startswith("!")
    quoted = _QUOTED.fullmatch(match["value"])
    value = match["value"] if quoted is None else quoted[1]
    if match["sign"].endswith("~"):
        return Matcher(about, _pattern(about, value), is_equal, is_pattern=True)
    if not value and about in _MAY_LACK:
        return Matcher(about, "", is_equal)
    read = _tag if about is MatchedProperty.TAG else partial(_value, about, networks=networks)
    return Matcher(about, read(value), is_equal)


def _tag(text: str) -> str:
    names = " ".join(sorted(typed_tags(text)))
    return _one_that(bool(names), names, "tag: write one or several")


def _pattern(about: MatchedProperty, text: str) -> str:
    """Return a pattern; InputError if it has no *, or would match every value."""
    if about not in _WITH_PATTERNS:
        raise InputError(f"{about} takes no pattern: write {about}= or {about}!=, and one value")
    if "*" not in text or not text.strip("* "):
        raise InputError(
            f"{shorten(text)} is not a pattern: write * for any text, such as {about}=~payroll*"
        )
    pattern = text.removeprefix("#") if about is MatchedProperty.TAG else text
    return _one_that(len(pattern) <= LONGEST_LABEL, pattern, f"{about}: it is too long")


def _value(about: MatchedProperty, text: str, networks: NetworkNames) -> str:
    """Return the value in its canonical form; InputError if the property cannot have it."""
    if about in _WORDS:
        return _word(about, text)
    match about:
        case MatchedProperty.NETWORK:
            return str(_network_id(text, networks))
        case MatchedProperty.MODULE:
            return _one_that(_MODULE.fullmatch(text) is not None, text, "prover module").upper()
        case MatchedProperty.SENDER:
            return str(Address.parse(text))
        case _:
            return _one_that(len(text) <= LONGEST_LABEL, text, f"{about}: it is too long")


def _word(about: MatchedProperty, text: str) -> str:
    words = {each.casefold(): str(each) for each in _WORDS[about]}
    name = _one_that(text.casefold() in words, text, f"{about} ({', '.join(words.values())})")
    return words[name.casefold()]


def _one_that(is_right: bool, text: str, what: str) -> str:  # noqa: FBT001 - read where it is called
    if not is_right:
        raise InputError(f"{shorten(text)} is not a {what}")
    return text


def _network_id(text: str, networks: NetworkNames) -> NetworkId:
    """Return the id of a network given by name or chain id, even if it is not configured."""
    if text.casefold() == INSTALLATION_NAME:
        return INSTALLATION
    for network_id, name in networks.items():
        if text.casefold() == name.casefold():
            return network_id
    if re.fullmatch(r"\d{1,18}", text, re.ASCII):
        return NetworkId(int(text))
    known = ", ".join(f"{name} ({each})" for each, name in networks.items()) or "none"
    raise InputError(f"{shorten(text)} is not a network of this installation: {known}")


def labels_of(change: ObservedChange, rule: str = "", severity: str = "") -> ChangeLabels:
    """Return the properties of a change and of the rule that takes it; empty if unknown."""
    of_change = {MatchedProperty(dimension): change.value_of(dimension) for dimension in Dimension}
    of_rule = {MatchedProperty.RULE: rule, MatchedProperty.SEVERITY: severity}
    return of_change | of_rule | {MatchedProperty.CAUSE: change.cause}


def labels_of_group(group: Sequence[tuple[str, str]], rule: str, severity: str) -> ChangeLabels:
    """Return the properties that all changes of a group share; others are missing."""
    of_group = {MatchedProperty(name): value for name, value in group if name in _NAMES}
    if MatchedProperty.MODULE in of_group:  # what lacks the module is a group of its own
        of_group.setdefault(MatchedProperty.CAUSE, "")
    return of_group | {MatchedProperty.RULE: rule, MatchedProperty.SEVERITY: severity}
