"""What each prover module works on, in a few words, as the specification of the prover sorts them.

Put into our words from module_classification.md of github.com/Consensys/linea-specification, commit
6381c7d. Modules that it does not name are left out: of those, only the name is known.
"""

from __future__ import annotations

from typing import Final

_PURPOSES: Final = {
    "ADD": "additions and subtractions (ADD, SUB)",
    "BIN": "bitwise operations (AND, OR, XOR, NOT, BYTE, SIGNEXTEND)",
    "BLAKE_MODEXP_DATA": "data handed to the precompiles BLAKE2f and MODEXP",
    "BLOCK_DATA": "facts of the block that contracts ask for",
    "BLOCK_HASH": "answers of BLOCKHASH",
    "EC_DATA": "data handed to the elliptic-curve precompiles, such as ecRecover and ecPairing",
    "EUC": "small divisions that memory operations need",
    "EXP": "logarithms that price the opcode EXP and the precompile MODEXP",
    "EXT": "modular additions and multiplications (ADDMOD, MULMOD)",
    "GAS": "accounting of gas",
    "HUB": "coordination of all other modules: nearly every instruction takes lines of it",
    "LOG_DATA": "data of events (LOG0 to LOG4), for receipts",
    "LOG_INFO": "topics of events (LOG0 to LOG4), for receipts",
    "MMIO": "single reads and writes of memory, into which MMU splits larger ones",
    "MMU": "memory operations (MLOAD, MSTORE, SHA3, RETURN, copies, CREATE), split into small ones",
    "MOD": "divisions and remainders (DIV, MOD, SDIV, SMOD)",
    "MUL": "multiplications and powers (MUL, EXP)",
    "MXP": "growth of memory, and its price",
    "OOB": "bounds and prices of opcodes and precompiles",
    "RLP_ADDR": "addresses of contracts that are created",
    "RLP_TXN": "decoding of the transaction, for its signature",
    "RLP_TXN_RCPT": "encoding of receipts",
    "ROM": "bytecode that is run or deployed: large contracts take many lines of it",
    "ROM_LEX": "how many different contracts are touched",
    "SHAKIRA_DATA": "data that is hashed by Keccak, SHA2-256 or RIPEMD-160",
    "SHF": "shifts (SHL, SHR, SAR)",
    "STP": "gas handed on by CALL and CREATE",
    "TRM": "addresses cut from words, and which of them are precompiles",
    "TXN_DATA": "fields of the transaction itself",
    "WCP": "comparisons (LT, GT, SLT, SGT, EQ, ISZERO)",
}


def purpose_of(module: str) -> str | None:
    """Return what a module works on, None where no public description says so."""
    return _PURPOSES.get(module)
