"""Conclude how observations change the conditions of networks and transactions; pure."""
