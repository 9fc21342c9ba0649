"""The rules of a crawl: canonical URLs, scope, traps, robots, sitemaps and near-duplicates."""
