"""The embedded simulated chain: Linewatch can be tried with no account and no other node."""
