"""Tables of module limits as nodes read them: TOML with one table `[traces-limits]`.

Our tables describe themselves in keys above it; a node's own file has none of these.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.reasons import ModuleLimits
from dashboard.errors import WireError
from dashboard.wire.decoding import read_toml
from dashboard.wire.node import LARGEST_NUMBER

_Words = Annotated[str, Meta(pattern=r"^[A-Za-z0-9 ._/:-]{0,200}$")]
_Module = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_]{1,64}$")]
_Lines = Annotated[int, Meta(ge=0, le=LARGEST_NUMBER)]
_LIMITS: Final = "traces-limits"


class _File(Struct):
    limits: Annotated[dict[_Module, _Lines], Meta(min_length=1)] = msgspec.field(name=_LIMITS)
    name: _Words = ""
    version: _Words = ""
    source: _Words = ""
    path: _Words = ""
    commit: _Words = ""
    network_ids: tuple[_Lines, ...] = ()


def decode_module_limits(text: str) -> ModuleLimits:
    """Read a table, or raise WireError; one that does not name itself is `the node's own file`."""
    try:
        file = msgspec.convert(read_toml(text), _File)
    except msgspec.ValidationError as error:
        raise WireError(f"it is no table of module limits: {error}") from error
    except ValueError as error:
        raise WireError(f"it is not valid TOML: {error}") from error
    return ModuleLimits(
        name=file.name or "the node's own file",
        version=file.version,
        source=" ".join(each for each in (file.source, file.path, file.commit) if each),
        limits=file.limits,
        network_ids=tuple(NetworkId(each) for each in file.network_ids),
    )
