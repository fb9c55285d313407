"""A harness: measures what is promised about speed, beside other servers in the same run.

`make bench` runs it and writes docs/benchmarks.md; tests/integration/test_bench.py sees that its
cases run and find wrong answers. No test judges by time.
"""
