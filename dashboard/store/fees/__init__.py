"""Fees of networks: kept as polls see them, rolled up, and read for charts and conditions."""
