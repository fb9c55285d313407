"""A harness: the store beside a plain model of it, in Python, driven by hypothesis.

The rules of each subject say what may happen and what the store must then hold and answer; kills
come between. The row `model` of tests/faults plays it.
"""
