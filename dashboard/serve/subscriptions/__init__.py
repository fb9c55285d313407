"""Subscriptions to new rejections: sessions, what each wants, and the feed that all share."""
