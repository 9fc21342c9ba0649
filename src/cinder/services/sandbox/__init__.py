"""The sandbox: where pages are turned into content, out of reach of the server."""
