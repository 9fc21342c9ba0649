"""The second REST version: POST /api/v2/scrape."""
