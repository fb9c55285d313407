"""Upstream: clients of everything outside, which either answer or raise an UpstreamError."""
