"""REST v1: /v1/scrape, /v1/search, /v1/extract, and crawls and batches."""
