"""Rejections: every version saved, counted as it arrives, and searched."""
