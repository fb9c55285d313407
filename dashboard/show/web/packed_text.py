"""A text that many browsers ask for: compressed once, with what lets each keep its copy."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, cast

import pyarrow as pa
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

FOREVER: Final = "public, max-age=31536000, immutable"
"""For what has a name of its own as soon as its content changes."""

ASK_AGAIN: Final = "no-cache"
"""For what keeps its name: a browser asks each time whether its copy still holds."""

PLAIN: Final = "identity"
_TAG_LENGTH: Final = 20
_BROTLI: Final = 9
"""Above this level a tenth is saved, and takes ten times as long."""


def _brotli(content: bytes) -> bytes:
    codec = pa.Codec("brotli", compression_level=_BROTLI)
    return cast("bytes", codec.compress(content, asbytes=True))


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


CODINGS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "br": _brotli,
    "gzip": _gzip,
    PLAIN: bytes,
}
"""What compresses for each coding that we know, the one that packs best first."""


@dataclass(frozen=True, slots=True)
class PackedText:
    """A text in one coding; `tag` tells it from its other codings and from other contents."""

    body: bytes
    coding: str
    media_type: str
    tag: str

    def reply(self, scope: Scope, caching: str) -> Response:
        """Answer with the text, or that the browser's copy of it still holds."""
        headers = {"ETag": self.tag, "Cache-Control": caching, "Vary": "Accept-Encoding"}
        if is_held(Headers(scope=scope).get("if-none-match", ""), self.tag):
            return Response(status_code=304, headers=headers)
        if self.coding != PLAIN:
            headers["Content-Encoding"] = self.coding
        return Response(self.body, headers=headers, media_type=self.media_type)


def packed(content: bytes, coding: str, media_type: str) -> PackedText:
    """Compress a text; that of a megabyte takes a moment."""
    tag = f'"{sha256(content).hexdigest()[:_TAG_LENGTH]}-{coding}"'
    return PackedText(CODINGS[coding](content), coding, media_type, tag)


def chosen_coding(scope: Scope) -> str:
    """Return the best coding that a request takes, plain where it names none that we know."""
    weights: dict[str, str] = {}
    for accepted in Headers(scope=scope).getlist("accept-encoding"):
        for part in accepted.lower().split(","):
            name, _, weight = part.partition(";")
            weights[name.strip()] = weight.replace(" ", "")
    for coding in CODINGS:
        asked = weights.get(coding, weights.get("*"))
        if asked is not None and not _is_zero(asked):
            return coding
    return PLAIN


def _is_zero(weight: str) -> bool:
    """Whether a weight such as ``q=0.00`` refuses a coding."""
    return weight.startswith("q=0") and not weight[3:].strip(".0")


def is_held(if_none_match: str, tag: str) -> bool:
    """Whether an ``If-None-Match`` names this version."""
    named = {each.strip().removeprefix("W/") for each in if_none_match.split(",")}
    return tag in named or "*" in named
