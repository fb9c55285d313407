"""Linewatch: how busy EVM networks are, which transactions they reject, and who is notified."""
