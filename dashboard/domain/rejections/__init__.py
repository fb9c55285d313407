"""Rejections: records and reports, reasons in plain words, and how they are searched."""
