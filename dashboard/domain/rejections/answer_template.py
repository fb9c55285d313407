"""Templates of the text that a support agent passes on: their placeholders, checks and filling.

A template is plain text with placeholders such as ``{hash}``. It has neither conditions nor loops:
a line with an unknown value is left out, and so is a paragraph of which nothing else remains. If
networks answer differently, the line is repeated for each of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Final, Protocol

from msgspec import Struct, field

from dashboard.domain.markup import visible
from dashboard.domain.tracking.remarks import LONGEST_CASE_ID
from dashboard.domain.tracking.verdict import VerdictKind
from dashboard.errors import InputError

LONGEST_TEMPLATE: Final = 4_000
"""Characters of one template."""

LONGEST_FILE: Final = 60_000
"""Characters of a file of templates."""

LONGEST_ANSWER: Final = 10_000
"""Characters of a filled-in text: a template may use a long reason many times."""

PLACEHOLDERS: Final[Mapping[str, str]] = {
    "hash": "the transaction",
    "case_id": "the case id given with the look-up, else that of the tracked transaction",
    "network": "the networks that the answer is about",
    "verdict": "the verdict in few words, such as: rejected",
    "answer": "what happened, in one or two plain sentences",
    "cause": "why it was rejected, in plain words",
    "next_steps": "what the customer can do next, numbered",
    "details": "what the verdict rests on, what is not known, and what follows",
    "explanation": "why it was rejected, in the words of the field",
    "technical_steps": "what the sender can do next, with the nonce, numbered",
    "stage": "where it was rejected: SEQUENCER, RPC or P2P",
    "rejected_at": "when it was rejected, by the node's clock",
    "reason": "the reason as the network sent it, its links disabled",
    "module": "the prover module that the reason names",
    "count": "lines needed in that module",
    "limit": "lines allowed",
    "overrun": "needed divided by allowed",
    "block": "the block of the transaction, or the one it was rejected for",
    "sender": "the sender",
    "nonce": "the nonce",
    "link": "the address of this look-up, if public_url of [pages] is set",
    "as_of": "the time of this answer",
}
"""The placeholders of a template, and what each one is replaced by; empty if that is unknown."""


class Voice(StrEnum):
    """The reader of an answer."""

    CUSTOMER = "customer"
    ENGINEER = "engineer"


_CUSTOMER: Final = """\
Case: {case_id}
Transaction: {hash}

{answer}

Why it was rejected: {cause}

What you can do:
{next_steps}

As of {as_of}.
"""

_ENGINEER: Final = """\
{network}: {verdict}
Transaction {hash}
Case {case_id}

{details}

{explanation}
Module {module}: {count} lines needed, {limit} allowed, {overrun} times the limit
Sender {sender}
Nonce {nonce}
Stage {stage}
Dated {rejected_at}
Block {block}
Reason as sent: {reason}

Next:
{technical_steps}

{link}
As of {as_of}.
"""


class AnswerTemplates(Struct, frozen=True):
    """The template of each voice, and templates for single verdicts that replace it."""

    usual: Mapping[Voice, str]
    of_verdict: Mapping[tuple[Voice, VerdictKind], str] = field(default_factory=dict)

    def choose(self, voice: Voice, kind: VerdictKind) -> str:
        """Return the template for a verdict."""
        return self.of_verdict.get((voice, kind), self.usual[voice])


BUILT_IN: Final = AnswerTemplates({Voice.CUSTOMER: _CUSTOMER, Voice.ENGINEER: _ENGINEER})

USUAL_KEY: Final = "text"
VERDICT_KEYS: Final = {kind.value.replace(",", "").replace(" ", "-"): kind for kind in VerdictKind}
"""The keys in a file for the template of one verdict, such as `rejected-then-included`."""

_BRACES: Final = re.compile(r"\{\{|\}\}|\{([^{}\n]*)\}|[{}]")
_LONGEST_SHOWN: Final = 40


def parse_case_id(text: str) -> str:
    """Normalise the case id of a look-up; InputError if it is too long."""
    case_id = " ".join(text.split())
    if len(case_id) > LONGEST_CASE_ID:
        raise InputError(
            f"the case id has {len(case_id):,} characters: give at most {LONGEST_CASE_ID}"
        )
    return case_id


def template_mistakes(template: str) -> Iterator[tuple[int, str]]:
    """Yield each wrong line of a template, counted from 1, with the remedy."""
    if len(template) > LONGEST_TEMPLATE:
        yield (
            1,
            f"begins a text of {len(template):,} characters: write {LONGEST_TEMPLATE:,} at most",
        )
        return
    if not template.strip():
        yield 1, "holds no text: write what is to be passed on, or leave the key out"
        return
    for number, line in enumerate(template.splitlines(), start=1):
        for found in _BRACES.finditer(line):
            remark = _brace_mistake(found)
            if remark:
                yield number, remark


def _brace_mistake(found: re.Match[str]) -> str:
    if found[0] in {"{{", "}}"}:
        return ""
    if found[1] is None:
        return f"holds a lone {found[0]}: write {found[0] * 2} for a brace that is to be shown"
    if found[1] in PLACEHOLDERS:
        return ""
    shown = visible(found[0], _LONGEST_SHOWN)
    return f"names {shown}, which stands for nothing: write one of {', '.join(PLACEHOLDERS)}"


def fill_in(
    template: str,
    values: Mapping[str, str],
    apart: Sequence[tuple[str, Mapping[str, str]]] = (("", {}),),
) -> str:
    """Fill in a template; braces in values have no meaning.

    `apart` are the values of networks that answer differently, each with the network's name: a line
    is repeated, after the name, for each network that has values for all of its placeholders, or is
    written once if all of them give the same text. A line for which no network has values is left
    out, and so is a paragraph if all of its lines with placeholders are. The text is truncated to
    `LONGEST_ANSWER`.
    """
    each_one = [(network, {**values, **own}) for network, own in apart]
    filled = (_paragraph(each, each_one) for each in re.split(r"\n[ \t]*\n", template))
    text = "\n\n".join(each for each in filled if each)
    return text if len(text) <= LONGEST_ANSWER else f"{text[:LONGEST_ANSWER]}…"


def _paragraph(text: str, apart: Sequence[tuple[str, Mapping[str, str]]]) -> str:
    lines = text.strip("\n").splitlines()
    named = [line for line in lines if _names(line)]
    filled = {line: list(_lines(line, apart)) for line in lines}
    if named and not any(filled[line] for line in named):
        return ""
    return "\n".join(each for line in lines for each in filled[line])


def _lines(line: str, apart: Sequence[tuple[str, Mapping[str, str]]]) -> Iterator[str]:
    found = [
        (network, _filled_line(line, values))
        for network, values in apart
        if all(values.get(name) for name in _names(line))
    ]
    texts = {text for _, text in found}
    if len(texts) == 1 and len(found) == len(apart):
        yield texts.pop()
        return
    for network, text in found:
        blank = "\n" if "\n" in text else " "
        yield f"{network}:{blank}{text}"


def _names(line: str) -> list[str]:
    return [found[1] for found in _BRACES.finditer(line) if found[1] is not None]


def _filled_line(line: str, values: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        return found[0][0] if found[1] is None else values[found[1]]

    return _BRACES.sub(value, line)


def built_in_file() -> str:
    """Return the built-in templates as a file, with a list of the placeholders."""
    widest = max(map(len, PLACEHOLDERS))
    names = [f"#   {f'{{{name}}}':<{widest + 2}}  {what}" for name, what in PLACEHOLDERS.items()]
    tables = [f"[{voice}]\n{USUAL_KEY} = '''\n{BUILT_IN.usual[voice]}'''\n" for voice in Voice]
    return "\n".join([*_HEAD, *names, "", *tables])


_HEAD: Final = (
    "# The texts that people copy from a look-up: [customer] and [engineer].",
    "# `text` is for every verdict; a key with the name of a verdict takes its place there:",
    f"# {', '.join(VERDICT_KEYS)}.",
    "# A line that names something unknown is left out, and a paragraph with no other line.",
    "# If networks answer differently, a line is written for each of them, after its name.",
    "# Write {{ and }} for braces. What may be named:",
)


class AnswerFileState(Struct, frozen=True):
    """The content of the file of templates, and the templates in force.

    `source` says where the file is, for commands and the audit log: pages show no path. `text` is
    None if there is no file; in that case, and if the file has `mistakes`, the built-in templates
    are in force.
    """

    source: str
    text: str | None = None
    templates: AnswerTemplates = BUILT_IN
    mistakes: tuple[str, ...] = ()

    def editable(self) -> str:
        """Return the text to start editing from."""
        return built_in_file() if self.text is None else self.text


class AnswerFile(Protocol):
    """The file of templates."""

    def read(self) -> AnswerFileState:
        """Return the current file."""

    def check(self, text: str) -> AnswerFileState:
        """Return the state that the file would have with this text."""

    def staged(self, text: str | None) -> AbstractContextManager[Callable[[], None]]:
        """Yield a function that replaces the file atomically; None removes it.

        Whatever can fail is tried before the function is yielded; InputError says what failed.
        Others who change the file wait meanwhile.
        """
