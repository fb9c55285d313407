"""What is ready before the first visitor comes."""

from __future__ import annotations

import gc
import sys

from dashboard.application.text import PAGES
from dashboard.show.streamlit_runtime import warm_up


def test_warm_pages_are_imported_and_cost_a_collection_nothing() -> None:
    usual = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    warm_up()
    frozen, chosen = gc.get_freeze_count(), gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(*usual)

    views = {f"dashboard.show.views.{name or 'overview'}" for name in PAGES}
    assert views <= sys.modules.keys()
    assert frozen > 100_000
    assert chosen > (700, 10, 10)
