"""Reads markdown by its structure: outline, sections, passages, sentences, cuts."""
