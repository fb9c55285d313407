"""Channels that send messages: SMTP and Maildir, and what both write."""
