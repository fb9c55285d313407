"""The exclusion RPC: dispatch, methods, and both ways to call them."""
