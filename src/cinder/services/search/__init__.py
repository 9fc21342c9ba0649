"""Searching the web and all that is kept: asking, fusing, filtering, and pages of results."""
