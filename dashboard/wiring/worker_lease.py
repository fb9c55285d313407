"""The name under which workers take turns."""

from typing import Final

WORKER_LEASE: Final = "worker"
