"""The clock as an argument: code that needs the time of day gets a Clock."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

Clock: TypeAlias = Callable[[], datetime]
"""Returns the present moment, aware, in UTC and in whole milliseconds, as it can be stored."""
