"""Every error Linewatch raises, as one tree; a leaf exists only where a caller acts differently.

LinewatchError
├── InputError                a person or a client gave a value that cannot be used: tell them
│   ├── NotFound              nothing has the name or id that they gave: 404 in the API
│   ├── NotAllowed            their role does not allow it: an admin must act
│   └── SettingsError         the same, in a configuration file or a variable: stop the role
├── WireError                 text from upstream that breaks its contract: keep it, show it, go on
├── UpstreamError             a question to upstream got no usable answer
│   ├── UpstreamUnavailable   no answer (time-out, reset): ask again soon
│   │   └── UpstreamFailed    the server failed (5xx), perhaps at one question of a batch: split it
│   ├── UpstreamThrottled     asked too fast (429): ask again after `retry_after`
│   ├── UpstreamRefused       key, quota or address refused (400 to 404): a person must act
│   └── UpstreamUnreadable    an answer that cannot be understood: treat as no answer
│       └── UpstreamRolledBack a chain without blocks that were there: believe it if all say so
├── StoreError                the store cannot do what was asked
│   ├── StoreUnavailable      disk full, locked or unreachable: nothing was saved, try again
│   ├── SchemaMismatch        the store was written by a newer Linewatch: upgrade the code
│   └── ForeignStore          the state folder belongs to another installation
├── DeliveryError             a notification was not handed over
│   ├── DeliveryDeferred      temporary: keep it and try again
│   │   └── DeliveryBlocked   so is every message to that recipient now: keep all of them
│   ├── DeliveryRefused       permanent for this recipient: keep it as a dead message
│   └── DeliveryWithheld      not ours to send: another worker will, or the address is off
└── RoleError                 a process of ours cannot start
"""

from __future__ import annotations

from datetime import timedelta


class LinewatchError(Exception):
    """Root of the tree; its text is safe to show to a person and contains no secret."""


class InputError(LinewatchError):
    """A value from a person or client cannot be used; the text names it and the remedy."""


class NotFound(InputError):
    """Nothing has the name or the id that was given; the text names the kind."""


class NotAllowed(InputError):
    """The actor's role does not allow it; the text names both roles."""


class SettingsError(InputError):
    """A setting is unknown, malformed or contradicts another; the text names its place."""


class WireError(LinewatchError):
    """Text from the wire breaks its contract; the text names the field and what was found."""


class UpstreamError(LinewatchError):
    """A question to an upstream got no usable answer."""


class UpstreamUnavailable(UpstreamError):
    """Nobody answered, or the server failed; asking again soon may help."""


class UpstreamFailed(UpstreamUnavailable):
    """The server failed (HTTP 5xx); another question, or a part of a batch, may be answered."""


class UpstreamThrottled(UpstreamError):
    """Asked too fast; `retry_after` is how long the upstream wants no requests."""

    def __init__(self, message: str, retry_after: timedelta | None = None) -> None:
        """Remember how long to wait, if the upstream said so."""
        super().__init__(message)
        self.retry_after = retry_after


class UpstreamRefused(UpstreamError):
    """The upstream refuses this key, quota, network or address; only a person can change that."""


class UpstreamUnreadable(UpstreamError):
    """The answer is not what the contract says (HTML, broken JSON, wrong id, too large)."""


class UpstreamRolledBack(UpstreamUnreadable):
    """A node's chain takes away blocks that nothing replaces; another node may still have them."""


class StoreError(LinewatchError):
    """The store cannot do what was asked."""


class StoreUnavailable(StoreError):
    """The store cannot be written or read now; nothing was saved."""


class SchemaMismatch(StoreError):
    """The store has a schema that this version of Linewatch does not know."""


class ForeignStore(StoreError):
    """The state folder belongs to another installation."""


class DeliveryError(LinewatchError):
    """A notification was not handed over."""


class DeliveryDeferred(DeliveryError):
    """The channel cannot take the notification now; it stays pending."""


class DeliveryBlocked(DeliveryDeferred):
    """Nothing can be handed over to this recipient now, whatever the message says.

    `retry_after` is how long the other side wants nothing, if it said so.
    """

    def __init__(self, message: str, retry_after: timedelta | None = None) -> None:
        """Remember how long to wait, if the other side said so."""
        super().__init__(message)
        self.retry_after = retry_after


class DeliveryRefused(DeliveryError):
    """The channel will never take this notification for this recipient; it is marked dead."""


class DeliveryWithheld(DeliveryError):
    """A notification was not handed over: the lease ended, or its recipient is to get nothing.

    After the lease, another worker may send it.
    """


class RoleError(LinewatchError):
    """A process of Linewatch cannot start."""
