"""API keys: who calls, what each key may do, and how often."""
