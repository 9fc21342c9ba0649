"""Real MCP clients against a real server: each lists the tools and scrapes a page."""
