"""Clients on version 1 of the Python SDK, in an environment of their own."""
