"""Notify the people who asked, and lose no notification that is pending."""
