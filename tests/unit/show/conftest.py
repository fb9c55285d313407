"""Tests of pages stand on a seeded store."""

from tests.seeded_application import queries, store

__all__ = ["queries", "store"]
