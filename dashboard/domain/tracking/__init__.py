"""Tracked transactions: how people name them, their verdicts, and what they cost."""
