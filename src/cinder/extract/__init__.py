"""Extraction: pure functions from a page's bytes to its content, run inside the sandbox."""
