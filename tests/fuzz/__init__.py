"""Parsers of what strangers send, tried on texts made up of what has hurt parsers before."""
