"""Subscriptions to new rejections, and the feed that all of them share."""
