"""Sessions of browsers: which are open, and the end of those to which no browser came back."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Final

from streamlit import runtime
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import SessionClient

SWEEP_PERIOD: Final = timedelta(minutes=1)


def is_open_session(session_id: str) -> bool:
    """Whether a browser is connected to a session of this id."""
    return runtime.exists() and runtime.get_instance().is_active_session(session_id)


async def end_sessions(period: timedelta = SWEEP_PERIOD) -> None:
    """End, again and again, the sessions whose browser did not come back in time.

    Streamlit ends those that are older than `server.disconnectedSessionTTL` only when it stores
    another one. The last hundred would stay for ever, each with an event loop and what it shows.
    """
    while True:
        await asyncio.sleep(period.total_seconds())
        sessions = runtime.get_instance()
        passing = sessions.connect_session(_NoBrowser(), {})
        sessions.disconnect_session(passing)  # stored now, and those that are too old are not
        sessions.close_session(passing)


class _NoBrowser(SessionClient):
    """Takes what a session sends, and shows it to nobody."""

    def write_forward_msg(self, msg: ForwardMsg) -> None:
        """Discard a message."""
