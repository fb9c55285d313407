"""The event loop of a role: threads that hand it much at once wake it once."""

from __future__ import annotations

import asyncio


class WokenOnceLoop(asyncio.SelectorEventLoop):
    """A loop that a thread wakes only where none woke it since it last looked.

    Streamlit's scripts hand each element of a page to the loop, which costs a write for each, and
    the wait until the loop gives the interpreter back. What was handed over before the write is
    read is run with it, since the loop looks at all of it before it waits again. For `rest`
    seconds after it was woken it is not woken again, but looks by itself at their end.
    """

    rest: float = 0
    _is_waking = False

    def _write_to_self(self) -> None:
        if not self._is_waking:
            self._is_waking = True
            super()._write_to_self()  # type: ignore[misc]  # private, so it has no stub

    def _read_from_self(self) -> None:
        super()._read_from_self()  # type: ignore[misc]  # private, so it has no stub
        if self.rest:
            self.call_later(self.rest, self._end_rest)
        else:
            self._end_rest()  # only now: a write before would have been read, and none followed

    def _end_rest(self) -> None:
        """Be woken again; what came meanwhile is run at once, since the loop looks after this."""
        self._is_waking = False


class RestingLoop(WokenOnceLoop):
    """The loop of the pages, where a thread hands over dozens of messages within milliseconds."""

    rest = 0.002
