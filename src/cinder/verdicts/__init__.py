"""Verdicts: what a fetch really got, one file a verdict."""
