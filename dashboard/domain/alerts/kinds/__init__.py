"""Kinds of rules: each module says what its kind measures, its keys, its grounds and its words."""
