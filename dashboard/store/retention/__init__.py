"""Retention: what is purged when it is old, kind by kind."""
