"""The first REST version: /v1."""
