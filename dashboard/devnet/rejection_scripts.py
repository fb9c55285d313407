"""Scripts of simulated rejections: who reports what, how late, and the final outcome."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Final

from msgspec import Struct

from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import RejectionStage

_OVER_LIMIT: Final = "line count for module {module}={count} is above the limit {limit}"


class ReasonTemplate(StrEnum):
    """Reason messages that real nodes are known to send."""

    SIMULATED = f"Transaction {{tx_hash}} {_OVER_LIMIT}"
    SIMULATED_UNNAMED = f"Transaction {_OVER_LIMIT}"
    UNKNOWN_MODULE = "Module {unknown} does not exist in the limits file."
    NO_COUNT = "Internal Error: do not know what to do with result: INVALID_LINE_COUNT"
    OVERFLOW = "TX_MODULE_LINE_COUNT_OVERFLOW({module})"
    OVERFLOW_CACHED = "TX_MODULE_LINE_COUNT_OVERFLOW_CACHED({module})"
    OVERFLOW_OLD = "TX_MODULE_LINE_COUNT_OVERFLOW"
    OVERFLOW_CACHED_OLD = "TX_MODULE_LINE_COUNT_OVERFLOW_CACHED"


class FinalOutcome(Enum):
    """The final outcome of a rejected transaction."""

    STUCK = "neither it nor another with its nonce is ever included"
    INCLUDED = "the same signed transaction is included after all"
    REPLACED = "its nonce is used by another transaction"


class ScriptedReport(Struct, frozen=True):
    """One node rejects `after` seconds after sending, and reports `late` seconds after that.

    A recount happens on another state of the chain, so it counts other lines.
    """

    template: ReasonTemplate
    stage: RejectionStage
    after: int
    late: int = 0
    is_recount: bool = False


class Script(Struct, frozen=True):
    """What happens to one transaction; the outcome comes `ends_after` seconds after sending."""

    steps: tuple[ScriptedReport, ...]
    outcome: FinalOutcome = FinalOutcome.STUCK
    ends_after: int = 0


class Overrun(Struct, frozen=True):
    """The numbers of one rejection; `unknown` is a module that the node's limits lack."""

    module: str
    count: int
    limit: int
    unknown: str

    def text(self, template: ReasonTemplate, tx_hash: TxHash) -> str:
        """Fill in a reason message."""
        # `format` of a member without placeholders would return the member, not a text.
        return template.value.format(
            tx_hash=tx_hash,
            module=self.module,
            count=self.count,
            limit=self.limit,
            unknown=self.unknown,
        )


_RPC, _P2P, _SEQUENCER = RejectionStage.RPC, RejectionStage.P2P, RejectionStage.SEQUENCER

# Neighbours differ in reason and stage, so that a few minutes show them all.
SCRIPTS: Final = (
    Script((ScriptedReport(ReasonTemplate.SIMULATED, _RPC, 1),)),
    Script(
        (
            ScriptedReport(ReasonTemplate.OVERFLOW, _SEQUENCER, 4),
            ScriptedReport(ReasonTemplate.OVERFLOW_CACHED, _SEQUENCER, 22),
        )
    ),
    Script(
        (
            ScriptedReport(ReasonTemplate.SIMULATED, _P2P, 1),
            ScriptedReport(ReasonTemplate.SIMULATED, _RPC, 3),
        )
    ),
    Script((ScriptedReport(ReasonTemplate.UNKNOWN_MODULE, _RPC, 1),)),
    Script((ScriptedReport(ReasonTemplate.OVERFLOW_OLD, _SEQUENCER, 4),)),
    Script((ScriptedReport(ReasonTemplate.SIMULATED, _RPC, 1),), FinalOutcome.INCLUDED, 45),
    Script((ScriptedReport(ReasonTemplate.NO_COUNT, _P2P, 2),)),
    Script(
        (
            ScriptedReport(ReasonTemplate.SIMULATED, _RPC, 1),
            ScriptedReport(ReasonTemplate.SIMULATED, _P2P, 4, is_recount=True),
            ScriptedReport(ReasonTemplate.OVERFLOW, _SEQUENCER, 30),
        )
    ),
    Script((ScriptedReport(ReasonTemplate.SIMULATED_UNNAMED, _RPC, 1),)),
    Script((ScriptedReport(ReasonTemplate.SIMULATED, _P2P, 2, late=240),)),
    Script((ScriptedReport(ReasonTemplate.OVERFLOW, _SEQUENCER, 4),), FinalOutcome.REPLACED, 40),
    Script((ScriptedReport(ReasonTemplate.SIMULATED_UNNAMED, _P2P, 2),), FinalOutcome.INCLUDED, 90),
    Script((ScriptedReport(ReasonTemplate.OVERFLOW_CACHED_OLD, _SEQUENCER, 6),)),
    Script((ScriptedReport(ReasonTemplate.UNKNOWN_MODULE, _P2P, 2),)),
    Script((ScriptedReport(ReasonTemplate.NO_COUNT, _RPC, 1),)),
    Script((ScriptedReport(ReasonTemplate.OVERFLOW_CACHED, _SEQUENCER, 5, late=600),)),
)

LONGEST_SECONDS: Final = 700
"""This long after sending, nothing more happens to a transaction."""

LIMITS: Final = {
    "ADD": 524_288,
    "BLOCK_KECCAK": 8_192,
    "BLOCK_L2_L1_LOGS": 16,
    "EC_DATA": 131_072,
    "EXT": 1_048_576,
    "HUB": 2_097_152,
    "MMIO": 4_194_304,
    "MMU": 2_097_152,
    "MXP": 1_048_576,
    "PRECOMPILE_BLAKE_ROUNDS": 0,
    "PRECOMPILE_ECPAIRING_MILLER_LOOPS": 128,
    "PRECOMPILE_ECRECOVER_EFFECTIVE_CALLS": 256,
    "PRECOMPILE_MODEXP_EFFECTIVE_CALLS": 64,
    "PRECOMPILE_RIPEMD_BLOCKS": 0,
    "ROM": 16_777_216,
    "WCP": 524_288,
}
"""Lines that one transaction may have in a prover module; zero means that it cannot be proven."""

UNKNOWN_MODULES: Final = ("BIN", "BLOB_DATA", "RLP_AUTH_V2", "TSTORE_DATA")

LABELS: Final = (
    "Simulated bridge deposit",
    "Simulated batch payout",
    "Simulated mint",
    "Simulated proof check",
    "Simulated swap",
)
