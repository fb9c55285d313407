"""Connections: HTTP and WebSocket with limits on every byte and second."""
