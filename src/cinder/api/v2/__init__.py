"""REST v2: POST /api/v2/scrape."""
