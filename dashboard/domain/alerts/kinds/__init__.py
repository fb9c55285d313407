"""Kinds of rules: a module each says what it measures, its keys, its grounds and its words."""
