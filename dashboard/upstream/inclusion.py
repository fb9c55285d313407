"""Ask a node about the inclusion of transactions: receipts, and nonces of known senders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dashboard.domain.included_or_replaced import Inclusion, InclusionAnswer, InclusionQuestion
from dashboard.domain.observation import Failure, FailureKind
from dashboard.domain.quantity import Address, NetworkId
from dashboard.errors import UpstreamError
from dashboard.upstream.errors import failure_of
from dashboard.upstream.node import NodeClient
from dashboard.wire.inclusion import Receipt

LARGEST_BATCH: Final = 50
"""Receipts in one batch: they are large, and some gateways take no more."""

_GIVES_UP_AFTER: Final = 2
"""Single questions in a row without an answer, after which the rest would fare no better."""


class InclusionClient:
    """Asks one node of one network.

    A batch that fails is asked again hash by hash, so that trouble with one, or with batches as
    such, costs the others nothing; where single questions work, batches are not tried again.
    """

    def __init__(self, node: NodeClient, network_id: NetworkId) -> None:
        """Ask nothing yet; at first the node is asked which network it follows."""
        self._node = node
        self._network_id = network_id
        self._is_network_checked = False
        self._size = LARGEST_BATCH

    async def ask(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        """Return one answer for each question, in order; trouble is a failure in it."""
        try:
            await self._check_network()
        except UpstreamError as error:
            return _unanswered(questions, failure_of(error))
        answers: list[InclusionAnswer] = []
        while len(answers) < len(questions) and not _is_hopeless(answers):
            start = len(answers)
            answers += await self._ask_some(questions[start : start + self._size])
        return answers + _left(questions, answers)

    async def _check_network(self) -> None:
        if not self._is_network_checked:
            await self._node.check_network(self._network_id)
            self._is_network_checked = True

    async def _ask_some(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        try:
            return await self._exchange(questions)
        except UpstreamError as error:
            failure = failure_of(error)
        if len(questions) == 1 or failure.kind is FailureKind.THROTTLED:
            return _unanswered(questions, failure)
        return await self._ask_singly(questions)

    async def _ask_singly(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        answers: list[InclusionAnswer] = []
        while len(answers) < len(questions) and not _is_hopeless(answers):
            answers += await self._ask_some([questions[len(answers)]])
        if all(answer.failure is None for answer in answers):
            self._size = 1  # it was not one of the hashes: batches as such are refused
        return answers + _left(questions, answers)

    async def _exchange(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        """Ask for nonces first: one that is used before a receipt is missing was used by another.

        The other way round, the transaction itself might be included in between.
        """
        senders = [each.sender for each in questions if each.sender is not None]
        next_nonces = await self._next_nonces(senders)
        receipts = await self._node.receipts([each.tx_hash for each in questions])
        return [
            InclusionAnswer(
                question.tx_hash,
                None if receipt is None else _inclusion(receipt),
                None if question.sender is None else next_nonces[question.sender],
            )
            for question, receipt in zip(questions, receipts, strict=True)
        ]

    async def _next_nonces(self, senders: Sequence[Address]) -> dict[Address, int]:
        distinct = list(dict.fromkeys(senders))
        if not distinct:
            return {}
        counts = await self._node.transaction_counts(distinct)
        return dict(zip(distinct, counts, strict=True))


class FirstThatAnswers:
    """Asks the first node, and the next one what the one before could not answer."""

    def __init__(self, clients: Sequence[InclusionClient]) -> None:
        """Prefer the clients in their order."""
        self._clients = clients

    async def ask(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        """Return one answer for each question, in order; a failure where no node has one."""
        first, *others = self._clients
        answers = await first.ask(questions)
        for client in others:
            open_ = [place for place, each in enumerate(answers) if each.failure is not None]
            if not open_:
                break
            more = await client.ask([questions[place] for place in open_])
            for place, answer in zip(open_, more, strict=True):
                if answer.failure is None:
                    answers[place] = answer
        return answers


def _inclusion(receipt: Receipt) -> Inclusion:
    return Inclusion(receipt.block_number, receipt.block_hash, receipt.is_successful)


def _unanswered(
    questions: Sequence[InclusionQuestion], failure: Failure | None
) -> list[InclusionAnswer]:
    return [InclusionAnswer(each.tx_hash, failure=failure) for each in questions]


def _left(
    questions: Sequence[InclusionQuestion], answers: Sequence[InclusionAnswer]
) -> list[InclusionAnswer]:
    """Return for what was not asked any more the failure that stopped the asking."""
    rest = questions[len(answers) :]
    return _unanswered(rest, answers[-1].failure) if rest else []


def _is_hopeless(answers: Sequence[InclusionAnswer]) -> bool:
    """Whether the node, rather than the hashes, is what stands in the way."""
    last = [each.failure for each in answers[-_GIVES_UP_AFTER:] if each.failure is not None]
    return len(last) == _GIVES_UP_AFTER and all(
        failure.kind is not FailureKind.UNREADABLE for failure in last
    )
