"""Scraping: a URL becomes a document, from the cache or the web."""
