"""Reads text by its structure: blocks, outline, passages, summary, differences."""
