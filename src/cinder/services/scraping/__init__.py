"""Scraping: a URL to a document, from the cache or the web, compared with before, and kept."""
