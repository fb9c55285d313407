"""Maintenance: migrate, back up, restore, move, verify, rebuild and export a store."""
