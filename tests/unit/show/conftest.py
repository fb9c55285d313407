"""Tests of pages stand on a seeded store."""

from tests.seeded_application import path, queries, store

__all__ = ["path", "queries", "store"]
