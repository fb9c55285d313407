"""Tracked transactions: who is watched, what polls were answered, and how it ended."""
