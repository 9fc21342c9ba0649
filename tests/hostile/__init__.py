"""Hostile inputs, and the driver that runs them through every surface of a real server."""
