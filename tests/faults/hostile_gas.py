"""schemathesis asks the gas API and the pages about the server all that their document suggests.

It is run as its users run it, against the document that the server itself hands out.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

from tests.conformance.error_log import watching
from tests.conformance.running_apis import KEY, NETWORK, apis
from tests.faults.rows import Play, Row
from tests.integration.running_server import SECRET
from tests.waiting import PATIENCE

_EXAMPLES: Final = 20
_CASES: Final = 300
"""What it makes at least of so many examples for each of its operations."""
_WITH_OUR_KEY: Final = f'[parameters]\n"path.api_key" = "{KEY}"\n'
_NOT_ASKED: Final = (
    "positive_data_acceptance",  # a chain id may be right in form and yet be served by nobody
    "negative_data_rejection",  # it takes our key for the odd ones that it meant to send
)


@contextmanager
def _asking(folder: Path) -> Iterator[Play]:
    configuration = folder / "schemathesis.toml"
    configuration.write_text(_WITH_OUR_KEY, encoding="utf-8")
    with watching() as watch, apis(folder) as served:

        def play(chance: Random) -> None:
            done = subprocess.run(
                [
                    *(sys.executable, "-m", "schemathesis.cli", "--config-file", configuration),
                    *("--no-color", "run", f"http://{served.address}/openapi.json"),
                    *("--max-examples", str(_EXAMPLES), "--seed", str(chance.randrange(2**31))),
                    *("--exclude-checks", ",".join(_NOT_ASKED), "--auth", f"{KEY}:{SECRET}"),
                ],
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE,
                cwd=folder,
            )
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-1000:]
            assert served.gas(f"{NETWORK}/busyThreshold").status_code == 200
            watch.check()

        yield play
    watch.check()


HOSTILE_GAS_QUESTIONS = Row(
    name="hostile-gas-questions",
    promise=(
        "schemathesis asks the gas API everything that its OpenAPI document suggests, right and "
        "wrong: no status 5xx, every answer as the document says, no error in the log"
    ),
    short=_CASES,
    full=6_000,
    stage=_asking,
    cases_per_play=_CASES,
)
