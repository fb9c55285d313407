"""Tracked transactions: which are tracked, what polls answered, and how it ended."""
