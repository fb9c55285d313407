"""Tables of module limits: ours and those of nodes are read, anything else is refused."""

from __future__ import annotations

import pytest

from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.line_limits import ModuleLimits
from dashboard.errors import WireError
from dashboard.settings.presets import decode_module_limits

NODES_OWN = "[traces-limits]\nADD = 524288\nPRECOMPILE_RIPEMD_BLOCKS = 0\n"
OURS = f"""
name = "Linea mainnet"
version = "2026-05-12"
network_ids = [59144]
source = "github.com/Consensys/linea-monorepo"
path = "config/trace-limits.toml"
commit = "cb18"
{NODES_OWN}"""


def test_table_of_ours_says_what_it_is() -> None:
    assert decode_module_limits(OURS) == ModuleLimits(
        "Linea mainnet",
        "2026-05-12",
        "github.com/Consensys/linea-monorepo config/trace-limits.toml cb18",
        {"ADD": 524288, "PRECOMPILE_RIPEMD_BLOCKS": 0},
        (NetworkId(59144),),
    )
    assert decode_module_limits(OURS).title == "Linea mainnet, 2026-05-12"


def test_file_of_a_node_is_read_as_it_is() -> None:
    table = decode_module_limits(NODES_OWN)

    assert table.title == "the node's own file"
    assert table.limit_of("PRECOMPILE_RIPEMD_BLOCKS") == 0
    assert table.limit_of("MUL") is None
    assert table.network_ids == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[traces-limits]",
        "[traces-limits]\nADD = -1",
        "[traces-limits]\nADD = 1.5",
        "[traces-limits]\nADD = '1'",
        "[traces-limits]\nADD = 9223372036854775808",
        "[traces-limits]\n'<b>' = 1",
        f"[traces-limits]\n{'M' * 65} = 1",
        "name = '<b>'\n[traces-limits]\nADD = 1",
        "network_ids = 'all'\n[traces-limits]\nADD = 1",
        "ADD = 1",
        "[traces-limits",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(WireError, match="it is"):
        decode_module_limits(text)
