"""The event loop of a role: threads that hand it much at once wake it once."""

from __future__ import annotations

import asyncio


class WokenOnceLoop(asyncio.SelectorEventLoop):
    """A loop that a thread wakes only where none woke it since it last looked.

    Streamlit's scripts hand each element of a page to the loop, which costs a write for each: in
    all, an eighth of the time that a page takes. What was handed over before the write is read is
    run with it, since the loop looks at all of it before it waits again.
    """

    _is_waking = False

    def _write_to_self(self) -> None:
        if not self._is_waking:
            self._is_waking = True
            super()._write_to_self()  # type: ignore[misc]  # private, so it has no stub

    def _read_from_self(self) -> None:
        super()._read_from_self()  # type: ignore[misc]  # private, so it has no stub
        self._is_waking = False  # only now: a write before would have been read, and none followed
