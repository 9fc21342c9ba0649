"""The fields of a caller's schema, filled from a page without a model, each value with proof."""
