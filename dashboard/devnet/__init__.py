"""The embedded simulated chain: people can try Linewatch without an account or another node."""
