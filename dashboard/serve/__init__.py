"""The two APIs that Linewatch serves itself: the exclusion RPC and the gas API."""
