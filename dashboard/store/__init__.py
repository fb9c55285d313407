"""The store: what was seen, what it changed and what is pending because of it, in one database."""
