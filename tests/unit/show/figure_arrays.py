"""What figures send to the browser, read back."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt


def array(told: dict[str, str]) -> npt.NDArray[np.floating[Any]]:
    """Return the array that was sent as bytes."""
    values = np.frombuffer(base64.b64decode(told["bdata"]), told["dtype"])
    return values.reshape([int(each) for each in told.get("shape", "-1").split(",")])
