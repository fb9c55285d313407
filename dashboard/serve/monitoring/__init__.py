"""Monitoring of serve: health, the metrics page and the access log."""
