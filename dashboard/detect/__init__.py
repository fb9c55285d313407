"""Conclude: what observations change in what we hold true; pure."""
