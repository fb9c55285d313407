"""The documents of both APIs, and the page to try them."""
