"""Twenty browsers that leave the pages: `python -m tests.integration.ended_sessions`.

It prints how many file descriptors were open before, with them, and when all were gone.
"""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st
from streamlit import config, runtime
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from dashboard.show.streamlit_runtime import end_sessions
from tests.waiting import eventually_async


class Browser(runtime.SessionClient):
    """A browser that shows nothing."""

    def write_forward_msg(self, msg: ForwardMsg) -> None:
        """Discard a message."""


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def run(script: Path) -> list[int]:
    app = st.App(script)
    async with app.lifespan()(app):
        sessions = runtime.get_instance()
        before = descriptors()
        ids = [sessions.connect_session(Browser(), {}) for _ in range(20)]
        connected = descriptors()
        for each in ids:
            sessions.disconnect_session(each)
        ending = asyncio.create_task(end_sessions(timedelta(milliseconds=100)))
        await eventually_async(lambda: descriptors() < before + len(ids))
        ending.cancel()
        return [before, connected, descriptors()]


if __name__ == "__main__":
    config.set_option("server.disconnectedSessionTTL", 1)
    with TemporaryDirectory() as folder:
        page = Path(folder) / "page.py"
        page.write_text("import streamlit as st\nst.write('a page')\n", encoding="utf-8")
        sys.stdout.write(json.dumps(asyncio.run(run(page))))
