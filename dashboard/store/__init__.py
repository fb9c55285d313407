"""Remember: what was seen, what it changed and what is owed because of it, in one database."""
