"""Turns fetched bodies into content: HTML pages, feeds, tables, plain text and PDF."""
