"""Extraction: what callers want to know of pages, found by stages, each value with its proof."""
