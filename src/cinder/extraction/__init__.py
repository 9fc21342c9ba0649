"""Fills the fields of a caller's schema from a page without a model, each value with its proof."""
