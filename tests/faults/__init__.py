"""A harness, no folder of unit tests: lets faults happen to real processes, many times by chance.

Its `test_*.py` play a short run of each row in `make check`; `make faults` plays the full runs and
publishes docs/faults.md.
"""
