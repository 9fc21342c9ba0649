"""Clients on version 2 of the Python SDK, in an environment of their own."""
