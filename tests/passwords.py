"""Passwords that tests hash in no time."""

from __future__ import annotations

from typing import Final

from argon2 import PasswordHasher

CHEAP_HASHER: Final = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""A password of the product takes 64 MiB and a tenth of a second."""
