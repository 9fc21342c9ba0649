"""Metadata of a page: title, author, dates, OpenGraph and JSON-LD."""
