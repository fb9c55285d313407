"""A page that is open, as its browser plays it: a WebSocket that refreshes, and all that comes."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from websockets.asyncio.client import ClientConnection, connect

_LONGEST_RUN: Final = 60.0
_OLDEST_KEPT: Final = 2
"""Runs since an element was last named; a browser forgets it after."""


@dataclass(slots=True)
class Moved:
    """Bytes that came over a WebSocket: as they were on the wire, and unpacked."""

    wire: int = 0
    unpacked: int = 0


class _Counting(ClientConnection):
    """A connection that counts what comes before it is unpacked."""

    wire = 0

    def data_received(self, data: bytes) -> None:
        self.wire += len(data)
        super().data_received(data)


@dataclass(slots=True)
class PageSession:
    """One open page. `fragments` are its parts that refresh, each with its seconds in between.

    `widgets` are its buttons and fields, by their labels.
    """

    socket: ClientConnection
    query: str
    page: str
    fragments: dict[str, float] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    widgets: dict[str, str] = field(default_factory=dict)
    moved: Moved = field(default_factory=Moved)
    _kept: dict[str, int] = field(default_factory=dict)
    _runs: int = 0

    async def run(
        self, fragment: str = "", words: str = "", done: Sequence[WidgetState] = ()
    ) -> float:
        """Let the page be drawn, or a part of it; return the seconds until all has come.

        Where `words` are given, that is when the page says them, be it some runs later. `done` is
        what a person did before.
        """
        begun = time.perf_counter()
        state = ClientState(
            query_string=self.query,
            page_name=self.page,
            fragment_id=fragment,
            is_auto_rerun=bool(fragment),
            cached_message_hashes=list(self._kept),
            widget_states=WidgetStates(widgets=done),
        )
        await self.socket.send(BackMsg(rerun_script=state).SerializeToString())
        self.texts.clear()
        is_over = False
        while not is_over:
            is_over = self._take(await self.socket.recv(decode=False))
            is_over = is_over and any(words in each for each in self.texts or [""])
        self._runs += 1
        old = [each for each, run in self._kept.items() if self._runs - run > _OLDEST_KEPT]
        for each in old:
            del self._kept[each]
        assert isinstance(self.socket, _Counting)
        self.moved.wire = self.socket.wire
        return time.perf_counter() - begun

    def _take(self, raw: bytes) -> bool:
        """Take a message as a browser does; return whether it was the last one of a run."""
        self.moved.unpacked += len(raw)
        message = ForwardMsg.FromString(raw)
        kind: str | None = message.WhichOneof("type")
        if kind == "auto_rerun":
            rerun = message.auto_rerun
            self.fragments[rerun.fragment_id] = rerun.interval
        elif kind == "ref_hash":
            self._kept[message.ref_hash] = self._runs
        elif kind == "delta":
            if message.metadata.cacheable:
                self._kept[message.hash] = self._runs
            self._draw(message.delta.new_element)
        return kind == "script_finished"

    def _draw(self, element: Element) -> None:
        match element.WhichOneof("type"):
            case "html":
                self.texts.append(element.html.body)
            case "button":
                self.widgets[element.button.label] = element.button.id
            case "text_area":
                self.widgets[element.text_area.label] = element.text_area.id
            case _:
                pass


@asynccontextmanager
async def open_page(address: str) -> AsyncIterator[PageSession]:
    """Open a page as a browser does, without its scripts; nothing is asked yet."""
    parts = urlsplit(address)
    url = f"ws://{parts.netloc}/_stcore/stream"
    async with connect(
        url, max_size=None, proxy=None, open_timeout=_LONGEST_RUN, create_connection=_Counting
    ) as socket:
        yield PageSession(socket, parts.query, parts.path.strip("/"))
