"""Share links: what became of one transaction, for somebody who does not sign in."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from msgspec import Struct

from dashboard.application.context import ApplicationSubject
from dashboard.application.customer_answers import (
    AnswerContext,
    AnswerTexts,
    answer_text,
    finding_groups,
)
from dashboard.application.line_limits import LineLimitEnds
from dashboard.application.listing import Column, Listing, time_column
from dashboard.application.transaction_summary import read_transaction_summaries
from dashboard.domain.markup import visible
from dashboard.domain.people.access import Action, Actor, digest
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.answer_template import Voice
from dashboard.domain.secret import Secret
from dashboard.domain.tracking.remarks import LONGEST_CASE_ID
from dashboard.domain.tracking.verdict import VerdictKind
from dashboard.errors import InputError, NotFound
from dashboard.store.access.audit_log import note_action
from dashboard.store.tracking.saved import (
    ShareLink,
    add_share_link,
    end_share_link,
    share_link_of_digest,
    valid_share_links,
)

CASE: Final = "/case/"
"""The path of a share link, which its secret follows."""

LONGEST_SHARE: Final = timedelta(days=90)
_SECRET_BYTES: Final = 32


class SharedCase(Struct, frozen=True):
    """What a share link shows: the verdict, None if nothing can be asked, and the text.

    `text` is the one for customers, without a link into the pages; it is foreign text.
    """

    verdict: VerdictKind | None
    text: str


class Sharing(ApplicationSubject):
    @property
    def is_possible(self) -> bool:
        """Whether others can open a link: the settings have a public_url."""
        return bool(self._context.settings.public_url)

    def all(self, tx_hash: TxHash | None = None) -> Sequence[ShareLink]:
        """Return the valid links, of one transaction or all, the latest first."""
        with self._context.store.read() as connection:
            return valid_share_links(connection, self._context.now(), tx_hash)

    def share(
        self, tx_hash: TxHash, lasts: timedelta, by: Actor, case_id: str = ""
    ) -> tuple[ShareLink, str]:
        """Create a link; return it and its address, which is not stored."""
        if not self.is_possible:
            raise InputError("nobody could open the link: set public_url in [pages]")
        if not timedelta() < lasts <= LONGEST_SHARE:
            raise InputError(f"a link lasts at most {LONGEST_SHARE.days} days: say how long")
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        wish = ShareLink(0, tx_hash, case_id[:LONGEST_CASE_ID], by.at, by.name, by.at + lasts)
        with self._context.store.write() as connection:
            link = add_share_link(connection, wish, digest(secret))
            details = {"link": link.link_id, "days": lasts / timedelta(days=1)}
            note_action(connection, by, Action.SHARE, str(tx_hash), details)
        return link, f"{self._context.settings.public_url.rstrip('/')}{CASE}{secret}"

    def revoke(self, link_id: int, by: Actor) -> ShareLink:
        """Revoke a link at once."""
        with self._context.store.write() as connection:
            valid = {each.link_id: each for each in valid_share_links(connection, by.at)}
            link = valid.get(link_id)
            if link is None:
                raise NotFound(f"no share link {link_id} is valid: it may be over already")
            details = {"link": link_id}
            note_action(connection, by, Action.END_SHARE, str(link.tx_hash), details)
            end_share_link(connection, link, by.at)
        return link

    def shown(self, secret: Secret) -> SharedCase | None:
        """Return what a link shows now; None if it is over or never existed."""
        context, now = self._context, self._context.now()
        networks = LineLimitEnds(context).networks()
        with context.store.read() as connection:
            link = share_link_of_digest(connection, digest(secret.reveal()), now)
            if link is None:
                return None
            [summary] = read_transaction_summaries(connection, networks, [link.tx_hash], now)
        templates = AnswerTexts(context).state().templates
        groups = finding_groups(summary)
        text = answer_text(summary, Voice.CUSTOMER, AnswerContext(now, link.case_id, "", templates))
        return SharedCase(groups[0].kind if groups else None, text)


SHARE_LINKS: Final[Listing[ShareLink]] = Listing(
    "shares",
    (
        Column("number", lambda each: each.link_id, "number"),
        Column("transaction", lambda each: str(each.tx_hash), "txHash"),
        Column("case", lambda each: visible(each.case_id), "caseId", lambda each: each.case_id),
        time_column("shared", "createdAt", lambda each: each.created_at),
        Column(
            "by", lambda each: visible(each.created_by), "createdBy", lambda each: each.created_by
        ),
        time_column("ends", "endsAt", lambda each: each.ends_at),
    ),
    "Nothing is shared.",
)
