"""What a key may do, and how often."""

from __future__ import annotations

from dashboard.serve.keys import ApiKey


class Gate:
    """Admits every caller."""

    def admit(self, caller: ApiKey, calls: int) -> int:  # noqa: ARG002 - nobody has a rate yet
        """Count `calls` against a key's rate; return the seconds to wait, 0 where admitted."""
        return 0

    def allows(self, caller: ApiKey, method: str) -> bool:
        """Whether a key may call a method, named without its prefix, or a gas operation."""
        return caller.methods is None or method in caller.methods
