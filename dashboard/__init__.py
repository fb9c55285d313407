"""Linewatch: watch how busy EVM networks are and which transactions they reject, and tell people."""
