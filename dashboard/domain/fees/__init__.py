"""Fees: what a network asks, its roll-ups, percentiles, busy spells and cheap hours."""
