"""Linewatch itself: what it observed and covered, what it keeps, and what troubles it."""
