"""Alerts: conditions and what changes them, rules, incidents, notifications and silences."""
