"""Linewatch itself: its observations, coverage, budgets, retention and troubles."""
