"""What is ready before the first visitor comes."""

from __future__ import annotations

import gc
import sys

from dashboard.show.preload import warm_up
from dashboard.show.web.site_map import PAGES


def test_warm_pages_are_imported_and_cost_a_collection_nothing() -> None:
    warm_up()
    frozen = gc.get_freeze_count()
    gc.unfreeze()

    views = {f"dashboard.show.views.{name or 'overview'}" for name in PAGES}
    assert views <= sys.modules.keys()
    assert frozen > 100_000
