"""Tracked transactions: how people name them, when to ask, their verdicts and their costs."""
