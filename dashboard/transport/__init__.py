"""Connections of uvicorn, with limits on every byte and second, for pages and serve."""
