"""Benchmarks: `make bench` prints cinder's speed beside that of others doing the same work."""
