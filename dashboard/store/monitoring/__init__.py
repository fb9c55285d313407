"""Linewatch itself: coverage, credits, failing upstreams, and sizes."""
