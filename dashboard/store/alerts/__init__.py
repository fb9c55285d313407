"""Alerting: conditions, their changes, and the outbox of notifications."""
