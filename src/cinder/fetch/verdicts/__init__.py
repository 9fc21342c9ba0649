"""Verdicts: what a fetch really got, each kind told by signs of its own."""
