"""Builds the objects of each role from the settings; nothing here decides or asks."""
