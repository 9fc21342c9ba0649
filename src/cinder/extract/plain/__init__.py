"""Pages that are text but not HTML: prose, data, feeds, sitemaps, tables."""
