"""Fees: the fees of a network, their roll-ups, percentiles, busy spells and cheap hours."""
