"""Codecs of the wire: the exclusion RPC, the gas API and a node's JSON-RPC; pure functions."""
