"""Benchmarks: `make bench` prints cinder's speed beside a bare loop doing the same work."""
