"""The HTTP server: the ASGI app, authentication, limits, load shedding, worker processes."""
